/*
 * Calls of C functions, on request: what cProfile counts, functions and methods of PyMethodDef.
 * From 3.12 through CALL, C_RETURN and C_RAISE of sys.monitoring; before, through the profile
 * function of a thread, which is set when the thread begins. A call from code of this package
 * is not one of the program.
 *
 * A function is known by its PyMethodDef, which lives as long as the function's module.
 */
#include "pytrace.h"

struct c_note {
    const PyMethodDef *method;
    struct note note;
};

/* Open addressing; guarded by the GIL. */
struct c_notes {
    struct c_note **slots;
    size_t count, room;
};

/* The type that has the method, where one of its bases has it. */
static PyTypeObject *owner_of(PyTypeObject *type, const PyMethodDef *method)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, method->ml_name);
    PyTypeObject *owner = type;
    if (found && Py_TYPE(found) == &PyMethodDescr_Type)
        owner = ((struct pyinside_c_method *)found)->type;
    Py_XDECREF(found);
    PyErr_Clear();
    return owner;
}

/* "builtins.len", "list.append" */
static uint32_t name_of(PyObject *function, const PyMethodDef *method)
{
    uint32_t name = 0;
    PyObject *type, *value, *traceback, *text = NULL, *module = NULL;
    PyTypeObject *owner = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyCFunction_Check(function)) {
        PyObject *self = ((struct pyinside_c_function *)function)->self;
        module = ((struct pyinside_c_function *)function)->module;
        if (self && !(method->ml_flags & METH_STATIC) && PyType_Check(self))
            owner = (PyTypeObject *)self;
        else if (self && !(method->ml_flags & METH_STATIC) && !PyModule_Check(self))
            owner = owner_of(Py_TYPE(self), method);
    } else {
        owner = ((struct pyinside_c_method *)function)->type;
    }
    if (owner)
        text = PyUnicode_FromFormat("%s.%s", pyinside_type_name(owner), method->ml_name);
    else if (module && PyUnicode_Check(module))
        text = PyUnicode_FromFormat("%U.%s", module, method->ml_name);
    else
        text = PyUnicode_FromString(method->ml_name);
    if (!text || !pycapture_name(text, &name))
        PyErr_Clear();
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
    return name;
}

static size_t place(const struct c_notes *notes, const PyMethodDef *method)
{
    size_t at = ((uintptr_t)method >> 4 ^ (uintptr_t)method >> 14) & (notes->room - 1);
    while (notes->slots[at] && notes->slots[at]->method != method)
        at = (at + 1) & (notes->room - 1);
    return at;
}

static bool grow(struct c_notes *notes)
{
    struct c_notes more = {.room = notes->room ? 2 * notes->room : 512, .count = notes->count};
    more.slots = calloc(more.room, sizeof *more.slots);
    if (!more.slots)
        return false;
    for (size_t i = 0; i < notes->room; i++)
        if (notes->slots[i])
            more.slots[place(&more, notes->slots[i]->method)] = notes->slots[i];
    free(notes->slots);
    *notes = more;
    return true;
}

static struct note *c_note(PyObject *function, const PyMethodDef *method)
{
    static struct c_notes notes; /* of the process, as nl_python is */
    if (2 * notes.count >= notes.room && !grow(&notes))
        return NULL;
    size_t at = place(&notes, method);
    if (!notes.slots[at]) {
        struct c_note *made = calloc(1, sizeof *made);
        if (!made)
            return NULL;
        made->method = method;
        made->note.name = name_of(function, method);
        at = place(&notes, method); /* finding the name may have run Python */
        if (notes.slots[at]) {
            free(made);
        } else {
            notes.slots[at] = made;
            notes.count++;
        }
    }
    return &notes.slots[at]->note;
}

/* NULL: not a C function. */
static const PyMethodDef *method_of(PyObject *function)
{
    if (PyCFunction_Check(function))
        return ((struct pyinside_c_function *)function)->method;
    if (Py_TYPE(function) == &PyMethodDescr_Type)
        return ((struct pyinside_c_method *)function)->method;
    return NULL;
}

static const void *key_of(const void *frame)
{
    return (const char *)frame + 1;
}

static void begin(PyObject *code, const void *frame, PyObject *function)
{
    const struct nl_capture_v1 *table = nl_recorder();
    const PyMethodDef *method = table ? method_of(function) : NULL;
    struct note *caller = method ? pytrace_note(code) : NULL;
    struct note *note = caller && !caller->is_own ? c_note(function, method) : NULL;
    if (!note || !pytrace_counts(note))
        return;
    uint64_t token = table->begin(note->name, NL_CLASS_PYTHON, 0);
    if (token && !pytrace_push(key_of(frame), token))
        table->end(token);
}

static void end(const void *frame, PyObject *function)
{
    if (method_of(function))
        nl_scope_end(pytrace_pop(key_of(frame)));
}

/* ---- before 3.12 ---- */

static int profile(PyObject *self, PyFrameObject *frame, int what, PyObject *function)
{
    (void)self;
    if (what == PYINSIDE_C_CALL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        begin((PyObject *)code, frame, function);
        Py_DECREF(code);
    } else if (what == PYINSIDE_C_RETURN || what == PYINSIDE_C_EXCEPTION) {
        end(frame, function);
    }
    return 0;
}

/* watch_calls(marker): of the calling thread; marker is what
 * sys.getprofile() tells from then on. */
static PyObject *watch_calls(PyObject *self, PyObject *marker)
{
    (void)self;
    if (!pytrace_prepare())
        return NULL;
    if (!PyEval_SetProfile) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no profile functions");
        return NULL;
    }
    PyEval_SetProfile(profile, marker);
    Py_RETURN_NONE;
}

/* ---- sys.monitoring ---- */

/* (code, offset, callable, first argument) */
static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count > 2)
        begin(args[0], pyinside_frame(), args[2]);
    Py_RETURN_NONE;
}

static PyObject *on_called(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count > 2)
        end(pyinside_frame(), args[2]);
    Py_RETURN_NONE;
}

PyMethodDef nl_calls_methods[] = {{"watch_calls", watch_calls, METH_O, NULL},
                                  {"on_call", PYCAPTURE_FAST(on_call), METH_FASTCALL, NULL},
                                  {"on_called", PYCAPTURE_FAST(on_called), METH_FASTCALL, NULL},
                                  {NULL, NULL, 0, NULL}};

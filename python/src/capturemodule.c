/* nlens._capture: the module, names, and the calls that need no object. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "pyinside.h"

struct pycapture nl_python = {.code_extra = -1, .call_limit = 10000};

/* ---- names ---- */

static bool name_of_bytes(PyObject *text, uint32_t *id)
{
    Py_ssize_t bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (!utf8) {
        /* Lone surrogates: shown as Python shows them. */
        PyErr_Clear();
        PyObject *shown = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
        if (!shown)
            return false;
        *id = nl_library()->name(PyBytes_AsString(shown), (size_t)PyBytes_Size(shown));
        Py_DECREF(shown);
        return true;
    }
    *id = nl_library()->name(utf8, (size_t)bytes);
    return true;
}

static void put_name(struct pycapture_name *place, PyObject *text, uint32_t id)
{
    struct pycapture_name old = *place;
    Py_INCREF(text);
    *place = (struct pycapture_name){.text = text, .id = id};
    Py_XDECREF(old.text);
    for (unsigned i = 0; i < PYCAPTURE_SHARED; i++)
        Py_XDECREF(old.scope[i]);
}

bool pycapture_name(PyObject *text, uint32_t *id)
{
    struct pycapture_name *place = pycapture_place(text);
    if (place->text == text) {
        *id = place->id;
        return true;
    }
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "a name is a str, not %.100s",
                     pyinside_type_name(Py_TYPE(text)));
        return false;
    }
    *id = 0;
    if (nl_library() && !name_of_bytes(text, id))
        return false;
    if (PyUnicode_CheckExact(text))
        put_name(place, text, *id);
    return true;
}

/* None is no name. */
static bool optional_name(PyObject *text, uint32_t *id)
{
    *id = 0;
    return text == NULL || text == Py_None || pycapture_name(text, id);
}

/* Positional arguments and keywords of `names`, missing ones NULL. */
static bool take_arguments(const char *function, PyObject *const *args, Py_ssize_t count,
                           PyObject *keywords, const char *const *names, Py_ssize_t least,
                           Py_ssize_t most, PyObject **values)
{
    Py_ssize_t extra = keywords ? PyTuple_Size(keywords) : 0;
    if (count > most) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments", function, most);
        return false;
    }
    for (Py_ssize_t i = 0; i < most; i++)
        values[i] = i < count ? args[i] : NULL;
    for (Py_ssize_t i = 0; i < extra; i++) {
        PyObject *word = PyTuple_GetItem(keywords, i);
        Py_ssize_t at = 0;
        while (at < most && PyUnicode_CompareWithASCIIString(word, names[at]) != 0)
            at++;
        if (at == most || values[at]) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected argument '%U'", function, word);
            return false;
        }
        values[at] = args[count + i];
    }
    for (Py_ssize_t i = 0; i < least; i++) {
        if (!values[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs '%s'", function, names[i]);
            return false;
        }
    }
    return true;
}

/* ---- scopes ---- */

/* One that was made for this text before. In tasks of asyncio, which enter and leave in any order,
 * every `with` gets its own. */
static PyObject *shared_scope(uint32_t kind, PyObject *text)
{
    struct pycapture_name *place = pycapture_place(text);
    PyObject *scope = place->text == text ? place->scope[kind] : NULL;
    return scope && !nl_python.running_loop && pycapture_is_reusable(scope) ? new_reference(scope)
                                                                            : NULL;
}

static void share_scope(uint32_t kind, PyObject *text, PyObject *scope)
{
    struct pycapture_name *place = pycapture_place(text);
    if (scope && place->text == text && !place->scope[kind])
        place->scope[kind] = new_reference(scope);
}

static PyObject *new_scope(const char *function, uint32_t kind, PyObject *const *args,
                           Py_ssize_t count, PyObject *keywords)
{
    static const char *const names[] = {"name", "category"};
    PyObject *values[2] = {count == 1 ? args[0] : NULL, NULL};
    uint32_t name, category = 0;
    bool is_plain = count == 1 && !keywords;
    PyObject *scope = is_plain ? shared_scope(kind, args[0]) : NULL;
    if (scope)
        return scope;
    if (!is_plain && !take_arguments(function, args, count, keywords, names, 1, 2, values))
        return NULL;
    if (!pycapture_name(values[0], &name) || (values[1] && !optional_name(values[1], &category)))
        return NULL;
    scope = pycapture_scope(kind, values[0], name, category, -1);
    if (is_plain)
        share_scope(kind, values[0], scope);
    return scope;
}

static PyObject *scope(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)self;
    return new_scope("scope", NL_CLASS_SCOPE, args, count, keywords);
}

static PyObject *layer(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    (void)self;
    return new_scope("layer", NL_CLASS_LAYER, args, count, keywords);
}

static PyObject *step(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    static const char *const names[] = {"index", "name"};
    PyObject *values[2];
    uint32_t name;
    int64_t index = -1;
    (void)self;
    if (!take_arguments("step", args, count, keywords, names, 0, 2, values) ||
        !optional_name(values[1], &name))
        return NULL;
    if (values[0] && values[0] != Py_None) {
        index = PyLong_AsLongLong(values[0]);
        if (index == -1 && PyErr_Occurred())
            return NULL;
        if (index < 0) {
            PyErr_SetString(PyExc_ValueError, "the index of a step is not negative");
            return NULL;
        }
    }
    return pycapture_scope(NL_CLASS_STEP, values[1], name, 0, index);
}

/* hook_layer(name): a scope that a hook enters whenever a layer is called. Not
 * shared with the program's. */
static PyObject *hook_layer(PyObject *self, PyObject *text)
{
    uint32_t name;
    (void)self;
    if (!pycapture_name(text, &name))
        return NULL;
    PyObject *scope = pycapture_scope(NL_CLASS_LAYER, text, name, 0, -1);
    if (scope)
        pycapture_of_hook(scope, NL_REC_HOOK_LAYER);
    return scope;
}

/* begin(name, class) → a number for end(). For hooks; on one thread, no objects. */
static PyObject *begin(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct nl_capture_v1 *table = nl_recorder();
    uint32_t name;
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "begin(name, class)");
        return NULL;
    }
    if (!table)
        return PyLong_FromLong(0);
    long kind = PyLong_AsLong(args[1]);
    if ((kind == -1 && PyErr_Occurred()) || !pycapture_name(args[0], &name))
        return NULL;
    return PyLong_FromUnsignedLongLong(table->begin(name, (uint32_t)kind, 0));
}

static PyObject *end(PyObject *self, PyObject *token)
{
    (void)self;
    unsigned long long value = PyLong_AsUnsignedLongLong(token);
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    if (value && value == nl_python.hook_step) {
        pycapture_heap_end(nl_python.hook_heap, NULL);
        nl_python.hook_step = nl_python.hook_heap = 0;
    }
    nl_scope_end(value);
    Py_RETURN_NONE;
}

/* For hooks, of which one at a time has a step open. */
static PyObject *step_begin(PyObject *self, PyObject *index)
{
    (void)self;
    long long value = PyLong_AsLongLong(index);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    pycapture_heap_end(nl_python.hook_heap, NULL);
    nl_python.hook_heap = pycapture_heap_begin();
    nl_python.hook_step = nl_step_begin(value);
    return PyLong_FromUnsignedLongLong(nl_python.hook_step);
}

/* ---- points and values ---- */

static PyObject *mark_event(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords)
{
    static const char *const names[] = {"name", "category"};
    PyObject *values[2];
    uint32_t name, category;
    (void)self;
    if (!take_arguments("mark_event", args, count, keywords, names, 1, 2, values) ||
        !pycapture_name(values[0], &name) || !optional_name(values[1], &category))
        return NULL;
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->mark(name, NL_CLASS_SCOPE, category);
    Py_RETURN_NONE;
}

static PyObject *counter(PyObject *self, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords)
{
    static const char *const names[] = {"name", "value", "unit"};
    PyObject *values[3];
    uint32_t name, unit;
    (void)self;
    if (!take_arguments("counter", args, count, keywords, names, 2, 3, values) ||
        !pycapture_name(values[0], &name) || !optional_name(values[2], &unit))
        return NULL;
    double value = PyFloat_AsDouble(values[1]);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    const struct nl_capture_v1 *table = nl_recorder();
    if (table)
        table->counter(name, value, unit);
    Py_RETURN_NONE;
}

static PyObject *range_start(PyObject *self, PyObject *const *args, Py_ssize_t count,
                             PyObject *keywords)
{
    static const char *const names[] = {"name", "lane"};
    PyObject *values[2];
    uint32_t name, lane;
    (void)self;
    if (!take_arguments("range_start", args, count, keywords, names, 1, 2, values) ||
        !pycapture_name(values[0], &name) || !optional_name(values[1], &lane))
        return NULL;
    const struct nl_capture_v1 *table = nl_recorder();
    return PyLong_FromUnsignedLongLong(table ? table->range_start(name, lane) : 0);
}

static PyObject *range_end(PyObject *self, PyObject *range)
{
    (void)self;
    unsigned long long value = PyLong_AsUnsignedLongLong(range);
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    nl_range_end(value);
    Py_RETURN_NONE;
}

static PyObject *thread_name(PyObject *self, PyObject *text)
{
    uint32_t name;
    (void)self;
    if (!pycapture_name(text, &name))
        return NULL;
    if (name)
        nl_library()->thread_name(name);
    Py_RETURN_NONE;
}

static PyObject *has_own_steps(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(nl_python.next_step != 0);
}

/* What a hook could not do: a mark that readers turn into a line of coverage
 * (src/nlrec/recformat.h). */
static PyObject *problem(PyObject *self, PyObject *text)
{
    uint32_t name;
    (void)self;
    if (!pycapture_name(text, &name))
        return NULL;
    const struct nl_capture_v1 *table = nl_library();
    if (table)
        table->mark(name, NL_CLASS_LIBRARY, table->name("neurolens.problem", 17));
    Py_RETURN_NONE;
}

/* hooked(): the hooks are installed; for coverage, which says where they are not. */
static PyObject *hooked(PyObject *self, PyObject *none)
{
    union {
        void *object;
        void (*call)(const char *problem);
    } found = {dlsym(RTLD_DEFAULT, "nl_capture_python")};
    (void)self;
    (void)none;
    if (found.object)
        found.call(NULL);
    Py_RETURN_NONE;
}

/* ---- the window ---- */

static PyObject *start(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    nl_record(1);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    nl_record(0);
    Py_RETURN_NONE;
}

static PyObject *is_recording(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(nl_recorder() != NULL);
}

static PyObject *is_attached(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(nl_library() != NULL);
}

/* ---- hooks ---- */

/* A member of gc.callbacks. Collections of one interpreter never nest. */
static PyObject *gc_event(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2 || !PyUnicode_Check(args[0]) || !PyDict_Check(args[1]))
        Py_RETURN_NONE;
    const struct nl_capture_v1 *table = nl_recorder();
    if (PyUnicode_CompareWithASCIIString(args[0], "stop") == 0) {
        nl_scope_end(nl_python.gc_scope);
        nl_python.gc_scope = 0;
    } else if (table) {
        static const char *const texts[] = {"garbage collection, generation 0",
                                            "garbage collection, generation 1",
                                            "garbage collection, generation 2"};
        PyObject *generation = PyDict_GetItemString(args[1], "generation");
        long number = generation ? PyLong_AsLong(generation) : 2;
        number = number < 0 || number > 2 ? 2 : number;
        uint32_t *name = &nl_python.gc_names[number];
        if (!*name)
            *name = nl_text_(table, texts[number]);
        nl_python.gc_scope = table->begin(*name, NL_CLASS_GC, 0);
    }
    Py_RETURN_NONE;
}

/* setup(member, value): decorate, running_loop, current_task, disable, own_folder, call_limit. */
static PyObject *setup(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    const struct {
        const char *name;
        PyObject **place;
    } members[] = {{"decorate", &nl_python.decorate},
                   {"running_loop", &nl_python.running_loop},
                   {"current_task", &nl_python.current_task},
                   {"disable", &nl_python.disable},
                   {"own_folder", &nl_python.own_folder}};
    (void)self;
    if (count != 2 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "setup(member, value)");
        return NULL;
    }
    if (PyUnicode_CompareWithASCIIString(args[0], "call_limit") == 0) {
        nl_python.call_limit = PyLong_AsUnsignedLongLong(args[1]);
        return PyErr_Occurred() ? NULL : new_reference(Py_None);
    }
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (PyUnicode_CompareWithASCIIString(args[0], members[i].name) != 0)
            continue;
        PyObject *old = *members[i].place;
        Py_INCREF(args[1]);
        *members[i].place = args[1];
        Py_XDECREF(old);
        Py_RETURN_NONE;
    }
    PyErr_Format(PyExc_ValueError, "no member %R", args[0]);
    return NULL;
}

static PyMethodDef methods[] = {
    {"scope", PYCAPTURE_FAST(scope), METH_FASTCALL | METH_KEYWORDS,
     "scope(name, category=None)\n--\n\nA part of the program: a context manager and decorator."},
    {"layer", PYCAPTURE_FAST(layer), METH_FASTCALL | METH_KEYWORDS,
     "layer(name, category=None)\n--\n\nA layer of a model: a context manager and decorator."},
    {"step", PYCAPTURE_FAST(step), METH_FASTCALL | METH_KEYWORDS,
     "step(index=None, name=None)\n--\n\nAn iteration: a context manager and decorator. Without an "
     "index they are counted from 0."},
    {"mark_event", PYCAPTURE_FAST(mark_event), METH_FASTCALL | METH_KEYWORDS,
     "mark_event(name, category=None)\n--\n\nA point in time."},
    {"counter", PYCAPTURE_FAST(counter), METH_FASTCALL | METH_KEYWORDS,
     "counter(name, value, unit=None)\n--\n\nA value from now on."},
    {"range_start", PYCAPTURE_FAST(range_start), METH_FASTCALL | METH_KEYWORDS,
     "range_start(name, lane=None)\n--\n\nBegins what any thread may end with range_end(number)."},
    {"range_end", range_end, METH_O, "range_end(number)\n--\n\nEnds what range_start began."},
    {"thread_name", thread_name, METH_O, "thread_name(name)\n--\n\nNames the calling thread."},
    {"start", start, METH_NOARGS,
     "start()\n--\n\nOpens the window of recording, for the whole run."},
    {"stop", stop, METH_NOARGS, "stop()\n--\n\nCloses the window of recording, for the whole run."},
    {"is_recording", is_recording, METH_NOARGS,
     "is_recording()\n--\n\nTrue while what is marked is recorded."},
    {"is_attached", is_attached, METH_NOARGS,
     "is_attached()\n--\n\nTrue under `neurolens run`, recording or not."},
    {"hook_layer", hook_layer, METH_O, NULL},
    {"begin", PYCAPTURE_FAST(begin), METH_FASTCALL, NULL},
    {"end", end, METH_O, NULL},
    {"step_begin", step_begin, METH_O, NULL},
    {"has_own_steps", has_own_steps, METH_NOARGS, NULL},
    {"problem", problem, METH_O, NULL},
    {"hooked", hooked, METH_NOARGS, NULL},
    {"gc_event", PYCAPTURE_FAST(gc_event), METH_FASTCALL, NULL},
    {"setup", PYCAPTURE_FAST(setup), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};

static const struct {
    const char *name;
    int value;
} constants[] = {
    {"SCOPE", NL_CLASS_SCOPE},   {"LAYER", NL_CLASS_LAYER},     {"OPERATOR", NL_CLASS_OPERATOR},
    {"PYTHON", NL_CLASS_PYTHON}, {"COMPILE", NL_CLASS_COMPILE}, {"LIBRARY", NL_CLASS_LIBRARY},
#define NL_REC_HOOK(identifier, word, what) {"HOOK_" #identifier, NL_REC_HOOK_##identifier},
#include <nlrec/rechooks.def>
#undef NL_REC_HOOK
};

PyMODINIT_FUNC PyInit__capture(void);

PyMODINIT_FUNC PyInit__capture(void)
{
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "nlens._capture",
                                            .m_doc = "Scopes, layers and steps for neurolens.",
                                            .m_size = -1, .m_methods = methods};
    PyObject *type = pycapture_scope_type();
    PyObject *module = type ? PyModule_Create(&definition) : NULL;
    if (!module)
        return NULL;
    pyinside_learn();
    bool done = PyModule_AddFunctions(module, nl_trace_methods) == 0 &&
                PyModule_AddFunctions(module, nl_torch_methods) == 0 &&
                PyModule_AddFunctions(module, nl_heap_methods) == 0 &&
                PyModule_AddFunctions(module, nl_calls_methods) == 0 &&
                PyModule_AddFunctions(module, nl_tasks_methods) == 0 &&
                PyModule_AddFunctions(module, nl_measure_methods) == 0 &&
                PyModule_AddObject(module, "Scope", new_reference(type)) == 0;
    for (size_t i = 0; done && i < sizeof constants / sizeof constants[0]; i++)
        done = PyModule_AddIntConstant(module, constants[i].name, constants[i].value) == 0;
    if (done)
        return module;
    Py_DECREF(module);
    return NULL;
}

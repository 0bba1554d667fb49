/*
 * Every call of a Python function as a scope, by the cheapest way each version has:
 *
 *   3.12 and newer   sys.monitoring. A function that was called `call_limit` times is switched off.
 *   3.9 to 3.11      the frame evaluation function (PEP 523): no frame objects are made, C calls cost
 *                    nothing. Beyond the limit calls are counted and not written.
 *
 * A resumed generator or coroutine is a call, as it is for cProfile. What we know of a code object
 * hangs on it as its "extra".
 */
#include "pytrace.h"

/* ---- notes on code ---- */

#define OF_GENERATORS 0x2a0 /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */

static long number_of(PyObject *code, const char *attribute)
{
    PyObject *value = PyObject_GetAttrString(code, attribute);
    long number = value ? PyLong_AsLong(value) : 0;
    Py_XDECREF(value);
    return number;
}

/* "file(line): function", as the profiler of PyTorch writes it. */
static uint32_t code_name(PyObject *code, PyObject *file)
{
    uint32_t name = 0;
    PyObject *function =
        PyObject_GetAttrString(code, nl_inside.minor >= 11 ? "co_qualname" : "co_name");
    PyObject *text = function ? PyUnicode_FromFormat("%U(%ld): %U", file,
                                                     number_of(code, "co_firstlineno"), function)
                              : NULL;
    if (text)
        (void)pycapture_name(text, &name);
    Py_XDECREF(text);
    Py_XDECREF(function);
    return name;
}

static bool is_own(PyObject *file)
{
    return nl_python.own_folder && PyUnicode_Check(nl_python.own_folder) &&
           PyUnicode_Tailmatch(file, nl_python.own_folder, 0, PY_SSIZE_T_MAX, -1) == 1;
}

/* False: the note is not kept. */
static bool fill_note(struct note *note, PyObject *code)
{
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    if (!file)
        return false;
    note->is_own = is_own(file);
    note->is_generator = (number_of(code, "co_flags") & OF_GENERATORS) != 0;
    note->name = note->is_own ? 0 : code_name(code, file);
    Py_DECREF(file);
    PyErr_Clear();
    int (*keep)(PyObject *, Py_ssize_t, void *) =
        nl_inside.has_monitoring ? PyUnstable_Code_SetExtra : _PyCode_SetExtra;
    return keep(code, nl_python.code_extra, note) >= 0;
}

static struct note *make_note(PyObject *code)
{
    struct note *note = calloc(1, sizeof *note);
    PyObject *type, *value, *traceback;
    if (!note)
        return NULL;
    PyErr_Fetch(&type, &value, &traceback); /* a generator may be resumed with an exception */
    if (!fill_note(note, code)) {
        PyErr_Clear();
        free(note);
        note = NULL;
    }
    PyErr_Restore(type, value, traceback);
    return note;
}

struct note *pytrace_note(PyObject *code)
{
    void *extra = NULL;
    int (*look)(PyObject *, Py_ssize_t, void **) =
        nl_inside.has_monitoring ? PyUnstable_Code_GetExtra : _PyCode_GetExtra;
    if (look(code, nl_python.code_extra, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return extra ? extra : make_note(code);
}

static bool has_notes(void)
{
    if (!nl_inside.has_monitoring && !nl_inside.has_evaluation) {
        PyErr_Format(PyExc_RuntimeError, "how CPython 3.%d keeps its frames is not known",
                     nl_inside.minor);
        return false;
    }
    if (nl_python.code_extra < 0)
        nl_python.code_extra = nl_inside.has_monitoring
                                   ? PyUnstable_Eval_RequestCodeExtraIndex(free)
                                   : _PyEval_RequestCodeExtraIndex(free);
    if (nl_python.code_extra >= 0)
        return true;
    PyErr_SetString(PyExc_RuntimeError, "no place for notes on code objects is left");
    return false;
}

bool pytrace_counts(struct note *note)
{
    if (note->is_own)
        return false;
    if (note->calls < nl_python.call_limit) {
        note->calls++;
        return true;
    }
    if (note->calls == nl_python.call_limit) {
        note->calls++;
        nl_python.functions_cut++;
    }
    nl_python.calls_left_out++;
    return false;
}

/* ---- open calls ---- */

struct call {
    const void *frame;
    uint64_t token;
};
struct stack {
    size_t depth, room;
    struct call *calls;
};

static void free_stack(void *memory)
{
    struct stack *stack = memory;
    free(stack->calls);
    free(stack);
}

bool pytrace_prepare(void)
{
    if (!has_notes())
        return false;
    if (!nl_python.has_stack_key && pthread_key_create(&nl_python.stack_key, free_stack) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no key for threads is left");
        return false;
    }
    nl_python.has_stack_key = true;
    return true;
}

static struct stack *own_stack(void)
{
    struct stack *stack = pthread_getspecific(nl_python.stack_key);
    if (!stack) {
        stack = calloc(1, sizeof *stack);
        if (stack)
            (void)pthread_setspecific(nl_python.stack_key, stack);
    }
    return stack;
}

bool pytrace_push(const void *frame, uint64_t token)
{
    struct stack *stack = own_stack();
    if (!stack)
        return false;
    if (stack->depth == stack->room) {
        size_t room = stack->room ? 2 * stack->room : 64;
        struct call *calls = realloc(stack->calls, room * sizeof *calls);
        if (!calls)
            return false;
        stack->calls = calls;
        stack->room = room;
    }
    stack->calls[stack->depth++] = (struct call){frame, token};
    return true;
}

uint64_t pytrace_pop(const void *frame)
{
    struct stack *stack = pthread_getspecific(nl_python.stack_key);
    size_t at = stack ? stack->depth : 0;
    while (at && stack->calls[at - 1].frame != frame)
        at--;
    if (!at)
        return 0;
    uint64_t token = stack->calls[at - 1].token;
    stack->depth--;
    for (; at <= stack->depth; at++)
        stack->calls[at - 1] = stack->calls[at];
    return token;
}

/* ---- PEP 523 ---- */

/* In 3.11 the call that makes a generator evaluates a frame too, up to the making; that runs
 * nothing of the function and is no call. */
static bool makes_generator(const struct note *note, const char *frame)
{
    return note->is_generator && nl_inside.frame_owner >= 0 && frame[nl_inside.frame_owner] == 0;
}

static PyObject *evaluate(PyThreadState *state, void *frame, int throwing)
{
    const struct nl_capture_v1 *table = nl_recorder();
    struct note *note =
        table ? pytrace_note(*(PyObject **)((char *)frame + nl_inside.frame_code)) : NULL;
    uint64_t token = note && !makes_generator(note, frame) && pytrace_counts(note)
                         ? table->begin(note->name, NL_CLASS_PYTHON, 0)
                         : 0;
    PyObject *result = _PyEval_EvalFrameDefault(state, frame, throwing);
    nl_scope_end(token);
    return result;
}

/* Only in the place of the interpreter's own: whoever else is there (Dynamo) stays. */
static PyObject *trace_frames(PyObject *self, PyObject *on)
{
    int wanted = PyObject_IsTrue(on);
    (void)self;
    if (wanted < 0 || !has_notes())
        return NULL;
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    pyinside_evaluate now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    pyinside_evaluate from = wanted ? _PyEval_EvalFrameDefault : evaluate;
    if (now == from)
        _PyInterpreterState_SetEvalFrameFunc(interpreter,
                                             wanted ? evaluate : _PyEval_EvalFrameDefault);
    return PyBool_FromLong(now == from || (wanted && now == evaluate));
}

/* True while our function evaluates frames. */
static PyObject *traces_frames(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(!nl_inside.has_evaluation || _PyInterpreterState_GetEvalFrameFunc(
                                                            PyInterpreterState_Get()) == evaluate);
}

/* ---- sys.monitoring ---- */

/* PY_START, PY_RESUME, PY_THROW. False: this function has had its share. */
static bool enter(PyObject *code)
{
    const struct nl_capture_v1 *table = nl_recorder();
    struct note *note = table ? pytrace_note(code) : NULL;
    if (!note)
        return true;
    if (!pytrace_counts(note))
        return false;
    uint64_t token = table->begin(note->name, NL_CLASS_PYTHON, 0);
    if (!token)
        return true;
    if (pytrace_push(pyinside_frame(), token))
        note->open++;
    else
        table->end(token);
    return true;
}

/* PY_RETURN, PY_YIELD, PY_UNWIND. False: nothing will have to be ended here any more. */
static bool leave(PyObject *code)
{
    struct note *note = pytrace_note(code);
    if (!note)
        return true;
    uint64_t token = note->open ? pytrace_pop(pyinside_frame()) : 0;
    if (token) {
        nl_scope_end(token);
        note->open--;
    }
    return !(note->is_own || (note->calls > nl_python.call_limit && !note->open));
}

static PyObject *answer(bool go_on)
{
    return new_reference(go_on || !nl_python.disable ? Py_None : nl_python.disable);
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    return answer(count < 1 || enter(args[0]));
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    return answer(count < 1 || leave(args[0]));
}

/* PY_THROW and PY_UNWIND cannot be switched off. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count)
        (void)enter(args[0]);
    Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count)
        (void)leave(args[0]);
    Py_RETURN_NONE;
}

/* Before the callbacks are registered. */
static PyObject *prepare_monitoring(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    if (!pytrace_prepare())
        return NULL;
    Py_RETURN_NONE;
}

/* (functions that reached the limit, calls that are known to be left out) */
static PyObject *trace_losses(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("KK", (unsigned long long)nl_python.functions_cut,
                         (unsigned long long)nl_python.calls_left_out);
}

PyMethodDef nl_trace_methods[] = {{"trace_frames", trace_frames, METH_O, NULL},
                                  {"traces_frames", traces_frames, METH_NOARGS, NULL},
                                  {"prepare_monitoring", prepare_monitoring, METH_NOARGS, NULL},
                                  {"on_enter", PYCAPTURE_FAST(on_enter), METH_FASTCALL, NULL},
                                  {"on_leave", PYCAPTURE_FAST(on_leave), METH_FASTCALL, NULL},
                                  {"on_throw", PYCAPTURE_FAST(on_throw), METH_FASTCALL, NULL},
                                  {"on_unwind", PYCAPTURE_FAST(on_unwind), METH_FASTCALL, NULL},
                                  {"trace_losses", trace_losses, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

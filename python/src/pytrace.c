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

#if PY_VERSION_HEX < 0x030c0000
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#undef Py_BUILD_CORE
#define code_extra_index _PyEval_RequestCodeExtraIndex
#define code_get_extra   _PyCode_GetExtra
#define code_set_extra   _PyCode_SetExtra
#else
#define code_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define code_get_extra   PyUnstable_Code_GetExtra
#define code_set_extra   PyUnstable_Code_SetExtra
#endif

/* ---- notes on code ---- */

/* "file(line): function", as the profiler of PyTorch writes it. */
static uint32_t code_name(PyCodeObject *code)
{
    uint32_t name = 0;
#if PY_VERSION_HEX >= 0x030b0000
    PyObject *function = code->co_qualname;
#else
    PyObject *function = code->co_name;
#endif
    PyObject *text =
        PyUnicode_FromFormat("%U(%d): %U", code->co_filename, code->co_firstlineno, function);
    if (!text || !pycapture_name(text, &name))
        PyErr_Clear();
    Py_XDECREF(text);
    return name;
}

static bool is_own(PyCodeObject *code)
{
    return nl_python.own_folder && PyUnicode_Check(nl_python.own_folder) &&
           PyUnicode_Tailmatch(code->co_filename, nl_python.own_folder, 0, PY_SSIZE_T_MAX, -1) == 1;
}

static struct note *make_note(PyObject *code)
{
    struct note *note = PyMem_RawCalloc(1, sizeof *note);
    PyObject *type, *value, *traceback;
    if (!note)
        return NULL;
    PyErr_Fetch(&type, &value, &traceback); /* a generator may be resumed with an exception */
    note->is_own = is_own((PyCodeObject *)code);
    note->name = note->is_own ? 0 : code_name((PyCodeObject *)code);
    if (code_set_extra(code, nl_python.code_extra, note) < 0) {
        PyErr_Clear();
        PyMem_RawFree(note);
        note = NULL;
    }
    PyErr_Restore(type, value, traceback);
    return note;
}

struct note *pytrace_note(PyObject *code)
{
    void *extra = NULL;
    if (code_get_extra(code, nl_python.code_extra, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return extra ? extra : make_note(code);
}

static bool has_notes(void)
{
    if (nl_python.code_extra < 0)
        nl_python.code_extra = code_extra_index(PyMem_RawFree);
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
    PyMem_RawFree(stack->calls);
    PyMem_RawFree(stack);
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
        stack = PyMem_RawCalloc(1, sizeof *stack);
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
        struct call *calls = PyMem_RawRealloc(stack->calls, room * sizeof *calls);
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

#if PY_VERSION_HEX < 0x030c0000

/* ---- PEP 523 ---- */

#if PY_VERSION_HEX >= 0x030b0000
#define FRAME struct _PyInterpreterFrame
#else
#define FRAME PyFrameObject
#endif

/* In 3.11 the call that makes a generator evaluates a frame too, up to the making; that runs nothing of
 * the function and is no call. */
static bool makes_generator(const FRAME *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->owner == FRAME_OWNED_BY_THREAD &&
           (frame->f_code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR));
#else
    (void)frame;
    return false;
#endif
}

static PyObject *evaluate(PyThreadState *state, FRAME *frame, int throwing)
{
    const struct nl_capture_v1 *table = nl_recorder();
    struct note *note =
        table && !makes_generator(frame) ? pytrace_note((PyObject *)frame->f_code) : NULL;
    uint64_t token =
        note && pytrace_counts(note) ? table->begin(note->name, NL_CLASS_PYTHON, 0) : 0;
    PyObject *result = _PyEval_EvalFrameDefault(state, frame, throwing);
    nl_scope_end(token);
    return result;
}

/* Only in the place of the interpreter's own: whoever else is there (Dynamo) stays. */
static PyObject *trace_frames(PyObject *self, PyObject *on)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    int wanted = PyObject_IsTrue(on);
    (void)self;
    if (wanted < 0 || (wanted && !has_notes()))
        return NULL;
    _PyFrameEvalFunction from = wanted ? _PyEval_EvalFrameDefault : evaluate;
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
    return PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) ==
                           evaluate);
}

#else

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
    if (pytrace_push(pytrace_frame(), token))
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
    uint64_t token = note->open ? pytrace_pop(pytrace_frame()) : 0;
    if (token) {
        nl_scope_end(token);
        note->open--;
    }
    return !(note->is_own || (note->calls > nl_python.call_limit && !note->open));
}

static PyObject *answer(bool go_on)
{
    return Py_NewRef(go_on || !nl_python.disable ? Py_None : nl_python.disable);
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

#endif

/* (functions that reached the limit, calls that are known to be left out) */
static PyObject *trace_losses(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("KK", (unsigned long long)nl_python.functions_cut,
                         (unsigned long long)nl_python.calls_left_out);
}

PyMethodDef nl_trace_methods[] = {
#if PY_VERSION_HEX < 0x030c0000
    {"trace_frames", trace_frames, METH_O, NULL},
    {"traces_frames", traces_frames, METH_NOARGS, NULL},
#else
    {"prepare_monitoring", prepare_monitoring, METH_NOARGS, NULL},
    {"on_enter", PYCAPTURE_FAST(on_enter), METH_FASTCALL, NULL},
    {"on_leave", PYCAPTURE_FAST(on_leave), METH_FASTCALL, NULL},
    {"on_throw", PYCAPTURE_FAST(on_throw), METH_FASTCALL, NULL},
    {"on_unwind", PYCAPTURE_FAST(on_unwind), METH_FASTCALL, NULL},
#endif
    {"trace_losses", trace_losses, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

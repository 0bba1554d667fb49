/*
 * The context manager. Most objects are made for one `with`, so one entry is kept in the object; an
 * object that is used again (recursion, threads, a decorated function) gets room for more. An exit
 * takes the latest entry of its own thread or task.
 *
 * Inside an asyncio task scopes of one thread do not nest: they are recorded as
 * ranges on a lane of the task.
 */
#include "pycapture.h"

#include <structmember.h>

#define MAX_OPEN 256u

struct entry {
    uint64_t token;
    const void *owner; /* the task, or the state of the thread */
    bool is_range;
    uint8_t heap; /* slot of the peak of memory, 0 = none */
};

struct scope {
    PyObject_HEAD int64_t index;
    uint32_t kind, name, category;
    uint32_t hook;       /* whose it is, + 1; 0 = the program's own */
    uint32_t used, room; /* entries; room 0: only `first` */
    PyObject *text;      /* of the name; NULL: none */
    struct entry first;
    struct entry *more;
};

PyObject *pycapture_scope(uint32_t kind, PyObject *text, uint32_t name, uint32_t category,
                          int64_t index)
{
    struct scope *scope = PyObject_New(struct scope, nl_python.scope_type);
    if (!scope)
        return NULL;
    scope->index = index;
    scope->kind = kind;
    scope->name = name;
    scope->category = category;
    Py_XINCREF(text);
    scope->text = text;
    scope->used = scope->room = scope->hook = 0;
    scope->more = NULL;
    return (PyObject *)scope;
}

void pycapture_of_hook(PyObject *scope, enum nl_rec_hook hook)
{
    ((struct scope *)scope)->hook = (uint32_t)hook + 1;
}

bool pycapture_is_reusable(PyObject *scope)
{
    return ((struct scope *)scope)->used < MAX_OPEN;
}

static void scope_dealloc(PyObject *object)
{
    struct scope *scope = (struct scope *)object;
    if (scope->more)
        free(scope->more);
    Py_XDECREF(scope->text);
    PyObject_Free(object);
    Py_DECREF(nl_python.scope_type); /* as PyObject_New took one */
}

static struct entry *entries(struct scope *scope)
{
    return scope->more ? scope->more : &scope->first;
}

static bool push(struct scope *scope, const struct entry *entry)
{
    uint32_t room = scope->room ? scope->room : 1;
    if (scope->used == room) {
        struct entry *more = realloc(scope->more, 2 * room * sizeof *more);
        if (!more) {
            PyErr_NoMemory();
            return false;
        }
        if (!scope->more)
            more[0] = scope->first;
        scope->more = more;
        scope->room = 2 * room;
    }
    entries(scope)[scope->used++] = *entry;
    return true;
}

/* The asyncio task that runs, as a new reference; NULL in *task when none does. */
static bool running_task(PyObject **task)
{
    *task = NULL;
    PyObject *loop = PyObject_CallNoArgs(nl_python.running_loop);
    if (!loop)
        return false;
    if (loop != Py_None) {
        *task = call_one(nl_python.current_task, loop);
        if (*task == Py_None)
            Py_CLEAR(*task);
    }
    Py_DECREF(loop);
    return *task || !PyErr_Occurred();
}

/* Name of the lane of a task. */
static bool task_lane(PyObject *task, uint32_t *lane)
{
    PyObject *name = PyObject_CallMethod(task, "get_name", NULL);
    PyObject *text = name ? PyUnicode_FromFormat("asyncio: %S", name) : NULL;
    bool fine = text && pycapture_name(text, lane);
    Py_XDECREF(text);
    Py_XDECREF(name);
    return fine;
}

static bool may_be_in_task(const struct scope *scope)
{
    return nl_python.running_loop && scope->kind == NL_CLASS_SCOPE;
}

static bool enter(struct scope *scope, const struct nl_capture_v1 *table)
{
    struct entry entry = {.owner = PyThreadState_Get()};
    uint32_t lane = 0;
    if (scope->kind == NL_CLASS_STEP) {
        int64_t index = scope->index < 0 ? nl_python.next_step : scope->index;
        nl_python.next_step = index + 1;
        entry.heap = (uint8_t)pycapture_heap_begin();
        entry.token = table->step_begin(index, scope->name);
        return push(scope, &entry);
    }
    if (may_be_in_task(scope)) {
        PyObject *task;
        if (!running_task(&task) || (task && !task_lane(task, &lane)))
            return false;
        if (task)
            entry.owner = task;
        Py_XDECREF(task);
    }
    if (*table->recording) {
        if (scope->kind == NL_CLASS_LAYER)
            entry.heap = (uint8_t)pycapture_heap_begin();
        entry.is_range = lane != 0;
        entry.token = lane ? table->range_start(scope->name, lane)
                           : table->begin(scope->name, scope->kind, scope->category);
        if (scope->hook && entry.token)
            pycapture_ran(scope->hook - 1);
    }
    return push(scope, &entry);
}

static PyObject *scope_enter(PyObject *object, PyObject *none)
{
    const struct nl_capture_v1 *table = nl_library();
    (void)none;
    if (table && !enter((struct scope *)object, table))
        return NULL;
    return new_reference(object);
}

/* Place behind the latest entry of the running task, or thread; 0 = it has none. */
static bool latest(struct scope *scope, uint32_t *at)
{
    const void *owner = PyThreadState_Get();
    *at = scope->used;
    if (*at == 1 && !scope->more)
        return true;
    if (may_be_in_task(scope)) {
        PyObject *task;
        if (!running_task(&task))
            return false;
        owner = task ? (void *)task : owner;
        Py_XDECREF(task);
    }
    while (*at && entries(scope)[*at - 1].owner != owner)
        --*at;
    return true;
}

static PyObject *scope_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    struct scope *scope = (struct scope *)object;
    uint32_t at;
    (void)args;
    (void)count;
    if (!latest(scope, &at))
        return NULL;
    if (!at)
        Py_RETURN_FALSE;
    struct entry *entry = entries(scope);
    struct entry found = entry[--at];
    scope->used--;
    for (; at < scope->used; at++)
        entry[at] = entry[at + 1];
    if (found.heap)
        pycapture_heap_end(found.heap, scope->text);
    if (found.is_range)
        nl_range_end(found.token);
    else
        nl_scope_end(found.token);
    Py_RETURN_FALSE;
}

static PyObject *scope_call(PyObject *object, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "a scope decorates one function");
        return NULL;
    }
    if (!PyArg_UnpackTuple(args, "scope", 1, 1, &function))
        return NULL;
    if (!nl_python.decorate) {
        PyErr_SetString(PyExc_RuntimeError, "import nlens, not nlens._capture");
        return NULL;
    }
    return PyObject_CallFunctionObjArgs(nl_python.decorate, object, function, NULL);
}

static PyMethodDef scope_methods[] = {{"__enter__", scope_enter, METH_NOARGS, NULL},
                                      {"__exit__", PYCAPTURE_FAST(scope_exit), METH_FASTCALL, NULL},
                                      {NULL, NULL, 0, NULL}};

static PyMemberDef scope_members[] = {{"name", T_OBJECT, offsetof(struct scope, text), READONLY,
                                       "What it is called; None for steps."},
                                      {NULL, 0, 0, 0, NULL}};

/* Made by scope(), layer() and step() alone. */
static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "cannot create 'nlens._capture.Scope' instances");
    return NULL;
}

PyObject *pycapture_scope_type(void)
{
    PyType_Slot slots[] = {{Py_tp_doc, "What scope(), layer() and step() return."},
                           {Py_tp_dealloc, (void *)(uintptr_t)scope_dealloc},
                           {Py_tp_new, (void *)(uintptr_t)scope_new},
                           {Py_tp_call, (void *)(uintptr_t)scope_call},
                           {Py_tp_methods, scope_methods},
                           {Py_tp_members, scope_members},
                           {0, NULL}};
    PyType_Spec spec = {"nlens._capture.Scope", sizeof(struct scope), 0, Py_TPFLAGS_DEFAULT, slots};
    PyObject *type = PyType_FromSpec(&spec);
    nl_python.scope_type = (PyTypeObject *)type;
    return type;
}

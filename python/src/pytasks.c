/*
 * Runs of asyncio tasks as scopes: stands in for Handle._run of asyncio's own loop, which calls
 * what the loop has next. A callback that belongs to a task is a run of that task. In C because a
 * server makes some ten thousand of them a second, most of them short.
 */
#include "pyinside.h"

struct tasks {
    PyObject *inner; /* Handle._run as it was */
    PyObject *learn; /* (owner) → name of the scope, None when the owner is no task */
    PyObject *names; /* of tasks by their id; learn puts them in, and they go with their task */
    PyObject *plain; /* types of owners, and of callbacks without an owner, that are no tasks */
    PyObject *word_callback, *word_self;
};

/* Patches of asyncio are of the process, as nl_python is. */
static struct tasks tasks;

/* What the callback is a method of; a new reference, NULL = nothing. */
static PyObject *owner_of(PyObject *callback)
{
    PyObject *owner = NULL;
    if (&PyMethod_Type && Py_TYPE(callback) == &PyMethod_Type)
        owner = PyMethod_Self(callback);
    else if (PyCFunction_Check(callback))
        owner = PyCFunction_GetSelf(callback);
    if (owner)
        return new_reference(owner);
    if (PyDict_Contains(tasks.plain, (PyObject *)Py_TYPE(callback)) == 1)
        return NULL;
    owner = PyObject_GetAttr(callback, tasks.word_self);
    if (owner)
        return owner;
    PyErr_Clear();
    (void)PyDict_SetItem(tasks.plain, (PyObject *)Py_TYPE(callback), Py_None);
    return NULL;
}

/* Name of the task's scope, borrowed; NULL: no task. */
static PyObject *name_of(PyObject *owner)
{
    PyObject *type = (PyObject *)Py_TYPE(owner);
    if (PyDict_Contains(tasks.plain, type) == 1)
        return NULL;
    PyObject *key = PyLong_FromVoidPtr(owner);
    PyObject *name = key ? PyDict_GetItemWithError(tasks.names, key) : NULL;
    if (!name && key) {
        PyObject *told = call_one(tasks.learn, owner);
        if (told == Py_None)
            (void)PyDict_SetItem(tasks.plain, type, Py_None);
        Py_XDECREF(told);
        name = told ? PyDict_GetItemWithError(tasks.names, key) : NULL;
    }
    Py_XDECREF(key);
    return name;
}

static uint64_t begin(const struct nl_capture_v1 *table, PyObject *handle)
{
    uint32_t id = 0;
    PyObject *callback = PyObject_GetAttr(handle, tasks.word_callback);
    PyObject *owner = callback ? owner_of(callback) : NULL;
    PyObject *name = owner ? name_of(owner) : NULL;
    bool known = name && pycapture_name(name, &id);
    PyErr_Clear();
    Py_XDECREF(owner);
    Py_XDECREF(callback);
    uint64_t token = known ? table->begin(id, NL_CLASS_SCOPE, 0) : 0;
    if (token)
        pycapture_ran(NL_REC_HOOK_TASK);
    return token;
}

static PyObject *run_handle(PyObject *handle, PyObject *none)
{
    const struct nl_capture_v1 *table = nl_recorder();
    uint64_t token = table ? begin(table, handle) : 0;
    (void)none;
    PyObject *result = call_one(tasks.inner, handle);
    nl_scope_end(token);
    return result;
}

/* watch_tasks(Handle, learn, names) → what is to be its _run: a method like those of built-in
 * types, which may be read, kept and put back by others. */
static PyObject *watch_tasks(PyObject *self, PyObject *args)
{
    static PyMethodDef method = {"_run", run_handle, METH_NOARGS, NULL};
    PyObject *handle, *learn, *names;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!OO!", &PyType_Type, &handle, &learn, &PyDict_Type, &names))
        return NULL;
    PyObject *inner = PyObject_GetAttrString(handle, "_run");
    if (!inner)
        return NULL;
    tasks = (struct tasks){inner,
                           new_reference(learn),
                           new_reference(names),
                           PyDict_New(),
                           PyUnicode_InternFromString("_callback"),
                           PyUnicode_InternFromString("__self__")};
    if (!tasks.plain || !tasks.word_callback || !tasks.word_self)
        return NULL;
    return PyDescr_NewMethod((PyTypeObject *)handle, &method);
}

PyMethodDef nl_tasks_methods[] = {{"watch_tasks", watch_tasks, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

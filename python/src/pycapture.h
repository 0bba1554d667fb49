/*
 * pycapture — the parts of the C extension nlens._capture, and what they share.
 *
 * The extension translates: Python objects to names, `with` blocks to scopes of
 * include/neurolens.h. What is recorded, and whether anything is, the recording library decides;
 * without it every call returns after a load and a branch. All functions need the GIL, except
 * where they say otherwise.
 *
 * Hooks of the interpreter and of PyTorch carry no pointer of ours, so there is one state
 * per process (nl_python).
 *
 * One binary serves CPython 3.9 and every later version: it is compiled for the stable
 * ABI. The few things that the stable ABI does not have are declared in pyinside.h and
 * are looked for at run time.
 */
#ifndef NL_PYCAPTURE_H
#define NL_PYCAPTURE_H

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <capture/shared/hookcalls.h>
#include <neurolens.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#ifndef METH_FASTCALL /* headers of 3.9 hide what its own stable ABI has */
#define METH_FASTCALL 0x0080
#endif

static inline PyObject *new_reference(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static inline PyObject *call_one(PyObject *function, PyObject *argument)
{
    return PyObject_CallFunctionObjArgs(function, argument, NULL);
}

#define PYCAPTURE_NAMES 1024u /* a power of two */

#define PYCAPTURE_SHARED 2u /* scopes and layers */

/* Names that were looked up, by the address of the text, which is a constant of the program as a
 * rule; the reference keeps the address from being used again. With them the objects that were made
 * for them: a scope without a category may be entered any number of times. */
struct pycapture_name {
    PyObject *text;
    PyObject *scope[PYCAPTURE_SHARED];
    uint32_t id;
};

struct pycapture {
    struct pycapture_name names[PYCAPTURE_NAMES];
    PyObject *decorate;     /* called with (scope, function) when a scope decorates */
    PyObject *running_loop; /* asyncio._get_running_loop, when the program uses asyncio */
    PyObject *current_task; /* asyncio.current_task */
    PyObject *disable;      /* sys.monitoring.DISABLE */
    PyObject *own_folder;   /* code in there is not traced */
    PyTypeObject *scope_type;
    Py_ssize_t code_extra; /* index of our note on code objects, -1: none yet */
    uint64_t call_limit;   /* per function */
    uint64_t calls_left_out;
    uint64_t functions_cut;
    uint64_t gc_scope;
    uint32_t gc_names[3];
    bool has_stack_key;
    bool shapes_seen;        /* of operators of PyTorch; set by any thread, as is */
    uint64_t shapes_cut;     /* how many were too long */
    pthread_key_t stack_key; /* struct of tracing, per thread */
    int64_t next_step;       /* 0: the program has marked none */
    uint64_t hook_step;      /* the step that a hook began last, */
    unsigned hook_heap;      /* and its slot of the heap */
};
extern struct pycapture nl_python;

/* Where a text is or would be. */
static inline struct pycapture_name *pycapture_place(PyObject *text)
{
    return &nl_python.names[((uintptr_t)text >> 4 ^ (uintptr_t)text >> 14) & (PYCAPTURE_NAMES - 1)];
}

/* Id of a text, 0 without a recording library. False: not a text; an exception is set. */
bool pycapture_name(PyObject *text, uint32_t *id);

/* Context managers. Makes their type, a new reference; NULL: an exception is set. */
PyObject *pycapture_scope_type(void);
/* Makes one; a new reference. `index` is the step's, negative for the next one. */
PyObject *pycapture_scope(uint32_t kind, PyObject *text, uint32_t name, uint32_t category,
                          int64_t index);
/* It is a hook's: each time that it is entered counts. */
void pycapture_of_hook(PyObject *scope, enum nl_rec_hook hook);
/* False: so many of its entries are open that it had better not be used once more. */
bool pycapture_is_reusable(PyObject *scope);

/* Memory of Python while a step or layer is open (pyheap.c): a slot, 0 = none; its
 * text, NULL for steps without. */
unsigned pycapture_heap_begin(void);
void pycapture_heap_end(unsigned slot, PyObject *text);

/* Functions of the module, by part. */
extern PyMethodDef nl_trace_methods[];
extern PyMethodDef nl_torch_methods[];
extern PyMethodDef nl_heap_methods[];
extern PyMethodDef nl_calls_methods[];
extern PyMethodDef nl_tasks_methods[];
extern PyMethodDef nl_measure_methods[];

/* A hook ran and wrote its events. */
void pycapture_ran(uint32_t hook);

#define PYCAPTURE_FAST(function) ((PyCFunction)(void (*)(void))(function))

#endif

/*
 * pyinside — what of CPython is not in its stable ABI, and is looked for when the module is loaded.
 *
 * Functions are weak: NULL in versions without them, so a caller looks before it calls. Structures
 * whose layout has been the same from 3.9 on are written out here; places that move from version to
 * version come from src/capture/python/pylayout.def, the table of the recorder, which tests compare
 * with the headers of every interpreter they find. In a version that the table does not know
 * everything works except what asks for these places, and that says so.
 */
#ifndef NL_PYINSIDE_H
#define NL_PYINSIDE_H

#include "pycapture.h"

#define PYINSIDE_WEAK extern __attribute__((weak, visibility("default")))

/* Notes on code objects; the names of 3.9 to 3.11, and those since. */
PYINSIDE_WEAK Py_ssize_t _PyEval_RequestCodeExtraIndex(freefunc release);
PYINSIDE_WEAK int _PyCode_GetExtra(PyObject *code, Py_ssize_t index, void **extra);
PYINSIDE_WEAK int _PyCode_SetExtra(PyObject *code, Py_ssize_t index, void *extra);
PYINSIDE_WEAK Py_ssize_t PyUnstable_Eval_RequestCodeExtraIndex(freefunc release);
PYINSIDE_WEAK int PyUnstable_Code_GetExtra(PyObject *code, Py_ssize_t index, void **extra);
PYINSIDE_WEAK int PyUnstable_Code_SetExtra(PyObject *code, Py_ssize_t index, void *extra);

/* PEP 523, 3.9 to 3.11: a frame is a PyFrameObject, in 3.11 the frame inside. */
typedef PyObject *(*pyinside_evaluate)(PyThreadState *state, void *frame, int throwing);
PYINSIDE_WEAK PyObject *_PyEval_EvalFrameDefault(PyThreadState *state, void *frame, int throwing);
PYINSIDE_WEAK pyinside_evaluate _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState *of);
PYINSIDE_WEAK void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState *of,
                                                        pyinside_evaluate function);

/* Profile functions, the numbers of their events, and texts of the stable ABI since 3.10. */
typedef int (*pyinside_profile)(PyObject *marker, PyFrameObject *frame, int what, PyObject *about);
PYINSIDE_WEAK void PyEval_SetProfile(pyinside_profile function, PyObject *marker);
enum { PYINSIDE_C_CALL = 4, PYINSIDE_C_EXCEPTION = 5, PYINSIDE_C_RETURN = 6 };
#if Py_LIMITED_API < 0x030a0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *bytes);
#endif

/* Allocators. */
struct pyinside_allocator {
    void *context;
    void *(*malloc)(void *context, size_t bytes);
    void *(*calloc)(void *context, size_t count, size_t bytes);
    void *(*realloc)(void *context, void *old, size_t bytes);
    void (*free)(void *context, void *block);
};
struct pyinside_arenas {
    void *context;
    void *(*alloc)(void *context, size_t bytes);
    void (*free)(void *context, void *arena, size_t bytes);
};
enum { PYINSIDE_DOMAIN_RAW = 0 };
PYINSIDE_WEAK void PyMem_GetAllocator(int domain, struct pyinside_allocator *allocator);
PYINSIDE_WEAK void PyMem_SetAllocator(int domain, struct pyinside_allocator *allocator);
PYINSIDE_WEAK void PyObject_GetArenaAllocator(struct pyinside_arenas *allocator);
PYINSIDE_WEAK void PyObject_SetArenaAllocator(struct pyinside_arenas *allocator);

/* Bound methods. */
PYINSIDE_WEAK PyTypeObject PyMethod_Type;
PYINSIDE_WEAK PyObject *PyMethod_Self(PyObject *method);

/* Beginnings of objects, the same in 3.9 to 3.14. */
struct pyinside_c_function {
    PyObject head;
    PyMethodDef *method;
    PyObject *self, *module;
};
struct pyinside_c_method { /* a method of a type that is written in C */
    PyObject head;
    PyTypeObject *type;
    PyObject *name, *qualified;
    PyMethodDef *method;
};
struct pyinside_type {
    PyVarObject head;
    const char *name;
};

static inline const char *pyinside_type_name(PyTypeObject *type)
{
    return ((struct pyinside_type *)type)->name;
}

/* What the running version is, and where things lie in it; bytes, -1 = not there or not known. */
struct pyinside {
    int minor;                           /* of 3.x */
    int thread_frame;                    /* in a thread's state: its innermost frame, */
    int cframe_frame;                    /* or what has it */
    int frame_code, frame_owner;         /* in a frame; the owner up to 3.11 */
    bool has_monitoring, has_evaluation; /* how Python calls are traced: one of them */
};
extern struct pyinside nl_inside;

/* Once, when the module is loaded. */
void pyinside_learn(void);

/* The innermost frame of the calling thread, as a key; only where thread_frame is known. */
static inline const void *pyinside_frame(void)
{
    const char *state = (const char *)PyThreadState_Get();
    const char *found = *(const char *const *)(state + nl_inside.thread_frame);
    return nl_inside.cframe_frame < 0 ? found
                                      : *(const char *const *)(found + nl_inside.cframe_frame);
}

#endif

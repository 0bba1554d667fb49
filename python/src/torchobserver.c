/*
 * Operators of PyTorch, through the observers of at::RecordFunction, from plain C and without a header
 * of PyTorch: three functions of libtorch_cpu.so by their mangled names. No Python code runs for an
 * operator, and no GIL is needed: operators of autograd's threads come in too.
 *
 * at::RecordFunctionCallback is passed by value: {start, end, probability, scopes[], flags}. It is
 * trivially copyable; only the first eight scopes are set, so that the number of scopes (which grew
 * over time) does not matter. `start` returns a std::unique_ptr<ObserverContext>, that is: its
 * address comes in the first argument and goes back. An ObserverContext has nothing but a virtual
 * destructor; ours carries the scope from start to end, with a table of two destructors as the C++ ABI
 * of Itanium (all Linux compilers) lays it out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "pycapture.h"

#define SCOPES 8u

struct record_callback {
    void *start, *end;
    double probability;
    uint8_t scopes_and_flags[16];
};

struct context {
    void (*const *table)(struct context *);
    uint64_t token;
    pthread_t thread;
};

/* What libtorch exports. */
struct torch_functions {
    uint64_t (*add)(struct record_callback);
    const char *(*name)(const void *function);
    void (*remove)(uint64_t handle);
};

/* The one observer there is; libtorch keeps pointers to functions only. */
static struct torch_functions torch_functions;

static void destroy(struct context *context)
{
    (void)context;
}

static void destroy_and_free(struct context *context)
{
    PyMem_RawFree(context);
}

/* Offset to the top and type information come before the functions. */
static const struct {
    ptrdiff_t offset;
    const void *type;
    void (*functions[2])(struct context *);
} context_table = {0, NULL, {destroy, destroy_and_free}};

static struct context **start(struct context **result, const void *function)
{
    const struct nl_capture_v1 *table = nl_recorder();
    struct context *context = table ? PyMem_RawMalloc(sizeof *context) : NULL;
    *result = context;
    if (!context)
        return result;
    const char *name = torch_functions.name(function);
    uint32_t id = name ? table->name(name, strlen(name)) : 0;
    *context = (struct context){.table = context_table.functions,
                                .token = table->begin(id, NL_CLASS_OPERATOR, 0),
                                .thread = pthread_self()};
    return result;
}

/* Some functions (of distributed work) end on another thread: where, the recording cannot tell. */
static void end(const void *function, struct context *context)
{
    (void)function;
    if (context && pthread_equal(context->thread, pthread_self()))
        nl_scope_end(context->token);
}

static bool find_functions(struct torch_functions *found)
{
    union {
        void *object;
        uint64_t (*add)(struct record_callback);
        const char *(*name)(const void *);
        void (*remove)(uint64_t);
    } symbol;
    void *library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return false;
    symbol.object = dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    found->add = symbol.add;
    symbol.object = dlsym(library, "_ZNK2at14RecordFunction4nameEv");
    found->name = symbol.name;
    symbol.object = dlsym(library, "_ZN2at14removeCallbackEm");
    found->remove = symbol.remove;
    (void)dlclose(library);
    return found->add && found->name && found->remove;
}

/* observe_operators() → a handle for forget_operators; raises where PyTorch has no such functions. */
static PyObject *observe_operators(PyObject *self, PyObject *none)
{
    struct record_callback callback = {
        .start = (void *)(uintptr_t)start, .end = (void *)(uintptr_t)end, .probability = 1};
    (void)self;
    (void)none;
    if (!find_functions(&torch_functions)) {
        PyErr_SetString(PyExc_RuntimeError, "libtorch_cpu.so has no at::addGlobalCallback");
        return NULL;
    }
    memset(callback.scopes_and_flags, 1, SCOPES);
    return PyLong_FromUnsignedLongLong(torch_functions.add(callback));
}

static PyObject *forget_operators(PyObject *self, PyObject *handle)
{
    unsigned long long value = PyLong_AsUnsignedLongLong(handle);
    (void)self;
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    if (torch_functions.remove)
        torch_functions.remove(value);
    Py_RETURN_NONE;
}

PyMethodDef nl_torch_methods[] = {{"observe_operators", observe_operators, METH_NOARGS, NULL},
                                  {"forget_operators", forget_operators, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

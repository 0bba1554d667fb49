/*
 * Operators of PyTorch, through the observers of at::RecordFunction, from plain C and without a
 * header of PyTorch: a few functions of libtorch_cpu.so by their mangled names. No Python code runs
 * for an operator, and no GIL is needed: operators of autograd's threads come in too.
 *
 * at::RecordFunctionCallback is passed by value: {start, end, probability, scopes[], flags}. It is
 * trivially copyable; only the first eight scopes are set, so that the number of scopes (which grew
 * over time) does not matter. `start` returns a std::unique_ptr<ObserverContext>, that is: its
 * address comes in the first argument and goes back. An ObserverContext has nothing but a virtual
 * destructor; ours carries the scope from start to end, with a table of two destructors as the C++
 * ABI of Itanium (all Linux compilers) lays it out.
 *
 * Shapes of inputs, when they are asked for, come from the function of PyTorch's own profiler that
 * finds them: a std::vector<std::vector<int64_t>>, which is three pointers to libstdc++ and to
 * libc++ alike. Behind the scopes of a callback stands the flag that inputs are needed; there are
 * 10 scopes in 1.13 to 2.15. With another number no shapes come, and the recording says so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "pycapture.h"

#define SCOPES      8u
#define NEEDS_INPUT 10u /* place behind the scopes, of which there are 10 */
#define MAX_SHAPES  2048u

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

/* std::vector of int64_t, and of those. */
struct sizes {
    int64_t *begin, *end, *room;
};
struct inputs {
    struct sizes *begin, *end, *room;
};

/* What libtorch exports. */
struct torch_functions {
    uint64_t (*add)(struct record_callback);
    const char *(*name)(const void *function);
    void (*remove)(uint64_t handle);
    /* A vector by value: its address goes first. The flag is one of 2.x and
     * is not looked at before. */
    struct inputs *(*shapes)(struct inputs *result, const void *function, int flatten);
    void (*delete)(void *);
};

/* The one observer there is; libtorch keeps pointers to functions only. */
static struct torch_functions torch_functions;

static void destroy(struct context *context)
{
    (void)context;
}

static void destroy_and_free(struct context *context)
{
    free(context);
}

/* Offset to the top and type information come before the functions. */
static const struct {
    ptrdiff_t offset;
    const void *type;
    void (*functions[2])(struct context *);
} context_table = {0, NULL, {destroy, destroy_and_free}};

static uint32_t shapes_cut(void)
{
    (void)__atomic_add_fetch(&nl_python.shapes_cut, 1, __ATOMIC_RELAXED);
    return 0;
}

/* "[[8, 16], [], [16]]", as Kineto writes it; 0 where no input has a shape. */
static uint32_t shapes_name(const struct nl_capture_v1 *table, const struct inputs *inputs)
{
    char text[MAX_SHAPES];
    size_t at = 0;
    bool any = false;
    for (const struct sizes *one = inputs->begin; one != inputs->end; one++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s",
                               one == inputs->begin ? "[[" : ", [");
        for (const int64_t *size = one->begin; size != one->end; size++) {
            if (at + 64 > sizeof text)
                return shapes_cut();
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld",
                                   size == one->begin ? "" : ", ", (long long)*size);
            any = true;
        }
        if (at + 64 > sizeof text)
            return shapes_cut();
        text[at++] = ']';
    }
    text[at++] = ']';
    return any ? table->name(text, at) : 0;
}

static uint32_t shapes_of(const struct nl_capture_v1 *table, const void *function)
{
    struct inputs inputs = {NULL, NULL, NULL};
    if (!torch_functions.shapes)
        return 0;
    (void)torch_functions.shapes(&inputs, function, 0);
    uint32_t name = inputs.begin != inputs.end ? shapes_name(table, &inputs) : 0;
    for (struct sizes *one = inputs.begin; one != inputs.end; one++)
        torch_functions.delete(one->begin);
    torch_functions.delete(inputs.begin);
    if (name)
        __atomic_store_n(&nl_python.shapes_seen, true, __ATOMIC_RELAXED);
    return name;
}

static struct context **start(struct context **result, const void *function)
{
    const struct nl_capture_v1 *table = nl_recorder();
    struct context *context = table ? malloc(sizeof *context) : NULL;
    *result = context;
    if (!context)
        return result;
    const char *name = torch_functions.name(function);
    uint32_t id = name ? table->name(name, strlen(name)) : 0;
    *context =
        (struct context){.table = context_table.functions,
                         .token = table->begin(id, NL_CLASS_OPERATOR, shapes_of(table, function)),
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
        struct inputs *(*shapes)(struct inputs *, const void *, int);
        void (*delete)(void *);
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
    found->shapes = NULL;
    return found->add && found->name && found->remove;
}

/* PyTorch's own; the second name is older than 1.13. */
static bool find_shapes(struct torch_functions *found)
{
    union {
        void *object;
        struct inputs *(*shapes)(struct inputs *, const void *, int);
        void (*delete)(void *);
    } symbol;
    static const char *const names[] = {
        "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb",
        "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionE"};
    void *library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    for (size_t i = 0; library && !found->shapes && i < sizeof names / sizeof names[0]; i++) {
        symbol.object = dlsym(library, names[i]);
        found->shapes = symbol.shapes;
    }
    symbol.object = library ? dlsym(library, "_ZdlPv") : NULL; /* of its C++ library */
    found->delete = symbol.delete;
    if (library)
        (void)dlclose(library);
    if (!found->delete)
        found->shapes = NULL;
    return found->shapes;
}

/* observe_operators(shapes) → a handle for forget_operators; raises where
 * PyTorch has no such functions. */
static PyObject *observe_operators(PyObject *self, PyObject *shapes)
{
    struct record_callback callback = {
        .start = (void *)(uintptr_t)start, .end = (void *)(uintptr_t)end, .probability = 1};
    (void)self;
    int wanted = PyObject_IsTrue(shapes);
    if (wanted < 0)
        return NULL;
    if (!find_functions(&torch_functions)) {
        PyErr_SetString(PyExc_RuntimeError, "libtorch_cpu.so has no at::addGlobalCallback");
        return NULL;
    }
    memset(callback.scopes_and_flags, 1, SCOPES);
    if (wanted && find_shapes(&torch_functions))
        callback.scopes_and_flags[NEEDS_INPUT] = 1;
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

/* (did any operator have shapes?, operators whose shapes were too long) */
static PyObject *shapes_seen(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue(
        "iK", (int)__atomic_load_n(&nl_python.shapes_seen, __ATOMIC_RELAXED),
        (unsigned long long)__atomic_load_n(&nl_python.shapes_cut, __ATOMIC_RELAXED));
}

PyMethodDef nl_torch_methods[] = {{"observe_operators", observe_operators, METH_O, NULL},
                                  {"shapes_seen", shapes_seen, METH_NOARGS, NULL},
                                  {"forget_operators", forget_operators, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

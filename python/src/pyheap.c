/*
 * Memory of Python objects, without a table of blocks: Python takes memory for small objects in
 * arenas and asks malloc (its domain "raw") for anything over 512 bytes. Both have places for
 * functions of ours. Arenas have a size, and malloc knows that of its blocks; so what is counted is
 * exact for large blocks and goes by arenas (256 KiB before 3.10, then 1 MiB) for small ones.
 *
 * Values are bytes more than when recording began. They are written when they have changed by 64
 * KiB. The peak while a step or a layer is open is kept in a slot that it takes; any thread
 * allocates, and not all hold the GIL.
 */
#include <malloc.h>
#include <stdio.h>

#include "pyinside.h"

#define SLOTS      64u
#define TELL_BYTES ((int64_t)64 << 10)

struct heap {
    bool on;
    int64_t bytes, told;
    unsigned top;    /* slots in use are below */
    uint64_t missed; /* steps and layers without a slot */
    struct {
        bool taken;
        int64_t peak;
    } slots[SLOTS];
    struct pyinside_allocator raw;
    struct pyinside_arenas arena;
    uint32_t name, unit;
};

/* Allocators are functions of the process. */
static struct heap heap;

static void raise_peak(int64_t *peak, int64_t bytes)
{
    int64_t seen = __atomic_load_n(peak, __ATOMIC_RELAXED);
    while (seen < bytes && !__atomic_compare_exchange_n(peak, &seen, bytes, true, __ATOMIC_RELAXED,
                                                        __ATOMIC_RELAXED))
        ;
}

static void tell(int64_t bytes)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (!table)
        return;
    __atomic_store_n(&heap.told, bytes, __ATOMIC_RELAXED);
    table->counter(heap.name, (double)bytes, heap.unit);
}

static void change(int64_t by)
{
    int64_t bytes = __atomic_add_fetch(&heap.bytes, by, __ATOMIC_RELAXED);
    unsigned top = __atomic_load_n(&heap.top, __ATOMIC_RELAXED);
    for (unsigned i = 0; by > 0 && i < top; i++)
        raise_peak(&heap.slots[i].peak, bytes);
    int64_t moved = bytes - __atomic_load_n(&heap.told, __ATOMIC_RELAXED);
    if (moved >= TELL_BYTES || moved <= -TELL_BYTES)
        tell(bytes);
}

static int64_t size_of(void *block)
{
    return block ? (int64_t)malloc_usable_size(block) : 0;
}

static void *raw_malloc(void *context, size_t bytes)
{
    void *block = heap.raw.malloc(context, bytes);
    change(size_of(block));
    return block;
}

static void *raw_calloc(void *context, size_t count, size_t bytes)
{
    void *block = heap.raw.calloc(context, count, bytes);
    change(size_of(block));
    return block;
}

static void *raw_realloc(void *context, void *old, size_t bytes)
{
    int64_t before = size_of(old);
    void *block = heap.raw.realloc(context, old, bytes);
    if (block)
        change(size_of(block) - before);
    return block;
}

static void raw_free(void *context, void *block)
{
    int64_t bytes = size_of(block);
    heap.raw.free(context, block);
    if (bytes)
        change(-bytes);
}

static void *arena_alloc(void *context, size_t bytes)
{
    void *arena = heap.arena.alloc(context, bytes);
    if (arena)
        change((int64_t)bytes);
    return arena;
}

static void arena_free(void *context, void *arena, size_t bytes)
{
    heap.arena.free(context, arena, bytes);
    change(-(int64_t)bytes);
}

/* A slot for the peak from now on, + 1; 0: none is to be had. Needs the GIL, as ending does. */
unsigned pycapture_heap_begin(void)
{
    unsigned at = 0;
    if (!heap.on)
        return 0;
    while (at < SLOTS && heap.slots[at].taken)
        at++;
    if (at == SLOTS) {
        heap.missed++;
        return 0;
    }
    heap.slots[at].taken = true;
    __atomic_store_n(&heap.slots[at].peak, __atomic_load_n(&heap.bytes, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    if (at >= heap.top)
        __atomic_store_n(&heap.top, at + 1, __ATOMIC_RELEASE);
    return at + 1;
}

/* Writes the peak as a value named after the step or layer. */
void pycapture_heap_end(unsigned slot, PyObject *text)
{
    const struct nl_capture_v1 *table = nl_recorder();
    if (!slot)
        return;
    int64_t peak = __atomic_load_n(&heap.slots[slot - 1].peak, __ATOMIC_RELAXED);
    heap.slots[slot - 1].taken = false;
    while (heap.top && !heap.slots[heap.top - 1].taken)
        __atomic_store_n(&heap.top, heap.top - 1, __ATOMIC_RELAXED);
    if (!table)
        return;
    char name[512];
    const char *of = text ? PyUnicode_AsUTF8AndSize(text, NULL) : "step";
    if (!of)
        PyErr_Clear();
    int put = snprintf(name, sizeof name, "Python heap peak: %s", of ? of : "?");
    size_t bytes = put < 0 ? 0 : (size_t)put < sizeof name ? (size_t)put : sizeof name - 1;
    table->counter(table->name(name, bytes), (double)peak, heap.unit);
}

/* watch_heap(): from now on. Raises where somebody else's functions are in the place: the size of
 * blocks of a debugging allocator cannot be asked for. */
static PyObject *watch_heap(PyObject *self, PyObject *none)
{
    const struct nl_capture_v1 *table = nl_library();
    (void)self;
    (void)none;
    if (heap.on || !table)
        Py_RETURN_NONE;
    PyMem_GetAllocator(PYINSIDE_DOMAIN_RAW, &heap.raw);
    PyObject_GetArenaAllocator(&heap.arena);
    if (heap.raw.context) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the allocator is not Python's own (PYTHONMALLOC, -X dev, tracemalloc?)");
        return NULL;
    }
    heap.name = nl_text_(table, "Python heap");
    heap.unit = nl_text_(table, "bytes");
    heap.on = true;
    struct pyinside_allocator raw = {NULL, raw_malloc, raw_calloc, raw_realloc, raw_free};
    struct pyinside_arenas arena = {heap.arena.context, arena_alloc, arena_free};
    PyMem_SetAllocator(PYINSIDE_DOMAIN_RAW, &raw);
    PyObject_SetArenaAllocator(&arena);
    tell(0);
    Py_RETURN_NONE;
}

/* Steps and layers whose peak is not known: too many were open. */
static PyObject *heap_losses(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyLong_FromUnsignedLongLong(heap.missed);
}

PyMethodDef nl_heap_methods[] = {{"watch_heap", watch_heap, METH_NOARGS, NULL},
                                 {"heap_losses", heap_losses, METH_NOARGS, NULL},
                                 {NULL, NULL, 0, NULL}};

/*
 * What hooks cost on this machine, and how often they run: the package's side of
 * src/capture/shared/hookcalls.h. A loop of the caller's is run with the hook and without, in
 * turns; of each the fastest counts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

#include "pycapture.h"

#define ROUNDS 6

/* The library's table; NULL = it does not record, or is of another version. */
static const struct nl_hook_calls *hook_calls(void)
{
    static const struct nl_hook_calls *calls;
    union {
        void *object;
        const struct nl_hook_calls *(*call)(void);
    } found = {NULL};
    if (!calls && nl_library()) {
        found.object = dlsym(RTLD_DEFAULT, "nl_capture_hooks");
        calls = found.object ? found.call() : NULL;
        if (calls && calls->size < sizeof *calls)
            calls = NULL;
    }
    return calls;
}

void pycapture_ran(uint32_t hook)
{
    const struct nl_hook_calls *calls = hook_calls();
    if (calls)
        calls->ran(hook, 1);
}

static int64_t thread_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool call(PyObject *function)
{
    PyObject *result = PyObject_CallObject(function, NULL);
    Py_XDECREF(result);
    return result;
}

/* Keeps the least. False: an exception is set. */
static bool time_loop(PyObject *loop, int64_t *least)
{
    int64_t before = thread_ns();
    bool done = call(loop);
    int64_t took = thread_ns() - before;
    *least = took < *least ? took : *least;
    return done;
}

struct loops {
    PyObject *loop, *on, *off;
    int64_t hooked, bare; /* ns of the loop, the least */
    uint32_t events;      /* in one loop */
};

static bool one_round(const struct nl_hook_calls *calls, struct loops *loops)
{
    if (!call(loops->off) || !time_loop(loops->loop, &loops->bare) || !call(loops->on))
        return false;
    if (!calls->scratch_begin()) {
        PyErr_NoMemory();
        return false;
    }
    bool done = time_loop(loops->loop, &loops->hooked);
    loops->events = calls->scratch_end();
    return done;
}

/* measure(hook, loop, on, off, times=0): what one hook costs. `loop` calls what is hooked `times`
 * times, or writes two events each time; on() and off() install the hook and take it out again.
 * False: that is known, or cannot be known now. */
static PyObject *measure(PyObject *self, PyObject *args)
{
    const struct nl_hook_calls *calls = hook_calls();
    struct loops loops = {.hooked = INT64_MAX, .bare = INT64_MAX};
    unsigned int hook, times = 0;
    bool done = true;
    (void)self;
    if (!PyArg_ParseTuple(args, "IOOO|I", &hook, &loops.loop, &loops.on, &loops.off, &times))
        return NULL;
    if (!calls || !calls->claim(hook))
        Py_RETURN_FALSE;
    for (int round = 0; round < ROUNDS && done; round++)
        done = one_round(calls, &loops);
    times = times ? times : loops.events / 2;
    int64_t more = loops.hooked - loops.bare;
    calls->cost(hook, done && times && more > 0 ? (uint64_t)more * 1000 / times : 0);
    return done ? PyBool_FromLong(times != 0) : NULL;
}

/* ran(hook, times): for what is counted elsewhere. */
static PyObject *ran(PyObject *self, PyObject *args)
{
    const struct nl_hook_calls *calls = hook_calls();
    unsigned long long times;
    unsigned int hook;
    (void)self;
    if (!PyArg_ParseTuple(args, "IK", &hook, &times))
        return NULL;
    if (calls)
        calls->ran(hook, times);
    Py_RETURN_NONE;
}

/* hooks_took(ns): processor time of installing hooks. */
static PyObject *hooks_took(PyObject *self, PyObject *ns)
{
    const struct nl_hook_calls *calls = hook_calls();
    long long value = PyLong_AsLongLong(ns);
    (void)self;
    if (value == -1 && PyErr_Occurred())
        return NULL;
    if (calls && value > 0)
        calls->started((uint64_t)value);
    Py_RETURN_NONE;
}

PyMethodDef nl_measure_methods[] = {{"measure", measure, METH_VARARGS, NULL},
                                    {"ran", ran, METH_VARARGS, NULL},
                                    {"hooks_took", hooks_took, METH_O, NULL},
                                    {NULL, NULL, 0, NULL}};

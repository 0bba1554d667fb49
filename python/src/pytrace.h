/*
 * pytrace — what the tracing of Python functions (pytrace.c) and of C functions (pycalls.c)
 * share: what is known of a function, and the open calls of a thread where they have to be
 * found again by their frame.
 */
#ifndef NL_PYTRACE_H
#define NL_PYTRACE_H

#include "pyinside.h"

struct note {
    uint64_t calls;
    uint32_t name;
    uint32_t open; /* recorded calls that have not returned (sys.monitoring) */
    bool is_own;   /* code of this package: not traced */
    bool is_generator;
};

/* Once, before the others. False: an exception is set. */
bool pytrace_prepare(void);
/* NULL: no memory. */
struct note *pytrace_note(PyObject *code);
/* Counts a call. False: it is not to be recorded. */
bool pytrace_counts(struct note *note);

/* The recorded calls of a thread that have not returned. Frames tell them apart: not
 * every call is here, and greenlets do not return in order. A call of a C function has
 * the frame of its caller + 1. */
bool pytrace_push(const void *frame, uint64_t token);
/* Token of the latest call of that frame, taken off; 0: there is none. */
uint64_t pytrace_pop(const void *frame);

#endif

/*
 * pystack — the Python call stacks of another process now, read from its
 * memory without stopping it.
 *
 *     struct pystack *stack = pystack_new(pid);
 *     while (pystack_look(stack) == PYFIND_NOT_YET) ...            // until the interpreter is set up
 *     pystack_list(stack, &threads, &count)                        // its threads, now
 *     pystack_read(stack, &threads[i], &frames)                    // where one of them is
 *     pystack_thread(stack, tid)                                   // one by the kernel's number
 *     pystack_free(stack)
 *
 * The process runs on meanwhile: inconsistent data is read again, and reported if it stays so. A
 * stack is as it was within some microseconds; its innermost frame is the one read first.
 */
#ifndef PYSTACK_H
#define PYSTACK_H

#include "capture/python/pyfind.h"

#define PYSTACK_FRAMES 1000u /* innermost frames that are read */

struct pystack;

struct pystack_thread; /* lives as long as pystack_list names it */

struct pystack_frames {
    const char *const
        *texts;   /* "function\tfile\tline", innermost first; live as long as the pystack */
    size_t count; /* 0: the thread runs no Python */
    bool cut;     /* there are more outside */
};

struct pystack_losses {
    uint64_t overflow;  /* frames that share a name, since there are too many */
    uint64_t unlisted;  /* threads over the most that are kept */
    uint64_t anonymous; /* threads whose number in the kernel is unknown */
};

struct pystack *pystack_new(int64_t pid);
void pystack_free(struct pystack *stack);

/* Looks for the interpreter. `why` (never NULL) is valid with PYFIND_REFUSED. */
enum pyfind_state pystack_look(struct pystack *stack);
const char *pystack_why(const struct pystack *stack);
uint32_t pystack_version(const struct pystack *stack); /* PY_VERSION_HEX */

/* Threads that the interpreter knows. False: the process is gone, or ends. */
bool pystack_list(struct pystack *stack, struct pystack_thread *const **threads, size_t *count);
uint32_t pystack_tid(const struct pystack_thread *thread); /* 0 = unknown */
/* What the caller notes of a thread between two samples; 0 at first. */
struct pystack_note {
    uint64_t turns;  /* turns on a processor << 1 | it slept when they were counted */
    uint64_t run_ns; /* of its processor time, what samples stand for so far */
    bool met;        /* run_ns is known */
};
struct pystack_note *pystack_note(struct pystack_thread *thread);
/* The thread of that number as of the last list; NULL when it runs no Python. */
struct pystack_thread *pystack_thread(struct pystack *stack, uint32_t tid);

/* False: it did not hold together in three readings. The frames live until the next call. */
bool pystack_read(struct pystack *stack, struct pystack_thread *thread,
                  struct pystack_frames *frames);

/* As it was last read, of a thread that has not run since. */
void pystack_again(const struct pystack_thread *thread, struct pystack_frames *frames);

const struct pystack_losses *pystack_losses(struct pystack *stack);

#endif

/*
 * waitfor — for which thread a thread waits, if the data show it; else no thread is charged.
 *
 * The device waits for the thread that launches its next work. When that thread has nothing to do
 * itself, another one holds it up, and what that one does is why the device is idle. Known are:
 *
 *   autograd   a thread that runs backward passes waits for the thread of their forward passes, and
 *              that one, inside backward(), for it. Who belongs to whom is recorded (arrows from
 *              forward to backward operators, else their sequence numbers). The thread of the forward
 *              pass is charged only for what it began while the other had nothing to do; the thread
 *              of the backward pass only while the other does nothing, is in a range, waits, or is in
 *              run_backward.
 *   signal     a wait for a condition or semaphore ends because one other thread of the process
 *              signals: the only one whose pthread_cond_signal, pthread_cond_broadcast or sem_post
 *              is within 100 µs before the end of the wait.
 *
 * Only a thread that has something recorded and does not wait itself is charged. That some other
 * thread happens to be busy is no proof.
 */
#ifndef NL_WAITFOR_H
#define NL_WAITFOR_H

#include "timeline/hosttime.h"
#include "timeline/offcpu.h"

struct nl_waitfor_signal;

struct nl_waitfor {
    const struct nl_trace *trace; /* borrowed, as the next two */
    struct nl_host *host;
    struct nl_offcpu *off;
    uint32_t *forward; /* per thread: the one whose backward passes it runs; NL_NULL_ROW none */
    uint32_t *engines; /* threads that have such a one, by it */
    uint32_t *first;   /* per thread: its part of `engines`, and the end of the last */
    struct nl_waitfor_signal *signals; /* by end */
    size_t signal_count;
};

void nl_waitfor_init(struct nl_waitfor *waits, const struct nl_trace *trace, struct nl_host *host,
                     struct nl_offcpu *off);
void nl_waitfor_release(struct nl_waitfor *waits);

/* The slice of the other thread that `thread`, which is in `slice` (NL_NULL_ROW: nothing
 * recorded) at `ts`, waits for; NL_NULL_ROW when that is not known. *until becomes the end of the
 * answer where that is earlier. */
uint32_t nl_waitfor_slice(struct nl_waitfor *waits, uint32_t thread, uint32_t slice, int64_t ts,
                          int64_t *until);

#endif

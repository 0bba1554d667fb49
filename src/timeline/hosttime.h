/*
 * hosttime — what a thread was doing at a moment: the innermost of its slices over all of its
 * lanes (calls and operators, Python frames, NVTX ranges, system calls).
 *
 * If several lanes show different things at once, the most specific one wins: API calls and driver
 * overhead, then operators, layers, Python, collection and compilation, then system calls, then
 * user ranges; among equals the slice that began last.
 *
 * Questions about one thread should come with ascending times: the cursors then walk over its
 * slices once. Going back is allowed and costs a search. A cursor is not to be shared by threads.
 */
#ifndef NL_HOSTTIME_H
#define NL_HOSTTIME_H

#include "store/trace.h"

struct nl_host_run;
struct nl_host_lane;
struct nl_host_thread;

struct nl_host {
    const struct nl_trace *trace; /* borrowed */
    struct nl_host_thread *threads;
    struct nl_host_lane *lanes;
    struct nl_host_run *runs;
    uint8_t
        *range_names; /* per name: stands for a range though its kind does not say so; or NULL */
};

void nl_host_init(struct nl_host *host, const struct nl_trace *trace);
void nl_host_release(struct nl_host *host);

/* The slice that says what `thread` (a row) does at `ts`; NL_NULL_ROW when nothing was recorded.
 * The answer holds until *until, which is later than `ts`. */
uint32_t nl_host_at(struct nl_host *host, uint32_t thread, int64_t ts, int64_t *until);

/* The innermost NVTX range, annotation or module of the thread at the moment of the last nl_host_at
 * about it; NL_NULL_ROW none. It holds as long as that answer. */
uint32_t nl_host_range(const struct nl_host *host, uint32_t thread);

#endif

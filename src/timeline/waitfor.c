/* waitfor — see waitfor.h. Pairs of threads and signals are listed once; a
 * question is a few look-ups. */
#include "timeline/waitfor.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "timeline/owner.h"
#include "timeline/forward.h"

#define SIGNAL_NS   100000 /* from a signal to the return of the call it ends, at most */
#define CONFLICT    (NL_NULL_ROW - 1)
#define MAX_ENGINES 64 /* one per device; of more none is asked */

struct nl_waitfor_signal {
    int64_t start, end;
    uint32_t thread;
};

static uint32_t thread_of(const struct nl_trace *trace, uint32_t slice)
{
    return trace->lane.thread[trace->slice.lane[slice]];
}

/* ---- Threads of backward passes ---- */

static void pair(struct nl_waitfor *waits, uint32_t forward_slice, uint32_t backward_slice)
{
    uint32_t forward = thread_of(waits->trace, forward_slice);
    uint32_t engine = thread_of(waits->trace, backward_slice);
    if (forward == NL_NULL_ROW || engine == NL_NULL_ROW || forward == engine)
        return;
    if (waits->forward[engine] == NL_NULL_ROW)
        waits->forward[engine] = forward;
    else if (waits->forward[engine] != forward)
        waits->forward[engine] = CONFLICT;
}

static bool pair_by_arrows(struct nl_waitfor *waits)
{
    const struct nl_flow_table *flow = &waits->trace->flow;
    bool any = false;
    for (uint32_t i = 0; i < flow->rows; i++) {
        if (flow->kind[i] != NL_FLOW_FORWARD_BACKWARD || flow->src[i] == NL_NULL_ROW ||
            flow->dst[i] == NL_NULL_ROW)
            continue;
        pair(waits, flow->src[i], flow->dst[i]);
        any = true;
    }
    return any;
}

static bool has_backward(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->op.rows; row++)
        if (trace->op.forward_thread[row] != NL_NULL_I64 && trace->op.forward_thread[row] > 0)
            return true;
    return false;
}

static void pair_by_numbers(struct nl_waitfor *waits)
{
    struct nl_rangetree ops;
    if (!has_backward(waits->trace))
        return;
    nl_rangetree_init(&ops, waits->trace, NL_KIND_OP);
    uint32_t *forward = nl_forward_ops(&ops);
    for (uint32_t op = 0; op < ops.count; op++)
        if (forward[op] != NL_NULL_ROW)
            pair(waits, ops.slices[forward[op]], ops.slices[op]);
    nl_free(forward);
    nl_rangetree_release(&ops);
}

/* Counting sort of the threads of backward passes by the thread of their forward passes. */
static void list_engines(struct nl_waitfor *waits)
{
    uint32_t threads = waits->trace->thread.rows;
    waits->engines = nl_alloc(((size_t)threads + 1) * sizeof *waits->engines);
    waits->first = nl_zalloc(((size_t)threads + 2) * sizeof *waits->first);
    for (uint32_t thread = 0; thread < threads; thread++) {
        if (waits->forward[thread] == CONFLICT)
            waits->forward[thread] = NL_NULL_ROW;
        if (waits->forward[thread] != NL_NULL_ROW)
            waits->first[waits->forward[thread] + 2]++;
    }
    for (uint32_t thread = 0; thread < threads; thread++)
        waits->first[thread + 2] += waits->first[thread + 1];
    for (uint32_t thread = 0; thread < threads; thread++)
        if (waits->forward[thread] != NL_NULL_ROW)
            waits->engines[waits->first[waits->forward[thread] + 1]++] = thread;
}

/* ---- Signals ---- */

static bool is_signal(struct nl_str name)
{
    return nl_str_is(name, "pthread_cond_signal") || nl_str_is(name, "pthread_cond_broadcast") ||
           nl_str_is(name, "sem_post");
}

static bool ends_by_signal(struct nl_str name)
{
    return nl_str_starts(name, "pthread_cond_") || nl_str_starts(name, "sem_");
}

static int by_end(const void *left, const void *right)
{
    const struct nl_waitfor_signal *a = left, *b = right;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static void list_signals(struct nl_waitfor *waits)
{
    const struct nl_trace *trace = waits->trace;
    size_t cap = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.kind[lane] != NL_LANE_OSRT || trace->lane.thread[lane] == NL_NULL_ROW)
            continue;
        uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
        for (uint32_t row = first; row < last; row++) {
            if (!is_signal(nl_trace_name(trace, trace->slice.name[row])))
                continue;
            nl_grow(&waits->signals, &cap, waits->signal_count + 1);
            waits->signals[waits->signal_count++] = (struct nl_waitfor_signal){
                trace->slice.ts[row], nl_slice_end(trace, row), trace->lane.thread[lane]};
        }
    }
    if (waits->signal_count)
        qsort(waits->signals, waits->signal_count, sizeof *waits->signals, by_end);
}

/* The one thread that signalled when the wait ended; NL_NULL_ROW for none or several. */
static uint32_t waker_of(const struct nl_waitfor *waits, uint32_t wait)
{
    const struct nl_trace *trace = waits->trace;
    uint32_t thread = thread_of(trace, wait), found = NL_NULL_ROW;
    int64_t end = nl_slice_end(trace, wait);
    if (trace->slice.dur[wait] == NL_NULL_I64 ||
        !ends_by_signal(nl_trace_name(trace, trace->slice.name[wait])))
        return NL_NULL_ROW;
    size_t low = NL_FIRST(i, 0, waits->signal_count, waits->signals[i].end >= end - SIGNAL_NS);
    for (; low < waits->signal_count && waits->signals[low].end <= end + SIGNAL_NS; low++) {
        const struct nl_waitfor_signal *signal = &waits->signals[low];
        if (signal->start > end || signal->thread == thread ||
            trace->thread.process[signal->thread] != trace->thread.process[thread])
            continue;
        if (found != NL_NULL_ROW && found != signal->thread)
            return NL_NULL_ROW;
        found = signal->thread;
    }
    return found;
}

/* ---- Questions ---- */

void nl_waitfor_init(struct nl_waitfor *waits, const struct nl_trace *trace, struct nl_host *host,
                     struct nl_offcpu *off)
{
    *waits = (struct nl_waitfor){.trace = trace, .host = host, .off = off};
    waits->forward = nl_no_rows(trace->thread.rows);
    if (!pair_by_arrows(waits))
        pair_by_numbers(waits);
    list_engines(waits);
    list_signals(waits);
}

void nl_waitfor_release(struct nl_waitfor *waits)
{
    nl_free(waits->forward);
    nl_free(waits->engines);
    nl_free(waits->first);
    nl_free(waits->signals);
    *waits = (struct nl_waitfor){0};
}

/* What a thread does that may be why another waits: not nothing, and not waiting itself. */
static uint32_t work_at(struct nl_waitfor *waits, uint32_t thread, int64_t ts, int64_t *until)
{
    int64_t end;
    uint32_t slice = nl_host_at(waits->host, thread, ts, &end);
    if (end < *until)
        *until = end;
    return nl_offcpu_is_wait(waits->off, slice) ? NL_NULL_ROW : slice;
}

static bool is_run_backward(const struct nl_waitfor *waits, uint32_t slice)
{
    return waits->trace->slice.kind[slice] == NL_KIND_PYTHON &&
           nl_str_contains(nl_trace_name(waits->trace, waits->trace->slice.name[slice]),
                           "run_backward");
}

/* In a range, or in run_backward, a thread may well wait. */
static bool may_wait(const struct nl_waitfor *waits, uint32_t slice)
{
    return slice == NL_NULL_ROW || waits->trace->slice.kind[slice] == NL_KIND_NVTX ||
           nl_offcpu_is_wait(waits->off, slice) || is_run_backward(waits, slice);
}

/* The thread of a backward pass, without work: what its forward thread has begun since. */
static uint32_t forward_work(struct nl_waitfor *waits, uint32_t engine, int64_t ts, int64_t *until)
{
    int64_t free_until;
    uint32_t work = work_at(waits, waits->forward[engine], ts, until);
    if (work == NL_NULL_ROW || may_wait(waits, work))
        return NL_NULL_ROW;
    uint32_t before = nl_host_at(waits->host, engine, waits->trace->slice.ts[work], &free_until);
    return before == NL_NULL_ROW && free_until > ts ? work : NL_NULL_ROW;
}

/* A thread inside backward(): the one engine of its passes that works. */
static uint32_t backward_work(struct nl_waitfor *waits, uint32_t thread, int64_t ts, int64_t *until)
{
    uint32_t found = NL_NULL_ROW, first = waits->first[thread], last = waits->first[thread + 1];
    for (uint32_t i = first; i < last && last - first <= MAX_ENGINES; i++) {
        uint32_t work = work_at(waits, waits->engines[i], ts, until);
        if (work != NL_NULL_ROW && found != NL_NULL_ROW)
            return NL_NULL_ROW;
        if (work != NL_NULL_ROW)
            found = work;
    }
    return found;
}

uint32_t nl_waitfor_slice(struct nl_waitfor *waits, uint32_t thread, uint32_t slice, int64_t ts,
                          int64_t *until)
{
    uint32_t work = NL_NULL_ROW;
    if (thread >= waits->trace->thread.rows || !may_wait(waits, slice))
        return NL_NULL_ROW;
    if (waits->forward[thread] != NL_NULL_ROW)
        work = slice == NL_NULL_ROW ? forward_work(waits, thread, ts, until) : NL_NULL_ROW;
    else
        work = backward_work(waits, thread, ts, until);
    if (work == NL_NULL_ROW && waits->signal_count && nl_offcpu_is_wait(waits->off, slice)) {
        uint32_t waker = waker_of(waits, slice);
        work = waker == NL_NULL_ROW ? NL_NULL_ROW : work_at(waits, waker, ts, until);
    }
    return work;
}

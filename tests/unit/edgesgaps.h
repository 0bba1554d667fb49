/*
 * edgesgaps — made-up profiles of a device that waits for the CPU: a frame of rounds, some of which
 * end in a gap of given length in which the CPU does something given. For test_edges; times in
 * microseconds. See edges.h.
 */
#ifndef EDGESGAPS_H
#define EDGESGAPS_H

#include "edgescopies.h"

/* What the CPU does in a gap from `start` on (the device's time begins at AT). */
typedef void edge_doing(struct gputrace *make, const char *name, int64_t start, int64_t len);

struct edge_frame {
    int64_t rounds, period; /* 100 of 1000 */
    int64_t kernel;         /* µs of each kernel; 0: one a round */
    int64_t delay; /* from the return of a launch to its kernel; 0: launched as it begins */
    int64_t first; /* round of the first gap */
    edge_doing *doing;
    const char *name; /* of what it does */
};

static inline int64_t edge_part(int64_t total, int64_t count, int64_t i)
{
    return i < count ? total / count + (i < total % count) : 0;
}

/* `count` gaps, of `total` µs in all. */
static inline void edge_gaps(struct gputrace *make, struct edge_frame frame, int64_t count,
                             int64_t total)
{
    int64_t rounds = frame.rounds ? frame.rounds : 100, period = frame.period ? frame.period : 1000;
    for (int64_t i = 0; i < rounds; i++) {
        int64_t gap = i < frame.first ? 0 : edge_part(total, count, i - frame.first);
        int64_t at = i * period, end = at + period - gap;
        int64_t dur = frame.kernel ? frame.kernel : period;
        for (int64_t k = at; k < end; k += dur) {
            int64_t call = AT + k - (frame.delay ? frame.delay + 1 : 0);
            gputrace_kernel(make, 7, "elementwise_kernel", call, 1, AT + k,
                            k + dur < end ? dur : end - k);
        }
        if (gap && frame.doing)
            frame.doing(make, frame.name, AT + end, gap);
    }
}

/* ---- What the CPU does ---- */

static inline void edge_op(struct gputrace *make, const char *name, int64_t start, int64_t len)
{
    gputrace_op(make, name, start, len);
}
static inline void edge_call(struct gputrace *make, const char *name, int64_t start, int64_t len)
{
    gputrace_call(make, name, start, len);
}
/* Waits for the device from 500 µs before the gap on. */
static inline void edge_wait(struct gputrace *make, const char *name, int64_t start, int64_t len)
{
    (void)len;
    gputrace_call(make, name, start - 500, 501);
}
static inline void edge_wait_for_copy(struct gputrace *make, const char *name, int64_t start,
                                      int64_t len)
{
    (void)len;
    gputrace_copy(make, 8, (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, 4096, name},
                  start - 500, 501, start - 100, 100);
}

/* ---- Rows ---- */

static inline void edge_idle(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.doing = edge_op, .name = arg}, 50, x);
}
/* x µs from the first work to the last, half of them idle. */
static inline void edge_idle_span(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_late(make, "h16816gemm", 0, 100);
    edge_late(make, "h16816gemm", x - 100, 100);
}
static inline void edge_waits(struct gputrace *make, int64_t x, const char *call)
{
    edge_gaps(make, (struct edge_frame){.doing = edge_wait, .name = call}, 50, x);
}
static inline void edge_copy_waits(struct gputrace *make, int64_t x, const char *call)
{
    edge_gaps(make, (struct edge_frame){.doing = edge_wait_for_copy, .name = call}, 50, x);
}
/* 20 gaps of 500 µs, each after a wait of x: no more than that could have been hidden. */
static inline void edge_wait_length(struct gputrace *make, int64_t x, const char *call)
{
    for (int64_t i = 0; i < 100; i++) {
        int64_t gap = i < 20 ? 500 : 0;
        edge_late(make, "h16816gemm", i * 1000, 1000 - gap);
        if (gap)
            gputrace_call(make, call, AT + i * 1000 + 501 - x, x);
    }
}
/* A copy of `bytes` back at the end of a kernel, and a wait for it. */
static inline void edge_readback(struct gputrace *make, int64_t total, uint64_t bytes)
{
    struct gputrace_copy back = {NL_COPY_DTOH, NL_MEMORY_PINNED, bytes, NULL};
    for (int64_t i = 0; i < 100; i++) {
        int64_t gap = edge_part(total, 50, i), end = i * 1000 + 1000 - gap;
        edge_late(make, "h16816gemm", i * 1000, 1000 - gap - (gap ? 10 : 0));
        if (!gap)
            continue;
        gputrace_copy(make, 7, back, AT + end - 600, 1, AT + end - 10, 10);
        gputrace_call(make, "cudaStreamSynchronize", AT + end - 500, 501);
    }
}
static inline void edge_scalars(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_readback(make, x, 4);
}
static inline void edge_scalar_bytes(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_readback(make, 10000, (uint64_t)x);
}

/* x µs in 50 gaps after the first fifth, in which a call or an operator of that name runs. */
static inline void edge_called(struct gputrace *make, int64_t x, const char *call)
{
    edge_gaps(make, (struct edge_frame){.first = 30, .doing = edge_call, .name = call}, 50, x);
}
static inline void edge_called_times(struct gputrace *make, int64_t x, const char *call)
{
    edge_gaps(make, (struct edge_frame){.first = 30, .doing = edge_call, .name = call}, x, 5000);
}
static inline void edge_named_op(struct gputrace *make, int64_t x, const char *name)
{
    edge_gaps(make, (struct edge_frame){.first = 30, .doing = edge_op, .name = name}, 50, x);
}
static inline void edge_named_op_times(struct gputrace *make, int64_t x, const char *name)
{
    edge_gaps(make, (struct edge_frame){.first = 30, .doing = edge_op, .name = name}, x, 5000);
}
/* The same within a second. */
static inline void edge_called_long(struct gputrace *make, int64_t x, const char *call)
{
    edge_gaps(make,
              (struct edge_frame){.period = 10000, .first = 30, .doing = edge_call, .name = call},
              50, x);
}
/* `more` gaps at the end and one from x on, of 1200 µs each; in each the call. */
static inline void edge_from(struct gputrace *make, int64_t x, int64_t more, edge_doing *doing,
                             const char *name)
{
    edge_late(make, "h16816gemm", 0, x);
    doing(make, name, AT + x, 1200);
    int64_t at = x + 1200, rest = 60000;
    edge_late(make, "h16816gemm", at, rest - at);
    for (int64_t i = 0; i < more; i++) {
        doing(make, name, AT + rest + i * 2000, 1200);
        edge_late(make, "h16816gemm", rest + i * 2000 + 1200, 800);
    }
    edge_late(make, "h16816gemm", rest + more * 2000, LONG - rest - more * 2000);
}
static inline void edge_called_from(struct gputrace *make, int64_t x, const char *call)
{
    edge_from(make, x, 9, edge_call, call);
}
static inline void edge_called_once_from(struct gputrace *make, int64_t x, const char *call)
{
    edge_from(make, x, 0, edge_call, call);
}
static inline void edge_op_from(struct gputrace *make, int64_t x, const char *name)
{
    edge_from(make, x, 2, edge_op, name);
}

#endif

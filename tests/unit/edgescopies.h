/* edgescopies — made-up profiles of few blocks and of many copies, with one number in them that a
 * threshold is about. For test_edges; times in microseconds. See edges.h. */
#ifndef EDGESCOPIES_H
#define EDGESCOPIES_H

#include "edges.h"

/* ---- Grids: a device of 4 multiprocessors ---- */

static inline void edge_grids(struct gputrace *make, int64_t kernels, int64_t dur, uint32_t blocks)
{
    dev_named(make, "NVIDIA GPU", 4, 8, 0);
    for (int64_t i = 0; i < kernels; i++)
        dev_grid(make, 7, AT + i * dur, dur, blocks);
    edge_kernel(make, 7, "h16816gemm", kernels * dur, LONG - kernels * dur);
}
/* One kernel of x µs and two blocks: half of the device is empty. */
static inline void edge_grid_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_grids(make, 1, x, 2);
}
static inline void edge_grid_blocks(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_grids(make, 1, LONG, (uint32_t)x);
}
static inline void edge_grid_short(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_grids(make, 1000, x, 1);
}

/* ---- Many copies ---- */

/* `once` of them before the first kernel, of 1 µs. */
static inline void edge_copies(struct gputrace *make, int64_t count, int64_t once, uint64_t bytes,
                               int64_t span)
{
    int64_t dur = 20;
    for (int64_t i = 0; i < count; i++)
        edge_copy(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, bytes, NULL},
                  i * dur + (i >= once), dur);
    edge_kernel(make, 7, "h16816gemm", once * dur, 1);
    edge_kernel(make, 7, "h16816gemm", count * dur + 1, span - count * dur - 1);
}
/* "once": all before the first kernel; "partly": x of 600. */
static inline void edge_copy_count(struct gputrace *make, int64_t x, const char *when)
{
    bool partly = !strcmp(when, "partly");
    edge_copies(make, partly ? 600 : x, *when ? x : 0, 4096, LONG);
}
static inline void edge_copy_bytes(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_copies(make, 600, 0, (uint64_t)x, LONG);
}
/* 600 copies, 10 µs each, in x µs. */
static inline void edge_copy_span(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_copies(make, 600, 0, 4096, x);
}
static inline void edge_copies_in_steps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    gputrace_step(make, 0, 10000);
    gputrace_step(make, 10000, 20000);
    edge_copies(make, x, 0, 4096, 20000);
}
/* 300 copies before two steps, and x in them, each launched when it runs. */
static inline void edge_copies_too(struct gputrace *make, int64_t x, const char *arg)
{
    static const struct gputrace_copy small = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4096, NULL};
    (void)arg;
    for (int64_t i = 0; i < 300; i++)
        gputrace_copy(make, 7, small, AT + i * 20, 1, AT + i * 20 + 1, 19);
    for (int64_t step = 0; step < 2; step++) {
        int64_t at = AT + 6000 + step * 10000, copies = (x + step) / 2;
        gputrace_step(make, at, 10000);
        for (int64_t i = 0; i < copies; i++)
            gputrace_copy(make, 7, small, at + i * 20 + 1, 1, at + i * 20 + 2, 19);
        gputrace_kernel(make, 7, "h16816gemm", at + 5000, 1, at + 5001, 4990);
    }
}
/* x copies before two steps. */
static inline void edge_copies_before(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    gputrace_step(make, AT + x * 20, 10000);
    gputrace_step(make, AT + x * 20 + 10000, 10000);
    edge_copies(make, x, x, 4096, x * 20 + 20000);
}
/* Pairs of copies there and back: `pairs` of 1 + 1 µs, the first longer. */
static inline void edge_trips(struct gputrace *make, int64_t pairs, int64_t total, uint64_t bytes)
{
    int64_t at = 0;
    for (int64_t i = 0; i < 2 * pairs; i++) {
        int64_t dur = i ? 1 : total - 2 * pairs + 1;
        edge_copy(make,
                  (struct gputrace_copy){i % 2 ? NL_COPY_HTOD : NL_COPY_DTOH, NL_MEMORY_PINNED,
                                         bytes, NULL},
                  at, dur);
        at += dur;
    }
    edge_kernel(make, 7, "h16816gemm", at, LONG - at);
}
static inline void edge_trip_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_trips(make, 10, x, 1 << 20);
}
static inline void edge_trip_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_trips(make, x, 5000, 1 << 20);
}
static inline void edge_trip_bytes(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_trips(make, 10, 5000, (uint64_t)x);
}

#endif

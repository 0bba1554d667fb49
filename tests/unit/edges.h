/*
 * edges — made-up profiles with one number in them that a threshold is about: the copies of a
 * device, its collectives, kernels, launches and gaps. Each takes the number as `x`; rows of
 * edges*.def say at which x a cause begins. For test_edges; times in microseconds.
 *
 * Where shares matter the device's time is LONG µs from first to last, so that x is a share of it.
 */
#ifndef EDGES_H
#define EDGES_H

#include "plantedall.h"

#define LONG 100000 /* µs from the first work to the last */
#define AT   1000   /* where the device begins */

/* ---- Pieces ---- */

/* Launched long before, on a stream of its own. */
static inline void edge_kernel(struct gputrace *make, int64_t stream, const char *name, int64_t at,
                               int64_t dur)
{
    if (dur > 0)
        gputrace_kernel(make, stream, name, 1, 1, AT + at, dur);
}

/* Launched when it begins: the device waits for it. */
static inline void edge_late(struct gputrace *make, const char *name, int64_t at, int64_t dur)
{
    if (dur > 0)
        gputrace_kernel(make, 7, name, AT + at, 1, AT + at, dur);
}

static inline void edge_copy(struct gputrace *make, struct gputrace_copy copy, int64_t at,
                             int64_t dur)
{
    if (dur > 0)
        gputrace_copy(make, 7, copy, 1, 1, AT + at, dur);
}

/* ---- One piece of x, then kernels ---- */

static inline void edge_copy_first(struct gputrace *make, struct gputrace_copy copy, int64_t x)
{
    edge_copy(make, copy, 0, x);
    edge_kernel(make, 7, "h16816gemm", x, LONG - x);
}
/* Between two kernels; "once": before the first; "partly": x before the first, and 10
 * ms less that between two. */
static inline void edge_copy_when(struct gputrace *make, struct gputrace_copy copy, int64_t x,
                                  const char *when)
{
    bool partly = !strcmp(when, "partly");
    int64_t first = partly || !strcmp(when, "once") ? x : 0;
    int64_t later = partly ? 10000 - x : x - first;
    int64_t before = first && !later ? 0 : (LONG - first - later) / 2, at = first + before;
    edge_copy(make, copy, 0, first);
    edge_kernel(make, 7, "h16816gemm", first, before);
    edge_copy(make, copy, at, later);
    edge_kernel(make, 7, "h16816gemm", at + later, LONG - at - later);
}
static inline void edge_h2d(struct gputrace *make, int64_t x, const char *when)
{
    edge_copy_when(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 1 << 30, NULL}, x,
                   when);
}
static inline void edge_d2h(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_copy_first(make, (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, 1 << 30, NULL}, x);
}
static inline void edge_pageable(struct gputrace *make, int64_t x, const char *when)
{
    edge_copy_when(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 1 << 20, NULL}, x,
                   when);
}
static inline void edge_migrated(struct gputrace *make, int64_t x, const char *kind)
{
    edge_copy_first(make,
                    (struct gputrace_copy){!strcmp(kind, "in")    ? NL_COPY_UVM_HTOD
                                           : !strcmp(kind, "out") ? NL_COPY_UVM_DTOH
                                                                  : NL_COPY_UVM_DTOD,
                                           NL_MEMORY_MANAGED, 1 << 20, NULL},
                    x);
}

/* At 5 of the 12 GB/s that a link has of which nothing is known: 7/12 of the time is lost. */
static inline void edge_slow_copy(struct gputrace *make, int64_t x, const char *when)
{
    uint64_t bytes = 5000 * (uint64_t)(!strcmp(when, "partly") ? 5000 : x);
    edge_copy_when(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, bytes, NULL}, x,
                   when);
}
/* x bytes in 10 ms on the device of that name. */
static inline void edge_rate(struct gputrace *make, int64_t x, const char *device)
{
    if (*device)
        nl_builder_device_row(make->builder, make->device)->name =
            nl_builder_name(make->builder, nl_str(device));
    edge_copy_first(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, (uint64_t)x, NULL},
                    10000);
}

static inline void edge_comm(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 20, "ncclDevKernel_AllReduce_Sum", 0, x);
    edge_kernel(make, 7, "h16816gemm", x, LONG - x);
}
static inline void edge_comm_same(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 7, "ncclDevKernel_AllReduce_Sum", 0, x);
    edge_kernel(make, 7, "h16816gemm", x, LONG - x);
}
/* x of 20 ms of communication on the stream of the kernels. */
static inline void edge_comm_part(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 7, "ncclDevKernel_AllReduce_Sum", 0, x);
    edge_kernel(make, 20, "ncclDevKernel_AllReduce_Sum", x, 20000 - x);
    edge_kernel(make, 7, "h16816gemm", 20000, LONG - 20000);
}
/* 10 ms of communication at the end of a stream that has x of other work, beside
 * kernels of another stream. */
static inline void edge_comm_little(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 8, "h16816gemm", 0, x);
    edge_kernel(make, 7, "softmax", 0, LONG - 10000);
    edge_kernel(make, 8, "ncclDevKernel_AllReduce_Sum", LONG - 10000, 10000);
}

/* One kernel of that name, of x, and others. */
static inline void edge_named(struct gputrace *make, int64_t x, const char *name)
{
    edge_kernel(make, 7, name, 0, x);
    edge_kernel(make, 7, "h16816gemm", x, LONG - x);
}
static inline void edge_double(struct gputrace *make, int64_t x, const char *name)
{
    dev_named(make, "NVIDIA GeForce RTX 3090", 84, 8, 6);
    edge_named(make, x, name);
}
/* x: ten times the major and the minor version. */
static inline void edge_capability(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    dev_named(make, "NVIDIA GPU", 84, (uint32_t)(x / 10), (uint32_t)(x % 10));
    edge_named(make, LONG / 2, "cutlass_80_simt_dgemm_128x64_nn");
}
static inline void edge_cores(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    dev_named(make, "NVIDIA GPU", 84, (uint32_t)(x / 10), (uint32_t)(x % 10));
    edge_named(make, LONG / 2, "volta_sgemm_128x64_nn");
}
/* x kernels of that name, a hundredth of the time each, then one other. */
static inline void edge_many_named(struct gputrace *make, int64_t x, const char *name)
{
    for (int64_t i = 0; i < x; i++)
        edge_kernel(make, 7, name, i * LONG / 100, LONG / 100);
    edge_kernel(make, 7, "h16816gemm", x * LONG / 100, LONG - x * LONG / 100);
}
/* 20 kernels of that name: 19 of 1 µs and one of the rest of x. */
static inline void edge_twenty_named(struct gputrace *make, int64_t x, const char *name)
{
    for (int64_t i = 0; i < 19; i++)
        edge_kernel(make, 7, name, i, 1);
    edge_kernel(make, 7, name, 19, x - 19);
    edge_kernel(make, 7, "h16816gemm", x, LONG - x);
}

#endif

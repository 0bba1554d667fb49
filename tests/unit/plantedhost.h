/*
 * plantedhost — made-up profiles with one thing wrong with their communication or with what
 * the CPU does, or with something that only looks like it. For test_findings and
 * test_sureness; times in microseconds.
 */
#ifndef PLANTEDHOST_H
#define PLANTEDHOST_H

#include "planted.h"

/* ---- Communication ---- */

static inline void add_comm(struct gputrace *make, int64_t stream, int64_t start, int64_t dur)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 4, 100 + i * 1500, 1000);
        gputrace_kernel(make, stream, "ncclDevKernel_AllReduce_Sum", i * 5 + 2, 1,
                        100 + i * 1500 + start, dur);
    }
}

static inline void comm_exposed(struct gputrace *make)
{
    add_comm(make, 20, 1000, 500);
}

static inline void comm_hidden(struct gputrace *make)
{
    add_comm(make, 20, 100, 500);
}

static inline void comm_only(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 20, "ncclDevKernel_AllReduce_Sum", i * 5, 1, i * 1500 + 10, 500);
}

static inline void comm_same_stream(struct gputrace *make)
{
    add_comm(make, 7, 1000, 500);
}

/* ---- The host ---- */

static inline void add_fetch(struct gputrace *make, const char *name, int64_t fetch, int64_t pause)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = i * (1000 + pause);
        gputrace_kernel(make, 7, "h16816gemm", at, 4, at + 10, 1000);
        gputrace_op(make, name, at + 20, fetch);
    }
}

static inline void fetch_late(struct gputrace *make)
{
    add_fetch(make, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1400, 500);
}

static inline void fetch_hidden(struct gputrace *make)
{
    add_fetch(make, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 900, 50);
}

static inline void something_late(struct gputrace *make)
{
    add_fetch(make, "evaluate", 1400, 500);
}

static inline void add_calls(struct gputrace *make, const char *name, int64_t first, int64_t count)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = i * 1500;
        gputrace_kernel(make, 7, "h16816gemm", at, 4, at + 10, 1000);
        if (i >= first && i < first + count)
            gputrace_call(make, name, at + 1020, 470);
    }
}

static inline void allocates(struct gputrace *make)
{
    add_calls(make, "cudaMalloc", 0, ROUNDS);
}

static inline void allocates_first(struct gputrace *make)
{
    add_calls(make, "cudaMalloc", 0, ROUNDS / 6);
}

static inline void allocates_async(struct gputrace *make)
{
    add_calls(make, "cudaMallocAsync", 0, ROUNDS);
}

static inline void loads_code(struct gputrace *make)
{
    add_calls(make, "cuModuleLoadDataEx", 20, 30);
}

static inline void loads_first(struct gputrace *make)
{
    add_calls(make, "cuModuleLoadDataEx", 0, ROUNDS / 6);
}

static inline void unlinked(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "h16816gemm", i < 20 ? -1 : i * 5, 4, 100 + i * 1000, 1000);
}

static inline void no_calls(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "h16816gemm", -1, 0, 100 + i * 1000, 1000);
}

#endif

/*
 * plantedweights — made-up profiles that upload weights, or fetch results, once, before the first
 * kernel or step. For test_findings; times in microseconds.
 */
#ifndef PLANTEDWEIGHTS_H
#define PLANTEDWEIGHTS_H

#include "planted.h"

/* `count` such copies in a row, of `dur` µs each, then kernels. */
static inline void add_weights(struct gputrace *make, struct gputrace_copy copy, int64_t count,
                               int64_t dur)
{
    for (int64_t i = 0; i < count; i++)
        gputrace_copy(make, 7, copy, 10 + i * dur, 4, 20 + i * dur, dur);
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "h16816gemm", 10 + count * dur + i * 5, 4,
                        count * dur + 1000 + i * 1000, 1000);
}

static inline void weights_pageable(struct gputrace *make)
{
    add_weights(make, pageable_in, 20, 1000);
}

static inline void weights_slow(struct gputrace *make)
{
    add_weights(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 5000000, NULL}, 20,
                2000);
}

static inline void weights_small(struct gputrace *make)
{
    add_weights(make, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 4000, NULL}, 700, 20);
}

/* Results of a warm-up are fetched before the first of six steps, each of 3 ms. */
static inline void results_first(struct gputrace *make, struct gputrace_copy copy)
{
    for (int64_t i = 0; i < 4; i++) {
        gputrace_kernel(make, 7, "h16816gemm", 10 + i * 3000, 4, 20 + i * 3000, 10);
        gputrace_copy(make, 7, copy, 31 + i * 3000, 4, 40 + i * 3000, 2500);
    }
    for (int64_t step = 0; step < 6; step++) {
        int64_t at = 13000 + step * 3000;
        gputrace_step(make, at, 3000);
        gputrace_kernel(make, 7, "h16816gemm", at + 10, 4, at + 20, 2900);
    }
}

static inline void results_pinned(struct gputrace *make)
{
    results_first(make, (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, 50000000, NULL});
}

static inline void results_slow(struct gputrace *make)
{
    results_first(make, (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, 5000000, NULL});
}

static inline void results_pageable(struct gputrace *make)
{
    results_first(make, (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PAGEABLE, 50000000, NULL});
}

/* What is fetched before the first step is uploaded again. */
static inline void results_return(struct gputrace *make)
{
    static const struct gputrace_copy in = {NL_COPY_HTOD, NL_MEMORY_PINNED, 9000000, NULL},
                                      out = {NL_COPY_DTOH, NL_MEMORY_PINNED, 9000000, NULL};
    gputrace_kernel(make, 7, "h16816gemm", 10, 4, 20, 10);
    for (int64_t i = 0; i < 20; i++)
        gputrace_copy(make, 7, i % 2 ? in : out, 30 + i * 500, 4, 40 + i * 500, 400);
    for (int64_t step = 0; step < 6; step++) {
        int64_t at = 13000 + step * 3000;
        gputrace_step(make, at, 3000);
        gputrace_kernel(make, 7, "h16816gemm", at + 10, 4, at + 20, 2900);
    }
}

/* 400 of them before six steps, of which each has five more. */
static inline void weights_small_steps(struct gputrace *make)
{
    static const struct gputrace_copy small = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4000, NULL};
    for (int64_t i = 0; i < 400; i++)
        gputrace_copy(make, 7, small, 10 + i * 20, 4, 20 + i * 20, 15);
    for (int64_t step = 0; step < 6; step++) {
        int64_t at = 10000 + step * 2000;
        gputrace_step(make, at, 2000);
        for (int64_t i = 0; i < 5; i++)
            gputrace_copy(make, 7, small, at + 5 + i * 20, 4, at + 10 + i * 20, 15);
        gputrace_kernel(make, 7, "h16816gemm", at + 120, 4, at + 130, 1800);
    }
}

#endif

/*
 * planted_cpu_before_work — a step that begins with work of the CPU, as cause_cpu_before_work.c
 * finds it, and profiles that only look like it. For test_findings; times in microseconds.
 */
#ifndef PLANTED_CPU_BEFORE_WORK_H
#define PLANTED_CPU_BEFORE_WORK_H

#include "planted.h"

/* One step: `before` of an operator of the CPU, then kernels back to back. */
static inline void cpu_before_work_step(struct gputrace *make, int64_t before, bool marked,
                                        int64_t kernels)
{
    if (marked)
        gputrace_step(make, 0, before + kernels * 1000 + 200);
    gputrace_op(make, "processor::decode_images", 10, before - 20);
    for (int64_t i = 0; i < kernels; i++)
        gputrace_kernel(make, 7, i % 2 ? "h16816gemm" : "softmax", before + i * 10, 4,
                        before + 100 + i * 1000, 1000);
}

static inline void cpu_before_work_much(struct gputrace *make)
{
    cpu_before_work_step(make, 20000, true, 20);
}

static inline void cpu_before_work_little(struct gputrace *make)
{
    cpu_before_work_step(make, 2000, true, 60);
}

/* Short pieces of it are dispatch, as everywhere. */
static inline void cpu_before_work_short(struct gputrace *make)
{
    cpu_before_work_step(make, 500, true, 4);
}

/* Nothing says that it belongs to a step: it may be start-up, which is paid once. */
static inline void cpu_before_work_unmarked(struct gputrace *make)
{
    cpu_before_work_step(make, 20000, false, 20);
}

/* The operator runs while the device works. */
static inline void cpu_before_work_beside(struct gputrace *make)
{
    gputrace_step(make, 0, 40400);
    for (int64_t i = 0; i < 40; i++)
        gputrace_kernel(make, 7, i % 2 ? "h16816gemm" : "softmax", 10 + i * 10, 4, 100 + i * 1000,
                        1000);
    gputrace_op(make, "processor::decode_images", 500, 20000);
}

#endif

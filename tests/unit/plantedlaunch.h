/*
 * plantedlaunch — made-up profiles with one thing wrong with their launches or clocks, or with
 * something that only looks like it. For test_findings and test_sureness; times in microseconds.
 */
#ifndef PLANTEDLAUNCH_H
#define PLANTEDLAUNCH_H

#include "planted.h"

/* ---- Clocks ---- */

static inline void work_before_launch(struct gputrace *make)
{
    for (int64_t i = 0; i < 100; i++) /* every tenth 3 us too early */
        gputrace_kernel(make, 7, "gemm", i * 100, 4, i * 100 + (i % 10 ? 6 : -3), 60);
}

static inline void with_error(struct gputrace *make, const char *error)
{
    busy(make); /* kernels of 1 ms */
    nl_builder_meta(make->builder, make->source, "clock error (ns)", nl_str(error));
}

static inline void clock_error(struct gputrace *make)
{
    with_error(make, "20000");
}

static inline void small_clock_error(struct gputrace *make)
{
    with_error(make, "5000");
}

/* ---- Launching ---- */

static inline void small_kernels(struct gputrace *make, bool late)
{
    for (int64_t i = 0; i < 400; i++) {
        gputrace_op(make, "aten::add", i * 30, 28);
        gputrace_kernel(make, 7, "elementwise_kernel", i * 30 + 20, 4,
                        late ? i * 30 + 26 : 20000 + i * 30, late ? 4 : 29);
    }
}

static inline void tiny_and_late(struct gputrace *make)
{
    small_kernels(make, true);
}

static inline void tiny_and_queued(struct gputrace *make)
{
    for (int64_t i = 0; i < 400; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 3, 2, 5000 + i * 5, 5);
}

static inline void large_and_queued(struct gputrace *make)
{
    small_kernels(make, false);
}

/* Kernels of 20 µs, operators of 40: dispatch is the limit though kernels are not tiny. */
static inline void slow_operators(struct gputrace *make)
{
    for (int64_t i = 0; i < 400; i++) {
        gputrace_op(make, "aten::linear", i * 60, 58);
        gputrace_kernel(make, 7, "elementwise_kernel", i * 60 + 40, 4, i * 60 + 46, 20);
    }
}

static inline void slow_launches(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 100, 60, i * 100 + 62, 38);
}

/* As long, but the queue is full and the device never idle. */
static inline void queue_full(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 300, 290, 5000 + i * 300, 300);
}

static inline void one_slow_launch(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 100 + (i > 5 ? 9000 : 0),
                        i == 5 ? 9000 : 5, i * 100 + (i > 4 ? 9010 : 10), 80);
}

static inline void pauses(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 2, 1, 1000 + i * 50, 40);
}

static inline void long_pauses(struct gputrace *make)
{
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(make, 7, "elementwise_kernel", i * 2, 1, 1000 + i * 150, 40);
}

static inline void add_steps(struct gputrace *make, bool alike, bool graphs)
{
    static const char *const names[] = {"elementwise_kernel", "reduce_kernel", "softmax",
                                        "layer_norm"};
    for (int64_t step = 0; step < 4; step++) {
        gputrace_step(make, step * 12100, 12050);
        for (int64_t i = 0; i < 300; i++) {
            int64_t at = step * 12100 + i * 40;
            gputrace_op(make, "aten::add", at, 38);
            gputrace_kernel(make, 7, names[(i + (alike ? 0 : step * i)) % 4], at + 20, 4, at + 26,
                            12);
        }
    }
    if (graphs)
        gputrace_call(make, "cudaGraphLaunch", 4 * 12100 + 10, 5);
}

static inline void same_steps(struct gputrace *make)
{
    add_steps(make, true, false);
}

static inline void other_steps(struct gputrace *make)
{
    add_steps(make, false, false);
}

static inline void graph_steps(struct gputrace *make)
{
    add_steps(make, true, true);
}

#endif

/*
 * plantedmemory — made-up profiles whose memory leaks or is fragmented, or that start for long, or
 * only look like it. For test_findings; times in microseconds.
 */
#ifndef PLANTEDMEMORY_H
#define PLANTEDMEMORY_H

#include "plantedcpu.h"

/* ---- memory ---- */

static inline void memory_at(struct gputrace *make, int64_t us, uint64_t allocated,
                             uint64_t reserved)
{
    struct nl_memory_row row = nl_memory_row();
    row.ts = gputrace_ns(make, us);
    row.lane = make->calls;
    row.bytes = 1024;
    row.device_type = 1;
    row.device = 0;
    row.total_allocated = allocated << 20;
    row.total_reserved = reserved << 20;
    nl_stage_memory(make->stage, &row);
}

static inline void memory_steps(struct gputrace *make)
{
    cpu_even(make);
    for (int64_t i = 0; i < 10; i++)
        gputrace_step(make, i * 6000, 6000);
}

static inline void memory_levels(struct gputrace *make, uint64_t step, uint64_t reserved)
{
    memory_steps(make);
    for (int64_t i = 0; i < 120; i++) /* up within each round and down again */
        memory_at(make, i * 500, 200 + (uint64_t)i * step + (uint64_t)(i % 3) * 50, reserved);
}
static inline void memory_leaks(struct gputrace *make)
{
    memory_levels(make, 3, 700);
}
static inline void memory_steady(struct gputrace *make)
{
    memory_levels(make, 0, 320);
}
/* Grows while the model is built, then stays. */
static inline void memory_builds(struct gputrace *make)
{
    memory_steps(make);
    for (int64_t i = 0; i < 120; i++)
        memory_at(make, i * 500, 200 + (uint64_t)(i < 25 ? i : 25) * 40 + (uint64_t)(i % 3) * 50,
                  1300);
}
/* Higher at the end than at the start, but it falls in between, as caches of several sizes do. */
static inline void memory_falls_between(struct gputrace *make)
{
    static const uint64_t levels[] = {200, 200, 220, 280, 240, 300, 260, 320};
    memory_steps(make);
    for (int64_t i = 0; i < 120; i++)
        memory_at(make, i * 500, levels[i / 15] + (uint64_t)(i % 3) * 50, 430);
}
static inline void memory_reserves(struct gputrace *make)
{
    memory_levels(make, 0, 900);
}
static inline void memory_reserves_little(struct gputrace *make)
{
    cpu_even(make);
    for (int64_t i = 0; i < 120; i++)
        memory_at(make, i * 500, 10, 60);
}

/* One pass through a model: what it keeps for its way back. */
static inline void memory_of_one_step(struct gputrace *make)
{
    cpu_even(make);
    for (int64_t i = 0; i < 120; i++)
        memory_at(make, i * 500, 200 + (uint64_t)i * 3 + (uint64_t)(i % 3) * 50, 700);
}

/* ---- start-up ---- */

static inline void starts_up(struct gputrace *make, int64_t start, int64_t steps)
{
    gputrace_call(make, "cudaFree", 0, start - 10);
    for (int64_t i = 0; i < steps; i++) {
        gputrace_step(make, start + i * 1000, 1000);
        gputrace_kernel(make, 7, "h16816gemm", start + i * 1000 + 1, 4, start + i * 1000 + 10, 980);
    }
}
static inline void starts_for_long(struct gputrace *make)
{
    starts_up(make, 400000, 40);
}
static inline void starts_quickly(struct gputrace *make)
{
    starts_up(make, 20000, 40);
}
static inline void starts_short_run(struct gputrace *make)
{
    starts_up(make, 60000, 20);
}

#endif

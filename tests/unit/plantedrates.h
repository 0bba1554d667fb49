/*
 * plantedrates — made-up profiles with doubles, copies there and back, collectives, recorded
 * stacks, or what only looks like it. For test_findings; times in microseconds.
 */
#ifndef PLANTEDRATES_H
#define PLANTEDRATES_H

#include "planteddevice.h"

/* ---- doubles ---- */

static inline void doubles_on(struct gputrace *make, const char *device, uint32_t major,
                              uint32_t minor, const char *kernel)
{
    dev_named(make, device, 84, major, minor);
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, kernel, i * 5, 4, 100 + i * 1000, 1000);
}
static inline void doubles_slow(struct gputrace *make)
{
    doubles_on(make, "NVIDIA GeForce RTX 3090", 8, 6, "cutlass_80_simt_dgemm_128x64_nn");
}
/* The same, waiting for memory: 32 bits halve the bytes, no more. */
static inline void doubles_by_bytes(struct gputrace *make)
{
    doubles_on(make, "NVIDIA GeForce RTX 3090", 8, 6,
               "gemv2T_kernel_val<int, int, double, double>");
}
static inline void doubles_fast(struct gputrace *make)
{
    doubles_on(make, "NVIDIA A100-SXM4-80GB", 8, 0, "cutlass_80_simt_dgemm_128x64_nn");
}
static inline void singles(struct gputrace *make)
{
    doubles_on(make, "NVIDIA GeForce RTX 3090", 8, 6, "cutlass_80_simt_sgemm_128x64_nn");
}

/* ---- there and back ---- */

static inline void trips(struct gputrace *make, uint64_t up, uint64_t down, int64_t stream)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        int64_t at = 1000 + i * 1400;
        gputrace_kernel(make, 7, "h16816gemm", i * 10, 2, at, stream == 7 ? 1000 : 1400);
        gputrace_copy(make, stream,
                      (struct gputrace_copy){NL_COPY_DTOH, NL_MEMORY_PINNED, up, NULL}, i * 10 + 3,
                      2, at + 1000, 200);
        gputrace_copy(make, stream,
                      (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, down, NULL},
                      i * 10 + 6, 2, at + 1200, 200);
    }
}
static inline void goes_and_comes(struct gputrace *make)
{
    trips(make, 1000000, 1000000, 7);
}
static inline void goes_elsewhere(struct gputrace *make)
{
    trips(make, 1000000, 2000000, 7);
}
static inline void goes_hidden(struct gputrace *make)
{
    trips(make, 1000000, 1000000, 8);
}

/* ---- collectives ---- */

static inline void collective_of(struct gputrace *make, int64_t call, int64_t at, int64_t dur,
                                 uint64_t bytes, uint32_t ranks)
{
    struct nl_collective_row row = nl_collective_row();
    row.slice = gputrace_kernel(make, 20, "ncclDevKernel_AllReduce_Sum", call, 1, at, dur);
    row.operation = nl_stage_name(make->stage, nl_str("all_reduce"));
    row.bytes = bytes;
    row.ranks = ranks;
    nl_stage_collective(make->stage, &row);
}
static inline void reduces(struct gputrace *make, int64_t usual, int64_t shortest, uint64_t bytes)
{
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 1, 1000 + i * 3000, 1000);
        collective_of(make, i * 5 + 2, 2000 + i * 3000, i % 10 ? usual : shortest, bytes, 8);
    }
}
/* A group of one rank: a copy within the device, which waits for nobody and uses no link. */
static inline void reduces_alone(struct gputrace *make, int64_t usual, int64_t shortest,
                                 uint64_t bytes)
{
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 1, 1000 + i * 3000, 1000);
        collective_of(make, i * 5 + 2, 2000 + i * 3000, i % 10 ? usual : shortest, bytes, 1);
    }
}
static inline void one_rank_varies(struct gputrace *make)
{
    reduces_alone(make, 900, 100, 1000000);
}
static inline void one_rank_is_slow(struct gputrace *make)
{
    reduces_alone(make, 1900, 1900, 32000000);
}
/* The first call connects the ranks, which takes as long as half of the profile. */
static inline void first_connects(struct gputrace *make)
{
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
    int64_t connecting = ROUNDS * 1000;
    collective_of(make, 2, 1000, connecting, 1000000, 8);
    for (int64_t i = 1; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 1, connecting + 1000 + i * 3000, 1000);
        collective_of(make, i * 5 + 2, connecting + 2000 + i * 3000, 900, 1000000, 8);
    }
}
static inline void ranks_are_late(struct gputrace *make)
{
    reduces(make, 900, 100, 1000000);
}
static inline void ranks_are_even(struct gputrace *make)
{
    reduces(make, 900, 900, 1000000);
}
static inline void reduces_slowly(struct gputrace *make)
{
    reduces(make, 1900, 1900, 32000000); /* 17 GB/s */
}
static inline void reduces_quickly(struct gputrace *make)
{
    reduces(make, 250, 250, 32000000); /* 224 GB/s on the bus of 300 */
}
static inline void reduces_little(struct gputrace *make)
{
    reduces(make, 900, 900, 100000);
}

/* ---- stacks ---- */

static inline void stacks(struct gputrace *make, int64_t frames, bool late)
{
    for (int64_t i = 0; i < 400; i++) {
        int64_t at = i * 60;
        gputrace_op(make, "aten::linear", at, 50);
        for (int64_t k = 0; k < frames; k++)
            cpu_python(make, "torch/nn/modules/module.py(1): _call_impl", at + 1 + k * 5, 4);
        gputrace_kernel(make, 7, "elementwise_kernel", at + 40, 4, late ? at + 46 : 40000 + i * 60,
                        late ? 20 : 59);
    }
}
static inline void stacks_and_late(struct gputrace *make)
{
    stacks(make, 8, true);
}
static inline void stacks_and_busy(struct gputrace *make)
{
    stacks(make, 8, false);
}
static inline void few_stacks(struct gputrace *make)
{
    stacks(make, 1, true);
}

static inline void collects_late(struct gputrace *make)
{
    add_busy(make, "h16816gemm", 1000, 300);
    for (int64_t i = 1; i < ROUNDS; i++)
        cpu_python(make, "gc.collect", i * 1300 - 280, 260);
}
static inline void collects_hidden(struct gputrace *make)
{
    add_busy(make, "h16816gemm", 1000, 300);
    for (int64_t i = 1; i < ROUNDS; i++)
        cpu_python(make, "gc.collect", i * 1300 + 100, 260);
}

/* Calls that copy and block, without a single copy. */
static inline void copies_unseen(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_call(make, "hipMemcpy", i * 1500 + 5, 490);
        gputrace_kernel(make, 7, "h16816gemm", i * 1500 + 496, 4, i * 1500 + 502, 990);
    }
}
/* The same where every second, or every one, is a kernel that copies. */
static inline void copies_are_kernels_each(struct gputrace *make, int64_t each)
{
    copies_unseen(make);
    for (int64_t i = 0; i < ROUNDS; i += each)
        gputrace_kernel(make, 8, "__amd_rocclr_copyBuffer", i * 1500 + 10, 5, i * 1500 + 20, 10);
}
static inline void copies_are_kernels(struct gputrace *make)
{
    copies_are_kernels_each(make, 1);
}
static inline void copies_are_half_kernels(struct gputrace *make)
{
    copies_are_kernels_each(make, 2);
}

#endif

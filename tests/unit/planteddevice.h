/*
 * planteddevice — made-up profiles with device work: graphs, loading, grids, unified memory,
 * collectives, copies there and more. For test_findings; times in microseconds.
 */
#ifndef PLANTEDDEVICE_H
#define PLANTEDDEVICE_H

#include "plantedmemory.h"

static inline void dev_named(struct gputrace *make, const char *name, uint32_t sms, uint32_t major,
                             uint32_t minor)
{
    struct nl_device_row *device = nl_builder_device_row(make->builder, make->device);
    device->name = nl_builder_name(make->builder, nl_str(name));
    device->sm_count = sms;
    device->compute_major = major;
    device->compute_minor = minor;
}

/* ---- grids ---- */

static inline void dev_grid(struct gputrace *make, int64_t stream, int64_t at, int64_t dur,
                            uint32_t blocks)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.correlation = ++make->correlation;
    gputrace_call_as(make, "cudaLaunchKernel", at / 100, 1, row.correlation);
    row.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, stream),
                               "my_kernel", at, dur);
    row.grid_x = blocks;
    row.grid_y = row.grid_z = 1;
    row.block_x = 256;
    row.block_y = row.block_z = 1;
    nl_stage_kernel(make->stage, &row);
}

static inline void grids(struct gputrace *make, uint32_t blocks, int64_t dur)
{
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
    for (int64_t i = 0; i < ROUNDS; i++)
        dev_grid(make, 7, 1000 + i * dur, dur, blocks);
}
static inline void grid_of_one(struct gputrace *make)
{
    grids(make, 1, 1000);
}
static inline void grid_of_many(struct gputrace *make)
{
    grids(make, 4096, 1000);
}
static inline void grid_of_one_short(struct gputrace *make)
{
    grids(make, 1, 10);
}
static inline void grid_of_one_beside(struct gputrace *make)
{
    grids(make, 1, 1000);
    for (int64_t i = 0; i < ROUNDS; i++)
        dev_grid(make, 8, 1000 + i * 1000, 1000, 4096);
}

/* ---- unified memory ---- */

static inline void migrates(struct gputrace *make, enum nl_copykind kind, int64_t at)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 4, 1000 + i * 1000, 800);
        gputrace_copy(make, 9, (struct gputrace_copy){kind, NL_MEMORY_MANAGED, 65536, NULL},
                      i * 5 + 1, 1, 1000 + i * 1000 + at, 100);
    }
}
static inline void migrates_exposed(struct gputrace *make)
{
    migrates(make, NL_COPY_UVM_HTOD, 850);
}
static inline void migrates_hidden(struct gputrace *make)
{
    migrates(make, NL_COPY_UVM_HTOD, 100);
}
static inline void copies_explicitly(struct gputrace *make)
{
    migrates(make, NL_COPY_HTOD, 850);
}

/* ---- loading ---- */

static inline void cold_launches(struct gputrace *make, int64_t count, int64_t begins)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        bool cold = i < count;
        int64_t at = i < count ? i * 3000 : count * 3000 + (i - count) * 1000;
        gputrace_kernel(make, 7, "h16816gemm", at, cold ? 2000 : 4, at + (cold ? begins : 10), 900);
    }
}
static inline void loads_lazily(struct gputrace *make)
{
    cold_launches(make, 12, 2005);
}
static inline void launches_warm(struct gputrace *make)
{
    cold_launches(make, 0, 0);
}
static inline void waits_for_queue(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++) /* calls are as long, the kernels begin much later */
        gputrace_kernel(make, 7, "h16816gemm", i * 2000, 1900, 20000 + i * 2000, 1990);
}

/* ---- graphs ---- */

static inline void replay(struct gputrace *make, int64_t call, int64_t at, int64_t pause)
{
    uint64_t correlation = ++make->correlation;
    gputrace_call_as(make, "cudaGraphLaunch", call, 5, correlation);
    for (int64_t k = 0; k < 4; k++) {
        struct nl_kernel_row row = nl_kernel_row();
        row.correlation = correlation;
        row.graph = 1;
        row.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7),
                                   "h16816gemm", at + k * (100 + pause), 100);
        nl_stage_kernel(make->stage, &row);
    }
}
static inline void replays_late(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        replay(make, i * 600, i * 600 + 10, 0);
}
static inline void replays_holey(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        replay(make, i * 10, 1000 + i * 480, 20);
}
/* Launched early; each begins 200 us after the one before, whatever it waits for. */
static inline void replays_held(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        replay(make, i * 10, 1000 + i * 600, 0);
}
static inline void replays_densely(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        replay(make, i * 10, 1000 + i * 400, 0);
}

/* ---- the allocator of PyTorch ---- */

static inline void allocates_per(struct gputrace *make, int64_t every, bool torch)
{
    for (int64_t i = 0; i < 400; i++) {
        int64_t at = i * 100;
        gputrace_op(make, torch ? "aten::add" : "add", at, 95);
        if (i % every == 0) {
            gputrace_call(make, "cudaMalloc", at + 1, 60);
            gputrace_call(make, "cudaFree", at + 62, 20);
        }
        gputrace_kernel(make, 7, "elementwise_kernel", at + 83, 4, at + 90, 8);
    }
}
static inline void allocates_each(struct gputrace *make)
{
    allocates_per(make, 1, true);
}
static inline void allocates_sometimes(struct gputrace *make)
{
    allocates_per(make, 20, true);
}
static inline void allocates_elsewhere(struct gputrace *make)
{
    allocates_per(make, 1, false);
}

#endif

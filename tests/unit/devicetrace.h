/*
 * devicetrace — small made-up GPU profiles for the tests of query and what is above it: two ranks,
 * threads that launch, streams that run kernels, copies, memsets and graphs (some overlap), ranges,
 * counters, and unknown values in every column that may have them. The same seed gives the same
 * trace.
 */
#ifndef DEVICETRACE_H
#define DEVICETRACE_H

#include "derive/derive.h"
#include "store/builder.h"

struct devicetrace {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t source, process, thread, device;
    uint64_t state;
    int64_t span; /* times lie in 0 .. span */
};

static inline uint64_t devicetrace_random(struct devicetrace *make, uint64_t below)
{
    make->state ^= make->state << 13;
    make->state ^= make->state >> 7;
    make->state ^= make->state << 17;
    return (make->state >> 11) % below;
}

static inline uint32_t devicetrace_lane(struct devicetrace *make, enum nl_lanekind kind,
                                        int64_t stream)
{
    struct nl_lane_key key = {.kind = kind,
                              .process = make->process,
                              .thread = stream < 0 ? make->thread : NL_NULL_ROW,
                              .device = stream < 0 ? NL_NULL_ROW : make->device,
                              .context = stream < 0 ? NL_NULL_I64 : 1,
                              .stream = stream < 0 ? NL_NULL_I64 : stream};
    return nl_builder_lane(make->builder, &key);
}

static inline uint32_t devicetrace_slice(struct devicetrace *make, enum nl_kind kind, uint32_t lane,
                                         int64_t ts, int64_t dur, const char *name)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = (uint8_t)kind;
    row.lane = lane;
    row.ts = ts;
    row.dur = dur;
    row.name = nl_stage_name(make->stage, nl_str(name));
    return nl_stage_slice(make->stage, &row);
}

static inline void devicetrace_kernel(struct devicetrace *make, uint32_t lane, int64_t ts,
                                      int64_t dur, uint64_t correlation)
{
    static const char *const names[] = {"gemm",          "relu",      "ncclDevKernel_AllReduce_Sum",
                                        "Gemm",          "softmax 1", "a'b\"c%",
                                        "gemm_\xc3\xa4", ""};
    struct nl_kernel_row row = nl_kernel_row();
    row.slice =
        devicetrace_slice(make, NL_KIND_KERNEL, lane, ts, dur, names[devicetrace_random(make, 8)]);
    row.correlation = correlation;
    row.graph = devicetrace_random(make, 4) ? NL_NULL_U64 : UINT64_MAX - 1 - correlation;
    row.grid_x = (uint32_t)devicetrace_random(make, 5);
    row.registers =
        devicetrace_random(make, 3) ? (uint32_t)devicetrace_random(make, 255) : NL_NULL_U32;
    row.occupancy =
        devicetrace_random(make, 3) ? (double)devicetrace_random(make, 9) / 8 : NL_NULL_F64;
    row.external_id =
        devicetrace_random(make, 2) ? (int64_t)devicetrace_random(make, 9) - 4 : NL_NULL_I64;
    nl_stage_kernel(make->stage, &row);
}

static inline void devicetrace_work(struct devicetrace *make, uint64_t correlation)
{
    uint32_t lane =
        devicetrace_lane(make, NL_LANE_STREAM, (int64_t)devicetrace_random(make, 3) + 7);
    int64_t ts = (int64_t)devicetrace_random(make, (uint64_t)make->span);
    int64_t dur = (int64_t)devicetrace_random(make, (uint64_t)make->span / 20 + 1);
    if (devicetrace_random(make, 50) == 0)
        dur = 0;
    switch (devicetrace_random(make, 12)) {
    case 0: {
        struct nl_copy_row row = nl_copy_row();
        row.slice = devicetrace_slice(make, NL_KIND_MEMCPY, lane, ts, dur, "Memcpy HtoD");
        row.correlation = correlation;
        row.kind = NL_COPY_HTOD;
        row.bytes = devicetrace_random(make, 1 << 20);
        nl_stage_copy(make->stage, &row);
        break;
    }
    case 1: {
        struct nl_memset_row row = nl_memset_row();
        row.slice = devicetrace_slice(make, NL_KIND_MEMSET, lane, ts, dur, "Memset");
        row.correlation = correlation;
        nl_stage_memset(make->stage, &row);
        break;
    }
    case 2: {
        struct nl_graph_row row = nl_graph_row();
        row.slice = devicetrace_slice(make, NL_KIND_GRAPH, lane, ts, dur, "graph");
        nl_stage_graph(make->stage, &row);
        break;
    }
    case 3:
        devicetrace_slice(make, NL_KIND_GPU_ANNOTATION,
                          devicetrace_lane(make, NL_LANE_GPU_ANNOTATION, 7), ts, dur, "step");
        break;
    case 4: {
        struct nl_sync_row row = nl_sync_row();
        row.slice = devicetrace_slice(make, NL_KIND_SYNC, lane, ts, dur, "Stream Sync");
        row.kind = NL_SYNC_STREAM;
        nl_stage_sync(make->stage, &row);
        break;
    }
    default: devicetrace_kernel(make, lane, ts, dur, correlation);
    }
}

static inline void devicetrace_host(struct devicetrace *make, uint64_t correlation)
{
    int64_t ts = (int64_t)devicetrace_random(make, (uint64_t)make->span);
    struct nl_api_row api = nl_api_row();
    struct nl_nvtx_row nvtx = nl_nvtx_row();
    struct nl_counter_row counter = nl_counter_row();
    uint32_t lane = devicetrace_lane(make, NL_LANE_THREAD, -1);
    api.slice =
        devicetrace_slice(make, NL_KIND_API, lane, ts, (int64_t)devicetrace_random(make, 20),
                          devicetrace_random(make, 3) ? "cudaLaunchKernel" : "cudaMalloc");
    api.correlation = correlation;
    api.result = devicetrace_random(make, 2) ? 0 : NL_NULL_I64;
    nl_stage_api(make->stage, &api);
    if (devicetrace_random(make, 4) == 0) {
        nvtx.slice = devicetrace_slice(make, NL_KIND_NVTX, devicetrace_lane(make, NL_LANE_NVTX, -1),
                                       ts - 50, 500, "forward");
        nvtx.domain = nl_stage_name(make->stage, nl_str("app"));
        nl_stage_nvtx(make->stage, &nvtx);
    }
    counter.ts = ts;
    counter.series = nl_builder_series(make->builder, lane, nl_str("power"), nl_str("W"));
    counter.value = (double)devicetrace_random(make, 100) / 4 - 3;
    nl_stage_counter(make->stage, &counter);
}

/* `events` launches and pieces of work per rank. NULL and err filled on failure. */
static inline struct nl_trace *devicetrace(uint64_t seed, unsigned events, int64_t span,
                                           struct nl_err *err)
{
    static struct nl_job job = {.threads = 1};
    struct devicetrace make = {.builder = nl_builder_new(&job),
                               .state = seed * 2654435761u + 88172645463325252u};
    make.span = span;
    make.stage = nl_stage_new(make.builder);
    for (uint32_t rank = 0; rank < 2; rank++) {
        make.source =
            nl_builder_source(make.builder, rank ? "rank1.json" : "rank0.json", "made up");
        nl_builder_rank(make.builder, make.source, rank);
        nl_builder_clock(make.builder, make.source, "made up", 0); /* no shift between ranks */
        make.process = nl_builder_process(make.builder, make.source, 100 + rank);
        make.thread = nl_builder_thread(make.builder, make.process, 7);
        make.device = nl_builder_device(make.builder, make.source, 0, rank);
        nl_stage_begin(make.stage, make.source, 0);
        for (unsigned i = 0; i < events; i++) {
            devicetrace_host(&make, i + 1);
            devicetrace_work(&make, devicetrace_random(&make, 10) ? i + 1 : events + i + 1);
        }
    }
    return nl_builder_finish(make.builder, err);
}

#endif

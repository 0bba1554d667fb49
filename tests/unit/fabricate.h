/*
 * fabricate — made-up events for the tests of the store: units of work whose content depends on
 * (source, sequence) alone, staged in any order and from any number of threads.
 */
#ifndef FABRICATE_H
#define FABRICATE_H

#include "base/pool.h"
#include "derive/derive.h"
#include "store/builder.h"

#define FABRICATE_LANES 5

struct fabricate {
    struct nl_builder *builder;
    struct nl_stage **stages; /* one per worker */
    uint32_t source;
    uint32_t units, slices; /* slices per unit */
    const uint32_t *order;  /* order in which units are staged, or NULL */
};

static inline uint64_t fabricate_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint32_t fabricate_lane(struct nl_builder *builder, uint32_t source, unsigned number)
{
    uint32_t process = nl_builder_process(builder, source, 100 + number % 2);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = process,
                              .thread = nl_builder_thread(builder, process, number),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    if (number == FABRICATE_LANES - 1) {
        key.kind = NL_LANE_STREAM;
        key.thread = NL_NULL_ROW;
        key.device = nl_builder_device(builder, source, 0, 0);
        key.stream = 7;
    }
    return nl_builder_lane(builder, &key);
}

static inline void fabricate_slice(struct nl_stage *stage, struct nl_builder *builder,
                                   uint32_t source, uint64_t *state, uint64_t correlation)
{
    char name[32];
    unsigned number = (unsigned)(fabricate_random(state) % FABRICATE_LANES);
    bool device = number == FABRICATE_LANES - 1;
    struct nl_slice_row row = nl_slice_row();
    snprintf(name, sizeof name, "%s %u", device ? "kernel" : "call",
             (unsigned)(fabricate_random(state) % 97));
    row.ts = (int64_t)(fabricate_random(state) % 1000000);
    row.dur = (int64_t)(fabricate_random(state) % 2000);
    row.lane = fabricate_lane(builder, source, number);
    row.kind = device ? NL_KIND_KERNEL : NL_KIND_API;
    row.name = nl_stage_name(stage, nl_str(name));
    uint32_t slice = nl_stage_slice(stage, &row);
    if (device) {
        struct nl_kernel_row kernel = nl_kernel_row();
        kernel.slice = slice;
        kernel.correlation = correlation;
        nl_stage_kernel(stage, &kernel);
    } else {
        struct nl_api_row api = nl_api_row();
        api.slice = slice;
        api.correlation = correlation;
        nl_stage_api(stage, &api);
    }
}

static inline void fabricate_unit(void *context, size_t index, unsigned worker)
{
    struct fabricate *make = context;
    uint32_t unit = make->order ? make->order[index] : (uint32_t)index;
    uint64_t state = 0x9e3779b97f4a7c15u * (unit + 1) + 99;
    struct nl_stage *stage = make->stages[worker];
    nl_stage_begin(stage, make->source, unit);
    for (uint32_t i = 0; i < make->slices; i++)
        fabricate_slice(stage, make->builder, make->source, &state,
                        1 + fabricate_random(&state) % (make->units * make->slices));
}

/* A trace of units × slices events, staged by `threads` workers in `order`. */
static inline struct nl_trace *fabricate(uint32_t units, uint32_t slices, unsigned threads,
                                         const uint32_t *order, struct nl_err *err)
{
    static struct nl_job job; /* outlives the builder */
    job.threads = threads;
    struct nl_stage *stages[64];
    struct fabricate make = {.builder = nl_builder_new(&job), .stages = stages, .order = order};
    make.units = units;
    make.slices = slices;
    make.source = nl_builder_source(make.builder, "made-up.json", "test");
    for (unsigned i = 0; i < threads; i++)
        stages[i] = nl_stage_new(make.builder);
    nl_parallel(threads, units, fabricate_unit, &make);
    return nl_builder_finish(make.builder, err);
}

#endif

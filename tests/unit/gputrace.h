/*
 * gputrace — hand-made profiles of one process, one launching thread and one GPU, in a few words:
 * times in microseconds, launches joined by correlation. For the tests of idle time and findings.
 *
 *     struct gputrace make;
 *     gputrace_open(&make);
 *     gputrace_kernel(&make, 7, "gemm", 100, 5, 110, 50);   launched at 100 for 5, runs 110 … 160
 *     struct nl_trace *trace = gputrace_close(&make);
 */
#ifndef GPUTRACE_H
#define GPUTRACE_H

#include <math.h>
#include <stdio.h>

#include "derive/derive.h"
#include "store/builder.h"

/* What is left out of a profile, as by a recorder that was asked for less, or that lost records. */
enum gputrace_without {
    GPUTRACE_WHOLE,
    GPUTRACE_NO_NAMES,  /* operators, functions and ranges */
    GPUTRACE_SOME_LOST, /* every fourth launch */
    GPUTRACE_NO_LAUNCHES,
    GPUTRACE_WAYS
};

struct gputrace {
    /* 0: times as they are written; else stretched here and there (gputrace_ns) */
    unsigned variation;
    enum gputrace_without without;
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t source, process, thread, device, calls;
    uint64_t correlation;
    int64_t step;
};

/* Of microseconds. A variation stretches time by 0.8 to 1.25 as a whole and by up to a fifth more
 * or less within 37 us, 1.1 ms and 29 ms: everything that was in order, nested or overlapping stays
 * so, nothing is as long as it was. */
static inline int64_t gputrace_ns(const struct gputrace *make, int64_t us)
{
    static const double period[] = {37e3, 1.1e6, 29e6};
    if (!make->variation)
        return us * 1000;
    double v = make->variation, at = (double)us * 1000 * (0.8 + 0.45 * fmod(v * 0.618034, 1));
    double moved = at;
    for (int i = 0; i < 3; i++)
        moved += 0.2 / 3 * period[i] / 6.2831853 *
                 sin(at / period[i] * 6.2831853 + v * 2.399963 * (i + 1));
    return (int64_t)llround(moved);
}

static inline uint32_t gputrace_lane(struct gputrace *make, enum nl_lanekind kind, int64_t stream)
{
    bool host = stream < 0;
    struct nl_lane_key key = {.kind = kind,
                              .process = make->process,
                              .thread = host ? make->thread : NL_NULL_ROW,
                              .device = host ? NL_NULL_ROW : make->device,
                              .context = host ? NL_NULL_I64 : 1,
                              .stream = host ? NL_NULL_I64 : stream};
    return nl_builder_lane(make->builder, &key);
}

static inline void gputrace_open_as(struct gputrace *make, unsigned variation,
                                    enum gputrace_without without)
{
    *make = (struct gputrace){
        .variation = variation, .without = without, .builder = nl_builder_new(NULL)};
    make->source = nl_builder_source(make->builder, "made-up.json", "kineto");
    nl_builder_rank(make->builder, make->source, 0);
    make->process = nl_builder_process(make->builder, make->source, 1);
    make->thread = nl_builder_thread(make->builder, make->process, 10);
    make->device = nl_builder_device(make->builder, make->source, 0, 0);
    make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
    make->stage = nl_stage_new(make->builder);
    nl_stage_begin(make->stage, make->source, 0);
}

static inline void gputrace_open(struct gputrace *make)
{
    gputrace_open_as(make, 0, GPUTRACE_WHOLE);
}

static inline uint32_t gputrace_slice(struct gputrace *make, enum nl_kind kind, uint32_t lane,
                                      const char *name, int64_t us, int64_t dur_us)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = (uint8_t)kind;
    row.lane = lane;
    row.name = nl_stage_name(make->stage, nl_str(name));
    row.ts = gputrace_ns(make, us);
    row.dur = gputrace_ns(make, us + dur_us) - row.ts;
    return nl_stage_slice(make->stage, &row);
}

static inline void gputrace_call_as(struct gputrace *make, const char *name, int64_t us,
                                    int64_t dur_us, uint64_t correlation)
{
    struct nl_api_row row = nl_api_row();
    row.slice = gputrace_slice(make, NL_KIND_API, make->calls, name, us, dur_us);
    bool lost = make->without == GPUTRACE_NO_LAUNCHES ||
                (make->without == GPUTRACE_SOME_LOST && correlation % 4 == 0);
    row.correlation = lost ? NL_NULL_U64 : correlation;
    nl_stage_api(make->stage, &row);
}

static inline void gputrace_call(struct gputrace *make, const char *name, int64_t us,
                                 int64_t dur_us)
{
    gputrace_call_as(make, name, us, dur_us, NL_NULL_U64);
}

/* A kernel; without a launch when call_us is negative. */
static inline uint32_t gputrace_kernel(struct gputrace *make, int64_t stream, const char *name,
                                       int64_t call_us, int64_t call_dur_us, int64_t us,
                                       int64_t dur_us)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.correlation = ++make->correlation;
    if (call_us >= 0)
        gputrace_call_as(make, "cudaLaunchKernel", call_us, call_dur_us, row.correlation);
    row.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, stream),
                               name, us, dur_us);
    nl_stage_kernel(make->stage, &row);
    return row.slice;
}

struct gputrace_copy {
    enum nl_copykind kind;
    enum nl_memory host; /* kind of memory on the host's side */
    uint64_t bytes;
    const char *call;
};

static inline void gputrace_copy(struct gputrace *make, int64_t stream, struct gputrace_copy copy,
                                 int64_t call_us, int64_t call_dur_us, int64_t us, int64_t dur_us)
{
    struct nl_copy_row row = nl_copy_row();
    row.correlation = ++make->correlation;
    gputrace_call_as(make, copy.call ? copy.call : "cudaMemcpyAsync", call_us, call_dur_us,
                     row.correlation);
    row.slice = gputrace_slice(make, NL_KIND_MEMCPY, gputrace_lane(make, NL_LANE_STREAM, stream),
                               "Memcpy", us, dur_us);
    row.kind = (uint8_t)copy.kind;
    row.src_memory =
        (uint8_t)(copy.kind == NL_COPY_HTOD ? copy.host : (enum nl_memory)NL_MEMORY_DEVICE);
    row.dst_memory =
        (uint8_t)(copy.kind == NL_COPY_HTOD ? (enum nl_memory)NL_MEMORY_DEVICE : copy.host);
    row.bytes = copy.bytes;
    nl_stage_copy(make->stage, &row);
}

static inline void gputrace_op(struct gputrace *make, const char *name, int64_t us, int64_t dur_us)
{
    struct nl_op_row row = nl_op_row();
    if (make->without == GPUTRACE_NO_NAMES)
        return;
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, name, us, dur_us);
    nl_stage_op(make->stage, &row);
}

/* A stream told to wait for an event, as recorded by the profiler. */
static inline void gputrace_wait(struct gputrace *make, int64_t stream, int64_t us, int64_t dur_us)
{
    struct nl_sync_row row = nl_sync_row();
    row.slice = gputrace_slice(make, NL_KIND_SYNC, gputrace_lane(make, NL_LANE_SYNC, stream),
                               "Stream Wait Event", us, dur_us);
    row.kind = NL_SYNC_STREAM_WAIT_EVENT;
    nl_stage_sync(make->stage, &row);
}

static inline void gputrace_step(struct gputrace *make, int64_t us, int64_t dur_us)
{
    struct nl_step_row row = nl_step_row();
    row.index = make->step++;
    row.ts = gputrace_ns(make, us);
    row.dur = gputrace_ns(make, us + dur_us) - row.ts;
    row.lane = make->calls;
    row.name = nl_stage_name(make->stage, nl_str("step"));
    nl_stage_step(make->stage, &row);
}

/* NULL, with the reason printed, on failure. */
static inline struct nl_trace *gputrace_close(struct gputrace *make)
{
    struct nl_err err = {0};
    struct nl_trace *trace = nl_builder_finish(make->builder, &err);
    if (!trace)
        printf("    gputrace: %s\n", err.text);
    return trace;
}

#endif

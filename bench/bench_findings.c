/*
 * Idle time and findings on a made-up trace, beside the time breakdown of the same trace, which is
 * one pass over the device's work.
 *
 *     build/bench/bench_findings [KERNELS]                            default 3300000
 *
 * One thread launches; per kernel an operator with a launch call inside. Every second kernel is
 * late (a gap), so a third of all slices are operators, a third calls, a third kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "derive/derive.h"
#include "findings/finding.h"
#include "base/mem.h"
#include "timeline/idletime.h"
#include "store/builder.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint32_t add_slice(struct nl_stage *stage, enum nl_kind kind, uint32_t lane, uint32_t name,
                          int64_t ts, int64_t dur)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = (uint8_t)kind;
    row.lane = lane;
    row.name = name;
    row.ts = ts;
    row.dur = dur;
    return nl_stage_slice(stage, &row);
}

static struct nl_trace *build(uint32_t kernels, struct nl_err *err)
{
    struct nl_builder *builder = nl_builder_new(NULL);
    struct nl_stage *stage = nl_stage_new(builder);
    uint32_t source = nl_builder_source(builder, "made-up.json", "bench");
    uint32_t process = nl_builder_process(builder, source, 1);
    struct nl_lane_key host = {.kind = NL_LANE_THREAD,
                               .process = process,
                               .thread = nl_builder_thread(builder, process, 2),
                               .device = NL_NULL_ROW,
                               .context = NL_NULL_I64,
                               .stream = NL_NULL_I64};
    struct nl_lane_key device = {.kind = NL_LANE_STREAM,
                                 .process = process,
                                 .thread = NL_NULL_ROW,
                                 .device = nl_builder_device(builder, source, 0, 0),
                                 .context = 1,
                                 .stream = 7};
    uint32_t thread = nl_builder_lane(builder, &host), stream = nl_builder_lane(builder, &device);
    nl_stage_begin(stage, source, 0);
    uint32_t launch = nl_stage_name(stage, nl_str("cudaLaunchKernel"));
    for (uint32_t i = 0; i < kernels; i++) {
        char text[32];
        int64_t ts = (int64_t)i * 10000;
        snprintf(text, sizeof text, "aten::op%u", i % 97);
        struct nl_op_row op = nl_op_row();
        op.slice =
            add_slice(stage, NL_KIND_OP, thread, nl_stage_name(stage, nl_str(text)), ts, 9000);
        nl_stage_op(stage, &op);
        struct nl_api_row api = nl_api_row();
        api.slice = add_slice(stage, NL_KIND_API, thread, launch, ts + 3000, 4000);
        api.correlation = i + 1;
        nl_stage_api(stage, &api);
        struct nl_kernel_row kernel = nl_kernel_row();
        snprintf(text, sizeof text, "kernel%u", i % 89);
        kernel.slice = add_slice(stage, NL_KIND_KERNEL, stream, nl_stage_name(stage, nl_str(text)),
                                 ts + 8000, i % 2 ? 10000 : 5000);
        kernel.correlation = i + 1;
        nl_stage_kernel(stage, &kernel);
    }
    return nl_builder_finish(builder, err);
}

int main(int argc, char **argv)
{
    struct nl_err err = {0};
    struct nl_window window = {0};
    size_t count;
    uint32_t kernels = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 3300000;
    struct nl_trace *trace = build(kernels, &err);
    if (!trace)
        return 1;
    double start = now();
    nl_free(nl_time_breakdown(trace, &window, &count));
    double breakdown = now() - start;
    start = now();
    struct nl_idle *idle = nl_idle_new(trace, &window);
    double gaps = now() - start;
    start = now();
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    double all = now() - start;
    printf(
        "%u slices, %zu gaps: breakdown %.3f s, idle %.3f s (ratio %.1f), findings with idle %.3f "
        "s (ratio %.1f), %zu found\n",
        trace->slice.rows, idle->gap_count, breakdown, gaps, gaps / breakdown, all, all / breakdown,
        findings ? findings->count : 0);
    nl_findings_free(findings);
    nl_idle_free(idle);
    nl_trace_free(trace);
    return 0;
}

/*
 * Any bytes as a page of Nsight Compute that is joined to a small run: whatever its kernels are
 * called, no kernel has more than one measurement, measurements are of kernels of one shape, and
 * metrics belong to measurements; and it answers what is asked of it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../tests/unit/gputrace.h"

#include "answers.h"
#include "derive/derive.h"
#include "ingest/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct nl_trace *report_of(const uint8_t *data, size_t size)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(NULL);
    uint32_t source = nl_builder_source(builder, "page", "ncu-csv");
    struct nl_stream *stream = nl_stream_memory(data, size, &err);
    struct nl_reading reading = {.builder = builder, .source = source, .stream = stream};
    bool done = nl_format_ncucsv.load(&reading, &err);
    nl_stream_close(stream);
    if (done)
        return nl_builder_finish(builder, &err);
    nl_builder_free(builder);
    return NULL;
}

static void add_kernel(struct gputrace *make, const char *name, int64_t us, uint32_t grid)
{
    struct nl_kernel_row row = nl_kernel_row();
    uint32_t lane = gputrace_lane(make, NL_LANE_STREAM, us % 3);
    row.slice = gputrace_slice(make, NL_KIND_KERNEL, lane, name, us, 5);
    row.grid_x = grid;
    row.block_x = 128;
    row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
    nl_stage_kernel(make->stage, &row);
}

static void check(const struct nl_trace *trace)
{
    const struct nl_kernel_table *kernel = &trace->kernel;
    for (uint32_t i = 0; i < kernel->rows; i++) {
        if (kernel->measurement[i] == NL_NULL_ROW)
            continue;
        if (kernel->measurement[i] >= trace->measurement.rows)
            abort();
        uint32_t first = trace->measurement.slice[kernel->measurement[i]];
        uint32_t other = trace->slice.detail[first];
        if (trace->slice.name[first] != trace->slice.name[kernel->slice[i]] ||
            kernel->grid_x[other] != kernel->grid_x[i])
            abort();
    }
    for (uint32_t i = 0; i < trace->metric.rows; i++)
        if (trace->metric.measurement[i] >= trace->measurement.rows)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"first()", "void ns::k<4, float>(float*)", "k",
                                        "_Z5scalePfi",
                                        "void (anonymous namespace)::r<true, 2ul>(int)"};
    struct nl_trace *report = report_of(data, size);
    if (!report)
        return 0;
    struct gputrace make;
    gputrace_open(&make);
    for (int i = 0; i < 20; i++)
        add_kernel(&make, names[i % 5], 10 * i, i % 2 ? 4 : 1);
    nl_builder_join(make.builder, report);
    struct nl_trace *trace = gputrace_close(&make);
    check(trace);
    if (answers_deep())
        answers_ask(trace, answers_variant(data, size));
    nl_trace_free(trace);
    return 0;
}

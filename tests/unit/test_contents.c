/*
 * What a file is about (answer/contents.c): the kind of rows that is named first, and when another
 * has so many more that it is; spans in microseconds.
 */
#include "check.h"
#include "gputrace.h"

#include "answer/contents.h"

static const struct {
    const char *what;
    int slices, samples, memory, counters; /* 1 µs apart, from 0, 1000, 2000 and 3000 on */
    const char *many;
    uint64_t rows;
    int64_t span;
} files[] = {
    {"slices alone", 3, 0, 0, 0, "events", 3, 3},
    {"samples alone", 0, 4, 0, 0, "CPU samples", 4, 3},
    {"memory alone", 0, 0, 5, 0, "memory events", 5, 4},
    {"counters alone", 0, 0, 0, 6, "counter values", 6, 5},
    {"slices stand before samples", 2, 199, 0, 0, "events", 2, 0},
    {"299 of two", 2, 299, 0, 0, "events", 2, 0},
    {"300 of two", 2, 300, 0, 0, "CPU samples", 300, 0},
    {"199 counters of a sample", 0, 1, 0, 199, "CPU samples", 1, 0},
    {"200 counters of a sample", 0, 1, 0, 200, "counter values", 200, 0},
    {"memory of many more, counters of few more", 1, 0, 200, 250, "memory events", 200, 0},
    {"nothing", 0, 0, 0, 0, "events", 0, 0},
};

static void add_rows(struct gputrace *make, int slices, int samples, int memory, int counters)
{
    uint32_t series =
        counters ? nl_builder_series(make->builder, make->calls, nl_str("power"), nl_str("W")) : 0;
    for (int i = 0; i < slices; i++)
        gputrace_kernel(make, 7, "gemm", -1, 0, i, 1);
    for (int i = 0; i < samples; i++) {
        struct nl_sample_row row = nl_sample_row();
        row.ts = (1000 + i) * 1000;
        row.lane = make->calls;
        row.unit = nl_stage_name(make->stage, nl_str("samples"));
        nl_stage_sample(make->stage, &row);
    }
    for (int i = 0; i < memory; i++) {
        struct nl_memory_row row = nl_memory_row();
        row.ts = (2000 + i) * 1000;
        row.lane = make->calls;
        nl_stage_memory(make->stage, &row);
    }
    for (int i = 0; i < counters; i++) {
        struct nl_counter_row row = nl_counter_row();
        row.ts = (3000 + i) * 1000;
        row.series = series;
        nl_stage_counter(make->stage, &row);
    }
}

static void what_is_named(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(files); i++) {
        struct gputrace make;
        gputrace_open(&make);
        add_rows(&make, files[i].slices, files[i].samples, files[i].memory, files[i].counters);
        struct nl_trace *trace = gputrace_close(&make);
        check_case(files[i].what);
        REQUIRE(trace);
        struct nl_contents contents = nl_contents_of(trace);
        CHECK_TEXT(contents.many, files[i].many);
        CHECK_INT(contents.count, files[i].rows);
        if (files[i].span)
            CHECK_INT(contents.span_ns, files[i].span * 1000);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("contents", {"the kind that is named", what_is_named})

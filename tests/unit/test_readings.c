/*
 * What telemetry read of one counter, in order and how long it holds (timeline/readings.c), and
 * recordings that were thinned (timeline/thinned.c): worked out by hand, limits from both sides.
 */
#include "check.h"
#include "gputrace.h"

#include "timeline/readings.h"
#include "timeline/thinned.h"

/* ---- Readings ---- */

static const struct {
    const char *what;
    struct {
        int64_t us;
        double value;
    } read[8];
    size_t given;
    int64_t ts[8];
    double values[8];
    size_t count;
    int64_t hold_us; /* five times the median distance, of two the longer */
} series[] = {
    {"in order", {{10, 1}, {20, 2}, {30, 3}}, 3, {10, 20, 30}, {1, 2, 3}, 3, 50},
    {"put into order", {{30, 3}, {10, 1}, {20, 2}}, 3, {10, 20, 30}, {1, 2, 3}, 3, 50},
    {"the median of three distances",
     {{0, 1}, {1, 2}, {11, 3}, {111, 4}},
     4,
     {0, 1, 11, 111},
     {1, 2, 3, 4},
     4,
     50},
    {"of two the longer", {{0, 1}, {1, 2}, {11, 3}}, 3, {0, 1, 11}, {1, 2, 3}, 3, 50},
    {"of one moment", {{5, 1}, {5, 2}, {5, 3}}, 3, {5, 5, 5}, {1, 2, 3}, 3, 0},
    {"moments read twice",
     {{0, 1}, {0, 2}, {10, 3}, {10, 4}},
     4,
     {0, 0, 10, 10},
     {1, 2, 3, 4},
     4,
     50},
    {"one", {{7, 1}}, 1, {7}, {1}, 1, 0},
    {"not a number", {{0, 1}, {10, NAN}, {20, INFINITY}, {30, 4}}, 4, {0, 30}, {1, 4}, 2, 150},
};

static uint32_t series_of(struct gputrace *make, const char *name)
{
    return nl_builder_series(make->builder, gputrace_lane(make, NL_LANE_STREAM, 7), nl_str(name),
                             nl_str("W"));
}

static void add_reading(struct gputrace *make, uint32_t of, int64_t us, double value)
{
    struct nl_counter_row row = nl_counter_row();
    row.series = of;
    row.ts = us * 1000;
    row.value = value;
    nl_stage_counter(make->stage, &row);
}

static void readings(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(series); i++) {
        struct gputrace make;
        gputrace_open(&make);
        uint32_t own = series_of(&make, "power"), other = series_of(&make, "clock");
        add_reading(&make, other, 3, 99);
        for (size_t k = 0; k < series[i].given; k++)
            add_reading(&make, own, series[i].read[k].us, series[i].read[k].value);
        add_reading(&make, other, 13, 99);
        struct nl_trace *trace = gputrace_close(&make);
        check_case(series[i].what);
        REQUIRE(trace && trace->series.rows == 2);
        uint32_t row = nl_str_is(nl_trace_name(trace, trace->series.name[0]), "power") ? 0 : 1;
        struct nl_readings got = nl_readings_new(trace, row, 0.5);
        CHECK_INT(got.count, series[i].count);
        CHECK_INT(got.hold, series[i].hold_us * 1000);
        for (size_t k = 0; k < got.count && k < series[i].count; k++) {
            CHECK_INT(got.items[k].ts, series[i].ts[k] * 1000);
            CHECK_NEAR(got.items[k].value, series[i].values[k] / 2, 0);
        }
        nl_readings_release(&got);
        CHECK(!got.items && !got.count);
        nl_trace_free(trace);
    }
}

/* ---- Thinned recordings ---- */

static const struct {
    const char *what, *name;
    uint64_t calls, apart, first; /* numbers of the calls: first, first + apart, … */
    uint64_t more;                /* and one so far behind the last */
    double share;                 /* 0: nobody can tell, or it is not */
} files[] = {
    {"500 of 50,000", "cudaLaunchKernel", 499, 1, 1, 49501, 0},
    {"500 of 50,001", "cudaLaunchKernel", 499, 1, 1, 49502, 500 / 50001.0},
    {"499 are too few to tell", "cudaLaunchKernel", 498, 1, 1, 49503, 0},
    {"numbers far up", "cuLaunchKernel", 499, 200, 1000000, 200, 500 / 99801.0},
    {"not CUDA's", "hipLaunchKernel", 499, 200, 1, 200, 0},
    {"all are there", "cudaLaunchKernel", 600, 1, 1, 0, 0},
    {"every hundredth", "cudaLaunchKernel", 600, 100, 1, 0, 0},
    {"every hundred-and-first", "cudaLaunchKernel", 600, 101, 1, 0, 600 / 60500.0},
};

static void thinned(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(files); i++) {
        struct gputrace make;
        uint64_t number = files[i].first;
        gputrace_open(&make);
        for (uint64_t k = 0; k < files[i].calls; k++) {
            number = files[i].first + k * files[i].apart;
            gputrace_call_as(&make, files[i].name, (int64_t)k * 10, 5, number);
        }
        if (files[i].more)
            gputrace_call_as(&make, files[i].name, (int64_t)files[i].calls * 10, 5,
                             number + files[i].more);
        gputrace_call_as(&make, files[i].name, 1, 1, 0);
        gputrace_call_as(&make, files[i].name, 2, 1, NL_NULL_U64);
        gputrace_call_as(&make, "other", 3, 1, 1000000000);
        struct nl_trace *trace = gputrace_close(&make);
        check_case(files[i].what);
        REQUIRE(trace);
        double share = nl_thinned(trace);
        CHECK_INT(share == share, files[i].share > 0);
        if (share == share)
            CHECK_NEAR(share, files[i].share, 1e-12);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("readings", {"readings of a counter", readings}, {"thinned recordings", thinned})

/*
 * Queues, small kernels, calls by purpose, overlap and bandwidth on profiles worked out on paper
 * (times in microseconds).
 */
#include "tables/analyses.h"
#include "tables/lookup.h"
#include "check.h"
#include "gputrace.h"

static struct nl_result *ask(const struct nl_trace *trace, const struct nl_analysis *analysis)
{
    struct nl_err err = {0};
    struct nl_result *result =
        nl_analysis_run(analysis, trace, &(struct nl_analyze_options){0}, NULL, &err);
    CHECK(result != NULL);
    return result;
}

/*
 * stream 7: launched at 0, 10, 20; starts at 30, 60, 90. Queue: 1 in [0,10), 2 in [10,20), 3 in
 * [20,30), 2 in [30,60), 1 in [60,90): mean (10 + 20 + 30 + 60 + 30) / 90.
 */
static struct nl_trace *queued(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 30, 30);
    gputrace_kernel(&make, 7, "b", 10, 5, 60, 30);
    gputrace_kernel(&make, 7, "c", 20, 5, 90, 4);
    return gputrace_close(&make);
}

static void measures_queues(void)
{
    struct nl_trace *trace = queued();
    REQUIRE(trace);
    struct nl_result *result = ask(trace, &nl_analysis_queue);
    REQUIRE(result->rows == 1);
    CHECK_INT(nl_lookup_i64(result, 0, "launched"), 3);
    CHECK_INT(nl_lookup_i64(result, 0, "span_ns"), 90000);
    CHECK_NEAR(nl_lookup_f64(result, 0, "mean"), 150.0 / 90, 1e-12);
    CHECK_INT(nl_lookup_i64(result, 0, "p50"), 2);
    CHECK_INT(nl_lookup_i64(result, 0, "p95"), 3);
    CHECK_INT(nl_lookup_i64(result, 0, "max"), 3);
    CHECK_NEAR(nl_lookup_f64(result, 0, "short_share"), 40.0 / 90, 1e-12);
    CHECK_NEAR(nl_lookup_f64(result, 0, "full_share"), 0, 0);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void counts_small_kernels(void)
{
    struct nl_trace *trace = queued();
    REQUIRE(trace);
    struct nl_result *result = ask(trace, &nl_analysis_small_kernels);
    REQUIRE(result->rows == 1);
    CHECK_INT(nl_lookup_i64(result, 0, "kernels"), 3);
    CHECK_INT(nl_lookup_i64(result, 0, "small"), 1);
    CHECK_INT(nl_lookup_i64(result, 0, "small_ns"), 4000);
    CHECK_NEAR(nl_lookup_f64(result, 0, "small_time_share"), 4.0 / 64, 1e-12);
    CHECK_INT(nl_lookup_i64(result, 0, "median_ns"), 30000);
    CHECK_INT(nl_lookup_i64(result, 0, "shorter_than_launch"), 1);
    nl_result_free(result);
    nl_trace_free(trace);
}

static size_t row_of(const struct nl_result *result, const char *column, const char *text)
{
    for (size_t row = 0; row < result->rows; row++)
        if (nl_str_is(nl_lookup_text(result, row, column), text))
            return row;
    CHECK(text == NULL);
    return 0;
}

/* a [10,20), wait [15,25), b launched at 40, runs [50,60): 25 us idle after the wait. */
static void charges_calls(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 10, 10);
    gputrace_call(&make, "cudaDeviceSynchronize", 15, 10);
    gputrace_call(&make, "cudaMalloc", 30, 8);
    gputrace_kernel(&make, 7, "b", 40, 5, 50, 10);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_result *result = ask(trace, &nl_analysis_calls);
    REQUIRE(result->rows == 3);
    size_t row = row_of(result, "purpose", "synchronise");
    CHECK_INT(nl_lookup_i64(result, row, "count"), 1);
    CHECK_INT(nl_lookup_i64(result, row, "blocking_count"), 1);
    CHECK_INT(nl_lookup_i64(result, row, "idle_during_ns"), 5000);
    CHECK_INT(nl_lookup_i64(result, row, "idle_after_ns"), 25000);
    row = row_of(result, "purpose", "allocate device memory");
    CHECK_INT(nl_lookup_i64(result, row, "idle_during_ns"), 8000);
    CHECK_INT(nl_lookup_i64(result, row, "steady_count"), 1);
    row = row_of(result, "purpose", "launch");
    CHECK_INT(nl_lookup_i64(result, row, "count"), 2);
    CHECK_INT(nl_lookup_i64(result, row, "steady_count"), 1);
    CHECK_INT(nl_lookup_i64(result, row, "idle_during_ns"), 5000);
    nl_result_free(result);
    nl_trace_free(trace);
}

/* Kernel [10,110), copy in [60,160), memset none: at once [60,110). */
static struct nl_trace *overlapping(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 10, 100);
    gputrace_copy(&make, 8, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 1000003, NULL},
                  6, 2, 60, 100);
    return gputrace_close(&make);
}

static void pairs_kinds_of_work(void)
{
    struct nl_trace *trace = overlapping();
    REQUIRE(trace);
    struct nl_result *result = ask(trace, &nl_analysis_overlap_matrix);
    REQUIRE(result->rows == 1);
    CHECK_STR(nl_lookup_text(result, 0, "a"), "compute");
    CHECK_STR(nl_lookup_text(result, 0, "b"), "HtoD");
    CHECK_INT(nl_lookup_i64(result, 0, "both_ns"), 50000);
    CHECK_NEAR(nl_lookup_f64(result, 0, "a_share"), 0.5, 1e-12);
    CHECK_NEAR(nl_lookup_f64(result, 0, "b_share"), 0.5, 1e-12);
    nl_result_free(result);
    nl_trace_free(trace);
}

/* Wall [10,160): parts of 1.5 us; the copy's 100 us lie in the last two thirds. */
static void spreads_bytes(void)
{
    struct nl_trace *trace = overlapping();
    REQUIRE(trace);
    struct nl_result *result = ask(trace, &nl_analysis_bandwidth);
    REQUIRE(result->rows == 100);
    CHECK_INT(nl_lookup_sum(result, "bytes"), 1000003);
    CHECK_INT(nl_lookup_sum(result, "dur_ns"), 150000);
    CHECK_INT(nl_lookup_i64(result, 32, "bytes"), 0);
    CHECK_INT(nl_lookup_i64(result, 40, "bytes"), 15000);
    CHECK_NEAR(nl_lookup_f64(result, 40, "rate"), 1e10, 1e6);
    nl_result_free(result);
    nl_trace_free(trace);
}

CHECK_MAIN("queue", {"measures queues", measures_queues},
           {"counts small kernels", counts_small_kernels}, {"charges calls", charges_calls},
           {"pairs kinds of work", pairs_kinds_of_work}, {"spreads bytes", spreads_bytes})

/* Tables over hand-made GPU profiles whose numbers were worked out by hand; test_analyze.c has the
 * whole list over one profile. */
#include "check.h"
#include "gputrace.h"

#include "derive/reccost.h"
#include "tables/analyze.h"
#include "tables/lookup.h"
#include "work/devicepeaks.h"

static struct nl_result *ask(const struct nl_trace *trace, const char *name)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    struct nl_result *result = nl_analysis_run(nl_analysis_find(name), trace, &options, NULL, &err);
    CHECK(result != NULL);
    return result;
}

/* The total of one kind, as the table of events has it. */
static void holds(const struct nl_result *result, const char *kind, uint64_t count, int64_t total)
{
    for (uint32_t row = 0; row < result->rows; row++) {
        if (!nl_str_is(nl_lookup_text(result, row, "kind"), kind))
            continue;
        CHECK_INT(nl_lookup_i64(result, row, "count"), count);
        CHECK_INT(nl_lookup_i64(result, row, "total_ns"), total);
        return;
    }
    CHECK_STR(nl_str(kind), "a row of the table");
}

/* More neighbours of one kind than are added up at once, and ranges so long that their sum
 * stays at the most there is. */
static void events(void)
{
    struct gputrace make;
    int64_t calls = 0;
    gputrace_open(&make);
    for (int i = 0; i < 5000; i++) {
        struct nl_slice_row row = nl_slice_row();
        row.kind = NL_KIND_API;
        row.lane = make.calls;
        row.ts = i * 1000;
        row.dur = i % 900;
        calls += row.dur;
        nl_stage_slice(make.stage, &row);
    }
    for (int i = 0; i < 3; i++)
        gputrace_kernel(&make, 7, "gemm", 10000 + i * 100, 5, 10050 + i * 100, 7 + i);
    uint32_t ranges = gputrace_lane(&make, NL_LANE_NVTX, -1);
    for (int i = 0; i < 5; i++) {
        struct nl_slice_row row = nl_slice_row();
        row.kind = NL_KIND_NVTX;
        row.lane = ranges;
        row.ts = i;
        row.dur = INT64_C(1) << 61;
        nl_stage_slice(make.stage, &row);
    }
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_result *result = ask(trace, "events");
    holds(result, "api", 5003, calls + 3 * 5000);
    holds(result, "kernel", 3, 24000);
    holds(result, "nvtx", 5, INT64_MAX);
    nl_result_free(result);
    nl_trace_free(trace);
}

/* The stream that is listed second begins first and ends last, with two busy times. */
static void streams(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", 100, 5, 200, 100);
    gputrace_kernel(&make, 20, "gemm", 90, 5, 100, 50);
    gputrace_kernel(&make, 20, "gemm", 110, 5, 400, 70);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_result *result = ask(trace, "streams");
    REQUIRE(result->rows == 2);
    for (uint32_t row = 0; row < 2; row++) {
        bool one = nl_lookup_i64(result, row, "stream") == 7;
        CHECK_INT(nl_lookup_i64(result, row, "kernels"), one ? 1 : 2);
        CHECK_INT(nl_lookup_i64(result, row, "busy_ns"), one ? 100000 : 120000);
        CHECK_NEAR(nl_lookup_f64(result, row, "share"), (one ? 100.0 : 120.0) / 370.0, 1e-12);
    }
    nl_result_free(result);
    nl_trace_free(trace);
}

/* 2·4096³ operations in 10 ms on an H100, whose peak of 989.5 TFLOP/s holds at 132 × 4096 ×
 * 1,830 MHz; it ran at 915 MHz. */
static void clock_of_use(void)
{
    struct gputrace make;
    gputrace_open(&make);
    struct nl_op_row op = nl_op_row();
    op.slice = gputrace_slice(&make, NL_KIND_OP, make.calls, "aten::mm", 100, 20);
    op.shapes = nl_stage_name(make.stage, nl_str("[[4096, 4096], [4096, 4096]]"));
    op.dtypes = nl_stage_name(make.stage, nl_str("[\"c10::BFloat16\", \"c10::BFloat16\"]"));
    nl_stage_op(make.stage, &op);
    gputrace_kernel(&make, 7, "gemm", 105, 5, 1000, 10000);
    uint32_t lane = gputrace_lane(&make, NL_LANE_DEVICE, 0);
    for (int64_t ms = 0; ms <= 12; ms++) { /* readings before and after the work do not count */
        struct nl_counter_row row = nl_counter_row();
        row.series = nl_builder_series(make.builder, lane, nl_str("GPU clock"), nl_str(""));
        row.ts = gputrace_ns(&make, ms * 1000 + 10);
        row.value = ms >= 1 && ms < 11 ? 915 : 300;
        nl_stage_counter(make.stage, &row);
    }
    struct nl_device_row *device = nl_builder_device_row(make.builder, make.device);
    device->name = nl_builder_name(make.builder, nl_str("NVIDIA H100 80GB HBM3"));
    device->compute_major = 9;
    device->compute_minor = 0;
    device->sm_count = 132;
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_device_peaks *peaks = nl_device_peaks_new(trace);
    CHECK_NEAR(nl_clock_of_peak(trace, 0, &peaks[0]), 989.5e12 / 132 / 4096, 1);
    nl_device_peaks_free(peaks);
    struct nl_result *result = ask(trace, "efficiency");
    REQUIRE(result->rows == 1);
    CHECK_NEAR(nl_lookup_f64(result, 0, "clock_hz"), 915e6, 1);
    double hfu = 2.0 * 4096 * 4096 * 4096 / 10e-3 / 989.5e12;
    CHECK_NEAR(nl_lookup_f64(result, 0, "hfu"), hfu, 1e-9);
    CHECK_NEAR(nl_lookup_f64(result, 0, "hfu_at_clock"), hfu * 989.5e12 / (132 * 4096 * 915e6),
               1e-9);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void put_facts(struct gputrace *make, const char *const (*facts)[2])
{
    for (; (*facts)[0]; facts++)
        nl_builder_meta(make->builder, 0, (*facts)[0], nl_str((*facts)[1]));
}

/* Two processes: 1,000 + 500 events of 10 ns, 200 + 100 layers of 300 ns, 40 operators of
 * unknown cost, 7 us and 3 us for Python's hooks, 5 us of samples, 4 starts of 100 us, of 1 ms:
 * 15 + 90 + 10 + 5 + 400 = 520 us. */
static void recording_cost(void)
{
    static const char *const facts[][2] = {{"recorded events", "1000"},
                                           {"recorded events", "500"},
                                           {"recorder.event_ns", "10.000"},
                                           {"hooks run: layers", "200"},
                                           {"hooks run: layers", "100"},
                                           {"hooks run: operators", "40"},
                                           {"recorder.hook_ns.layers", "300.0"},
                                           {"recorder.hook_ns.tasks", "5.0"},
                                           {"Python hooks: processor time (ns)", "7000"},
                                           {"Python hooks: processor time (ns)", "3000"},
                                           {"recorder.samples_ns", "5000"},
                                           {"recorder.starts", "4"},
                                           {"recorder.start_ns", "100000"},
                                           {"recorder.program_cpu_ns", "1000000"},
                                           {NULL, NULL}};
    static const struct {
        const char *part;
        int64_t count, total;
    } want[] = {{"events", 1500, 15000},
                {"hooks of layers", 300, 90000},
                {"hooks of operators", 40, NL_NULL_I64},
                {"installing Python's hooks", NL_NULL_I64, 10000},
                {"CPU samples by the kernel", NL_NULL_I64, 5000},
                {"starts of processes", 4, 400000}};
    struct gputrace make;
    gputrace_open(&make);
    put_facts(&make, facts);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_result *result = ask(trace, "recording_cost");
    REQUIRE(result->rows == sizeof want / sizeof want[0]);
    for (size_t row = 0; row < result->rows; row++) {
        struct nl_str part = nl_lookup_text(result, row, "part");
        CHECK(nl_str_is(part, want[row].part));
        CHECK_INT(nl_lookup_i64(result, row, "count"), want[row].count);
        CHECK_INT(nl_lookup_i64(result, row, "total_ns"), want[row].total);
    }
    CHECK_NEAR(nl_lookup_f64(result, 5, "share"), 0.4, 1e-12);
    struct nl_reccost cost;
    CHECK(nl_reccost(trace, &cost));
    CHECK_NEAR(cost.total_ns, 520000, 1e-6);
    CHECK_NEAR(cost.share, 0.52, 1e-12);
    nl_result_free(result);
    nl_trace_free(trace);
}

/* Numbers of damaged recordings: none of them is believed, nothing overflows. */
static void absurd_cost(void)
{
    static const char *const facts[][2] = {{"recorded events", "8999999999999999999"},
                                           {"recorded events", "8999999999999999999"},
                                           {"recorder.event_ns", "8e18"},
                                           {"hooks run: layers", "-5"},
                                           {"hooks run: operators", "18446744073709551615"},
                                           {"hooks run: NVTX ranges", "8e18"},
                                           {"recorder.hook_ns.nvtx", "8e18"},
                                           {"recorder.hook_ns.layers", "nan"},
                                           {"recorder.program_cpu_ns", "1e-300"},
                                           {NULL, NULL}};
    struct gputrace make;
    gputrace_open(&make);
    put_facts(&make, facts);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_reccost cost;
    CHECK(!nl_reccost(trace, &cost));
    nl_result_free(ask(trace, "recording_cost"));
    nl_trace_free(trace);
}

CHECK_MAIN("tables", {"events", events}, {"streams", streams},
           {"use at the clock that was read", clock_of_use},
           {"what recording cost", recording_cost}, {"absurd costs", absurd_cost})

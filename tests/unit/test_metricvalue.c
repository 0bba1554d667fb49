/* The value of every metric in one capture (compare/metricvalue.h), worked out by hand, with what
 * is known of its error; and why a value is not known. */
#include "base/mem.h"
#include "check.h"
#include "compare/diffparts.h"
#include "compare/diffteam.h"
#include "compare/metricvalue.h"
#include "compare/partnoise.h"
#include "compare/replicate.h"
#include "gputrace.h"

#define STEPS 11

/* Steps of 100, 101 … 110 us, one a millisecond. In each: a product from 10 us after
 * its start to 30 us before its end, a gelu of 5 us, a copy of 4 us, a collective of
 * 3 us; 28 us of idle time. */
static struct nl_trace *steps_trace(void)
{
    struct gputrace make;
    struct gputrace_copy copy = {.kind = NL_COPY_HTOD, .host = NL_MEMORY_PINNED, .bytes = 4096};
    gputrace_open(&make);
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t at = 1000 * i, end = at + 100 + i;
        gputrace_step(&make, at, end - at);
        gputrace_op(&make, "aten::mm", at, 6);
        gputrace_op(&make, "aten::gelu", at + 6, 2 + i);
        gputrace_kernel(&make, 7, "gemm_long", at + 1, 2, at + 10, 60 + i);
        gputrace_kernel(&make, 7, "gelu_kernel", at + 4, 1, end - 30, 5);
        gputrace_copy(&make, 7, copy, at + 6, 1, end - 25, 4);
        gputrace_kernel(&make, 7, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 8, 1, end - 21,
                        3);
    }
    return gputrace_close(&make);
}

/* A capture of a trace, measured. */
struct made {
    struct nl_trace *trace;
    struct diff_side side;
    struct diff_parts parts;
};

static bool measure(struct made *made, struct nl_trace *trace, enum diff_unit unit)
{
    struct nl_diff_input input = {.trace = trace, .word = "a"};
    made->trace = trace;
    made->parts = (struct diff_parts){0};
    if (!trace)
        return false;
    diff_team_open(&made->side, &input);
    return unit == DIFF_UNITS || diff_side_measure(&made->side, unit, &made->parts);
}

static void release(struct made *made)
{
    diff_parts_release(&made->parts);
    diff_side_release(&made->side);
    nl_trace_free(made->trace);
}

static struct nl_metric_value value_of(struct made *made, const char *text,
                                       const struct nl_diff_input *input)
{
    struct nl_arena arena;
    struct nl_metric metric;
    struct nl_err err = {0};
    size_t at = 0;
    nl_arena_init(&arena);
    struct nl_metric_value value = {.missing = "no metric"};
    check_case(text);
    if (check_true(nl_metric_parse(text, &at, &metric, &arena, &err), "parsed", __FILE__, __LINE__))
        value = nl_metric_of(&metric, &made->side, input);
    nl_arena_free(&arena);
    return value;
}

static void check_value(struct made *made, const char *text, double value, double se)
{
    struct nl_metric_value got = value_of(made, text, NULL);
    CHECK(!got.missing);
    CHECK_NEAR(got.value, value, 1e-9 * fabs(value));
    CHECK_NEAR(got.se, se, 1e-12);
}

static void check_missing(struct made *made, const char *text, const char *why)
{
    struct nl_metric_value got = value_of(made, text, NULL);
    CHECK(isnan(got.value) && isnan(got.se));
    CHECK_TEXT(got.missing ? got.missing : "", why);
}

/* How surely the steps say what their mean and median are. */
static struct nl_capture capture_of_steps(void)
{
    double lengths[STEPS];
    for (int i = 0; i < STEPS; i++)
        lengths[i] = 1000 * (100 + i);
    return nl_capture_of(lengths, STEPS);
}

static void lengths_of_steps(void)
{
    static const struct {
        const char *text;
        double value;
        enum { OF_MEAN, OF_MEDIAN, OF_COUNT } error;
    } cases[] = {
        {"step.p50", 105000, OF_MEDIAN},       {"step.p90", 109000, OF_MEAN},
        {"step.p95", 109500, OF_MEAN},         {"step.p99", 109900, OF_MEAN},
        {"step.min", 100000, OF_MEAN},         {"step.max", 110000, OF_MEAN},
        {"step.mean", 105000, OF_MEAN},        {"step.count", STEPS, OF_COUNT},
        {"steps_per_s", 1e9 / 105e3, OF_MEAN}, {"latency.p50", 105000, OF_MEDIAN},
        {"latency.p95", 109500, OF_MEAN},      {"latency.p99", 109900, OF_MEAN},
        {"latency.mean", 105000, OF_MEAN},     {"throughput", 1e9 / 105e3, OF_MEAN},
        {"time.mean", 105000, OF_MEAN},
    };
    struct nl_capture steps = capture_of_steps();
    struct made made;
    REQUIRE(measure(&made, steps_trace(), DIFF_BY_STEP));
    CHECK(steps.mean_se > 0 && steps.median_se > 0 && steps.mean_se != steps.median_se);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        check_value(&made, cases[i].text, cases[i].value,
                    cases[i].error == OF_COUNT    ? 0
                    : cases[i].error == OF_MEDIAN ? steps.median_se
                                                  : steps.mean_se);
    /* until the end of the last collective */
    check_value(&made, "run.duration", 1000.0 * (10 * 1000 + 110 - 18), NAN);
    release(&made);
}

/* Between the only two. */
static void lengths_of_two_steps(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 2; i++) {
        gputrace_step(&make, 1000 * i, 100 + 10 * i);
        gputrace_kernel(&make, 7, "gemm_long", 1000 * i + 1, 2, 1000 * i + 10, 60);
    }
    struct made made;
    REQUIRE(measure(&made, gputrace_close(&make), DIFF_BY_STEP));
    CHECK_NEAR(value_of(&made, "step.min", NULL).value, 100000, 1e-6);
    CHECK_NEAR(value_of(&made, "step.p50", NULL).value, 105000, 1e-6);
    CHECK_NEAR(value_of(&made, "step.p95", NULL).value, 109500, 1e-6);
    CHECK_NEAR(value_of(&made, "step.max", NULL).value, 110000, 1e-6);
    release(&made);
}

/* In a step: 65 + 5 us of computing, 3 and 4 us of communication and copies, 28 of nothing. */
static void parts_of_steps(void)
{
    static const struct {
        const char *text, *share;
        double ns;
        enum diff_group group;
    } cases[] = {{"compute.ns", "compute.share", 70000, DIFF_COMPUTE},
                 {"exposed_comm.ns", "exposed_comm.share", 3000, DIFF_COMM},
                 {"exposed_copy.ns", "exposed_copy.share", 4000, DIFF_COPY},
                 {"idle.ns", "idle.share", 28000, DIFF_IDLE}};
    struct made made;
    REQUIRE(measure(&made, steps_trace(), DIFF_BY_STEP));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_part_noise noise = nl_part_noise_of(&made.side, cases[i].group, false);
        check_value(&made, cases[i].text, cases[i].ns, noise.se);
        CHECK_NEAR(value_of(&made, cases[i].text, NULL).wider, noise.wider, 1e-12);
        noise = nl_part_noise_of(&made.side, cases[i].group, true);
        check_value(&made, cases[i].share, cases[i].ns / 105e3, noise.se);
        CHECK_NEAR(value_of(&made, cases[i].share, NULL).wider, noise.wider, 1e-12);
    }
    release(&made);
}

static void counts_of_steps(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"kernels.count", 3},        {"launches.count", 3},     {"syncs.count", 0},
                 {"blocking_calls.count", 0}, {"copies.count", 1},       {"copies.bytes", 4096},
                 {"allocations.count", 0},    {"compilations.count", 0}, {"operators.count", 2}};
    struct made made;
    REQUIRE(measure(&made, steps_trace(), DIFF_BY_STEP));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        check_value(&made, cases[i].text, cases[i].value, 0);
    release(&made);
}

static void run_on(struct gputrace *make, int64_t us, int64_t end_us)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = NL_KIND_SCHED;
    row.lane = gputrace_lane(make, NL_LANE_SCHED, -1);
    row.name = nl_stage_name(make->stage, nl_str("CPU 0"));
    row.ts = us * 1000;
    row.dur = (end_us - us) * 1000;
    row.flags = NL_SLICE_READY;
    nl_stage_slice(make->stage, &row);
}

/* Other programs had the processor for 5 us of the first and 30 us of the last step,
 * which are left out of what threads took, not of what a device did; of the step before
 * it all, which counts as 1 ns. */
static void without_what_others_took(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < STEPS; i++) {
        gputrace_step(&make, 1000 * i, 100 + i);
        gputrace_op(&make, "aten::mm", 1000 * i, 90);
    }
    run_on(&make, 0, 20);
    run_on(&make, 25, 9000);
    run_on(&make, 9110, 10050);
    run_on(&make, 10080, 11000);
    struct made made;
    REQUIRE(measure(&made, gputrace_close(&make), DIFF_UNITS));
    made.side.unit = DIFF_BY_HOST;
    check_value(&made, "step.max", 110000, capture_of_steps().mean_se);
    made.side.preempt = nl_preempt_new(made.trace);
    REQUIRE(made.side.preempt);
    CHECK_NEAR(value_of(&made, "step.min", NULL).value, 1, 1e-9);
    CHECK_NEAR(value_of(&made, "step.max", NULL).value, 108000, 1e-6);
    CHECK_NEAR(value_of(&made, "step.mean", NULL).value, (9 * 104000 - 5000 + 1 + 80000) / 11.0,
               1e-6);
    made.side.unit = DIFF_BY_STEP;
    check_value(&made, "step.max", 110000, capture_of_steps().mean_se);
    release(&made);
}

/* Without steps: of all there is. */
static void without_steps(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm_long", 0, 2, 10, 60);
    gputrace_kernel(&make, 7, "gemm_long", 3, 2, 90, 20);
    struct made made;
    REQUIRE(measure(&made, gputrace_close(&make), DIFF_BY_WALL));
    check_missing(&made, "step.p50", "no steady steps; mark steps, or see docs/steps.md");
    check_missing(&made, "latency.mean", "no steady steps; mark steps, or see docs/steps.md");
    check_value(&made, "time.mean", 100000, NAN);
    check_value(&made, "run.duration", 110000, NAN);
    check_value(&made, "compute.ns", 80000, NAN);
    check_value(&made, "compute.share", 0.8, NAN);
    check_value(&made, "idle.ns", 20000, NAN);
    check_value(&made, "exposed_copy.share", 0, NAN);
    check_value(&made, "kernels.count", 2, 0);
    made.side.unit = DIFF_BY_WORK;
    check_missing(&made, "compute.ns", "no GPU activity with times");
    check_value(&made, "time.mean", 100000, NAN);
    made.side.unit = DIFF_UNITS;
    check_missing(&made, "compute.share", "no GPU activity with times");
    check_missing(&made, "time.mean", "nothing that takes time");
    release(&made);
}

/* A device was seen but no kernel and no operator: of copies there are none, of collectives one
 * does not know. */
static void what_could_have_been_seen(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "range", 0, 50);
    struct made made;
    REQUIRE(measure(&made, gputrace_close(&make), DIFF_UNITS));
    check_value(&made, "kernels.count", 0, 0);
    check_value(&made, "copies.bytes", 0, 0);
    check_missing(&made, "collectives.count", "not recorded");
    check_missing(&made, "operators.count", "not recorded");
    release(&made);
    gputrace_open(&make);
    gputrace_op(&make, "aten::mm", 0, 6);
    REQUIRE(measure(&made, gputrace_close(&make), DIFF_UNITS));
    check_value(&made, "collectives.count", 0, 0);
    check_value(&made, "operators.count", 1, 0);
    release(&made);
}

/* Rows of tables: sums of what adds up, of the rest the largest; an error of 1 % where it is a
 * time. */
static void tables(void)
{
    static const struct {
        const char *text;
        double value, se;
    } cases[] = {
        {"kernel[\"gemm_long\"].total", 65000 * STEPS, 0.01},
        {"kernel[\"gemm_long\"].total_ns", 65000 * STEPS, 0.01},
        {"kernel[\"gemm_long\"].count", STEPS, 0},
        {"kernel[\"gemm_long\"].mean", 65000, 0.01},
        {"kernel[\"gemm_long\"].max", 70000, 0.01},
        {"kernel[\"gemm_long\"].min", 60000, 0.01},
        {"kernel[\"gelu_kernel\"].max", 5000, 0.01},
        {"kernel[\"g*\"].total", 70000 * STEPS, 0.01},
        {"kernel[\"g*\"].count", 2 * STEPS, 0},
        {"kernel[\"g*\"].max", 70000, 0.01},
        {"kernel[\"g*\"].mean", 65000, 0.01},
        {"kernel[\"ge??_*\"].max", 70000, 0.01},
        {"kernel[\"gelu*\"].mean", 5000, 0.01},
        {"kernel.count", 3 * STEPS, 0},
        {"kernel.total", 73000 * STEPS, 0.01},
        {"op[\"aten::gelu\"].max", 12000, 0.01},
        {"op[\"aten::gelu\"].p50", 7000, 0.01},
        {"op.count", 2 * STEPS, 0},
        {"time_breakdown.rank", 0, 0.01}, /* its first column */
    };
    struct made made;
    REQUIRE(measure(&made, steps_trace(), DIFF_BY_STEP));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        check_value(&made, cases[i].text, cases[i].value, cases[i].se);
    check_missing(&made, "kernel[\"none\"].total", "no such row in the table");
    check_missing(&made, "range[\"none\"].total", "no such row in the table");
    check_missing(&made, "range.count", "the table is empty");
    check_missing(&made, "kernel.nothing_ns", "the table has no such column");
    release(&made);
}

/* The run document's: samples follow from the batch size that is known of the run besides. */
static void of_the_document(void)
{
    static const struct nl_diff_fact facts[] = {
        {"run.git_commit", "abc"}, {"workload.batch_size", "8"}, {"workload.model", "gpt"}};
    struct nl_diff_input input = {.facts = facts, .fact_count = CHECK_LENGTH(facts)};
    struct made made;
    struct nl_capture steps = capture_of_steps();
    REQUIRE(measure(&made, steps_trace(), DIFF_BY_STEP));
    const char *why = "an input of it is not known; docs/metrics.md names them";
    check_missing(&made, "samples_per_s", why);
    check_missing(&made, "mfu", why);
    struct nl_metric_value got = value_of(&made, "samples_per_s", &input);
    CHECK(!got.missing);
    CHECK_NEAR(got.value, 8e9 / 105e3, 1e-6 * 8e9 / 105e3);
    CHECK_NEAR(got.se, steps.mean_se, 1e-12);
    input.fact_count = 1;
    CHECK(isnan(value_of(&made, "samples_per_s", &input).value));
    static const char *const shares[] = {"step_compute_share", "step_exposed_comm_share",
                                         "step_exposed_copy_share", "step_idle_share"};
    static const double us[] = {70, 3, 4, 28};
    for (unsigned group = 0; group < CHECK_LENGTH(shares); group++) {
        struct nl_part_noise noise = nl_part_noise_of(&made.side, (enum diff_group)group, true);
        got = value_of(&made, shares[group], NULL);
        CHECK_NEAR(got.value, us[group] / 105, 1e-9);
        CHECK_NEAR(got.se, noise.se, 1e-12);
        CHECK_NEAR(got.wider, noise.wider, 1e-12);
    }
    /* 77 us of 11 steps, from the first product on; a part of the time varies by more than all */
    double busy = 77e3 * STEPS / 10082e3;
    got = value_of(&made, "gpu_busy.share", NULL);
    CHECK_NEAR(got.value, busy, 1e-9);
    CHECK_NEAR(got.se, steps.mean_se / got.value, 1e-9);
    release(&made);
}

CHECK_MAIN("metricvalue", {"lengths of steps", lengths_of_steps},
           {"lengths of two steps", lengths_of_two_steps}, {"parts of steps", parts_of_steps},
           {"counts of steps", counts_of_steps},
           {"without what others took", without_what_others_took}, {"without steps", without_steps},
           {"what could have been seen", what_could_have_been_seen}, {"tables", tables},
           {"of the document", of_the_document})

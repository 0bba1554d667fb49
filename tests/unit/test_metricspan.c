/* Lengths of operators, layers and functions without what other programs took of them:
 * numbers worked out on paper. */
#include "check.h"
#include "compare/diffside.h"
#include "compare/metricspan.h"
#include "plantedcpu.h"
#include "timeline/preempt.h"

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

static void layer(struct gputrace *make, const char *name, int64_t us, int64_t dur_us)
{
    struct nl_layer_row row = nl_layer_row();
    row.slice = gputrace_slice(make, NL_KIND_LAYER, make->calls, name, us, dur_us);
    nl_stage_layer(make->stage, &row);
}

/* Kept from running in [100,150) and [1100,1140). Without that, mm takes 20, 50 and 30 us, add 400,
 * conv 50 and 10, and of the functions train 100, load 25 and again 75. */
static struct nl_trace *kept_trace(void)
{
    struct gputrace make;
    gputrace_open(&make);
    run_on(&make, 0, 100);
    run_on(&make, 150, 1100);
    run_on(&make, 1140, 2000);
    gputrace_op(&make, "aten::mm", 10, 20);
    gputrace_op(&make, "aten::mm", 80, 100);
    gputrace_op(&make, "aten::mm", 200, 30);
    gputrace_op(&make, "aten::add", 300, 400);
    layer(&make, "conv", 1090, 90);
    layer(&make, "conv", 1200, 10);
    cpu_python(&make, "train", 1080, 140);
    cpu_python(&make, "load", 1300, 25);
    cpu_python(&make, "load", 1400, 75);
    return gputrace_close(&make);
}

static const struct {
    const char *table, *row, *column;
    double us; /* -1: not a length that this knows */
} cases[] = {
    {"ops", "aten::mm", "min_ns", 20},    {"ops", "aten::mm", "median_ns", 30},
    {"ops", "aten::mm", "p95_ns", 48},    {"ops", "aten::mm", "max_ns", 50},
    {"ops", "aten::mm", "total_ns", 100}, {"ops", "aten::mm", "mean", 100 / 3.0},
    {"ops", "aten::add", "p95_ns", 400},  {"ops", "aten::*", "total_ns", 500},
    {"ops", "aten::*", "median_ns", 400}, {"ops", NULL, "mean", 400},
    {"ops", "aten::?m", "max_ns", 50},    {"ops", "mm", "max_ns", -1},
    {"ops", "aten::mm", "count", -1},     {"layers", "conv", "total_ns", 60},
    {"layers", "conv", "min_ns", 10},     {"python", "train", "max_ns", 100},
    {"python", "load", "mean", 50},       {"python", NULL, "total_ns", 200},
    {"nvtx", NULL, "total_ns", -1},       {"kernels", NULL, "total_ns", -1},
};

static void measures(struct diff_side *side, size_t row, double want_us)
{
    const struct nl_metric metric = {.source = NL_METRIC_TABLE,
                                     .table = cases[row].table,
                                     .row = cases[row].row,
                                     .column = cases[row].column};
    struct nl_metric_value value = {.value = -1000};
    bool known = nl_metric_span(&metric, side, &value);
    check_case(cases[row].column);
    CHECK_INT(known, want_us >= 0);
    if (known)
        CHECK_NEAR(value.value, want_us * 1000, 1e-6);
}

static void lengths(void)
{
    struct nl_trace *trace = kept_trace();
    REQUIRE(trace);
    struct diff_side side;
    diff_side_open(&side, trace, &(struct nl_window){0});
    side.unit = DIFF_BY_HOST;
    side.preempt = nl_preempt_new(trace);
    REQUIRE(side.preempt);
    for (size_t row = 0; row < CHECK_LENGTH(cases); row++)
        measures(&side, row, cases[row].us);
    side.unit = DIFF_BY_STEP; /* its numbers are not compared without what others took */
    measures(&side, 0, -1);
    diff_side_release(&side);
    nl_trace_free(trace);
}

CHECK_MAIN("metricspan", {"lengths", lengths})

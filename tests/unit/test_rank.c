/*
 * A ranking of two candidates that can be worked out on paper: who is fastest in which operator,
 * module and range, through what, and what a step costs.
 */
#include <math.h>

#include "base/mem.h"
#include "check.h"
#include "compare/rank.h"
#include "gputrace.h"

#define STEPS 6

/* us of the parts of a step, one after another: block.0 has a product, block.1 a product and a
 * gelu, which is called `gelus` times. `watts` at the start, and more with each us. */
struct plan {
    const char *product, *gelu;
    int64_t mm, gelu_us, gelus, length;
    double watts, more;
    const char *unit; /* of readings: "W", or "J" of a counter of energy */
    int64_t from, until, every;
};

static void module(struct gputrace *make, const char *name, int64_t us, int64_t dur)
{
    struct nl_layer_row row = nl_layer_row();
    row.slice = gputrace_slice(make, NL_KIND_LAYER, make->calls, name, us, dur);
    nl_stage_layer(make->stage, &row);
}

static void read_power(struct gputrace *make, const struct plan *plan, int64_t us)
{
    uint32_t lane = gputrace_lane(make, NL_LANE_DEVICE, 0);
    struct nl_counter_row row = nl_counter_row();
    double t = (double)us;
    bool energy = !strcmp(plan->unit, "J");
    row.series = nl_builder_series(make->builder, lane, nl_str(energy ? "GPU energy" : "GPU power"),
                                   nl_str(plan->unit));
    row.ts = us * 1000;
    row.value =
        energy ? (plan->watts * t + plan->more * t * t / 2) * 1e-6 : plan->watts + plan->more * t;
    nl_stage_counter(make->stage, &row);
}

static struct nl_trace *made(const struct plan *plan)
{
    struct gputrace make;
    gputrace_open(&make);
    struct nl_device_row *device = nl_builder_device_row(make.builder, make.device);
    device->name = nl_builder_name(make.builder, nl_str("NVIDIA H100 80GB HBM3"));
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t at = i * plan->length, gpu = at + 10;
        gputrace_step(&make, at, plan->length);
        gputrace_slice(&make, NL_KIND_NVTX, make.calls, "forward", at, 9);
        module(&make, "block.0", at, 2);
        gputrace_op(&make, "aten::mm", at, 2);
        gputrace_kernel(&make, 7, plan->product, at, 1, gpu, plan->mm);
        module(&make, "block.1", at + 3, 5);
        gputrace_op(&make, "aten::mm", at + 3, 2);
        gputrace_kernel(&make, 7, plan->product, at + 3, 1, gpu + plan->mm, plan->mm);
        gputrace_op(&make, "aten::gelu", at + 5, 3);
        for (int64_t k = 0; k < plan->gelus; k++)
            gputrace_kernel(&make, 7, plan->gelu, at + 5 + k, 1,
                            gpu + 2 * plan->mm + k * plan->gelu_us, plan->gelu_us);
    }
    for (int64_t us = plan->from; plan->unit && us <= plan->until; us += plan->every)
        read_power(&make, plan, us);
    return gputrace_close(&make);
}

/* 40 + 40 + 10 of 110 us at 200 W. */
static const struct plan slow = {"sgemm_a", "gelu_kernel", 40,  10,  1, 110, 200,
                                 0,         "W",           -20, 700, 20};
/* 20 + 20 + 2 · 10 of 70 us; 100 W and 1 W more each us: 310 W on average of 420 us. */
static const struct plan fast = {"hgemm_b", "gelu_kernel", 20,  10,  2, 70, 100,
                                 1,         "W",           -30, 450, 30};

static struct nl_report *ranked(const struct nl_trace *a, const struct nl_trace *b,
                                const char *section, struct nl_err *err)
{
    struct nl_diff_input inputs[2] = {{.trace = a, .word = "a"}, {.trace = b, .word = "b"}};
    struct nl_rank_price prices[] = {{"h100", 3.6}, {"a", 1.8}};
    struct nl_rank_options options = {prices, 2, section};
    bool comparable = false;
    struct nl_report *report = nl_rank_new(inputs, 2, &options, &comparable, NULL, err);
    CHECK(!report || comparable);
    return report;
}

static const struct nl_cell *cell(const struct nl_report *report, const char *section,
                                  const char *name, const char *column)
{
    const struct nl_result *result = nl_report_result(report, section);
    for (size_t row = 0; result && row < result->rows; row++)
        for (size_t i = 0;
             nl_str_is(nl_result_cell(result, row, 0)->text, name) && i < result->column_count; i++)
            if (!strcmp(result->columns[i].name, column))
                return nl_result_cell(result, row, i);
    return NULL;
}

static int64_t whole(const struct nl_report *report, const char *section, const char *name,
                     const char *column)
{
    const struct nl_cell *found = cell(report, section, name, column);
    return found && found->type == NL_CELL_I64 ? found->i64 : NL_NULL_I64;
}

static double number(const struct nl_report *report, const char *section, const char *name,
                     const char *column)
{
    const struct nl_cell *found = cell(report, section, name, column);
    return found && found->type == NL_CELL_F64 ? found->f64 : NAN;
}

static const char *text(const struct nl_report *report, const char *section, const char *name,
                        const char *column)
{
    static char out[512];
    const struct nl_cell *found = cell(report, section, name, column);
    bool known = found && found->type == NL_CELL_TEXT;
    snprintf(out, sizeof out, "%.*s", known ? (int)found->text.len : 0,
             known ? found->text.ptr : "");
    return out;
}

static void levels(void)
{
    struct nl_err err = {0};
    struct nl_trace *a = made(&slow), *b = made(&fast);
    REQUIRE(a && b);
    struct nl_report *report = ranked(a, b, NULL, &err);
    REQUIRE(report);
    CHECK_TEXT(text(report, "operators", "aten::mm", "fastest"), "b");
    CHECK_INT(whole(report, "operators", "aten::mm", "lead_ns"), 40000);
    CHECK_INT(whole(report, "operators", "aten::mm", "time_1_ns"), 40000);
    CHECK_INT(whole(report, "operators", "aten::mm", "time_2_ns"), 80000);
    CHECK(fabs(number(report, "operators", "aten::mm", "speedup") - 2) < 1e-9);
    CHECK(number(report, "operators", "aten::mm", "speedup_low") > 1.8);
    CHECK(number(report, "operators", "aten::mm", "speedup_high") < 2.2);
    CHECK_TEXT(text(report, "operators", "aten::mm", "tie"), "no");
    CHECK_TEXT(text(report, "operators", "aten::mm", "because"),
               "hgemm_b instead of sgemm_a (40.00 µs, not 80.00 µs)");
    CHECK_TEXT(text(report, "operators", "aten::gelu", "fastest"), "a");
    CHECK_TEXT(text(report, "operators", "aten::gelu", "because"),
               "gelu_kernel runs 1 times, not 2 (10.00 µs, not 20.00 µs)");
    CHECK_INT(whole(report, "modules", "block.0", "lead_ns"), 20000);
    CHECK_INT(whole(report, "modules", "block.1", "lead_ns"), 10000);
    CHECK_TEXT(text(report, "modules", "block.1", "because"),
               "aten::mm takes 0.5 of the time (20.00 µs, not 40.00 µs)");
    CHECK_INT(whole(report, "ranges", "forward", "lead_ns"), 30000);
    /* two names for what stands at one place are one row */
    CHECK_INT(whole(report, "kernels", "hgemm_b", "time_2_ns"), 80000);
    CHECK(!cell(report, "kernels", "sgemm_a", "name"));
    nl_report_free(report);
    report = ranked(a, b, "modules", &err);
    REQUIRE(report);
    CHECK_INT((int64_t)report->result_count, 1);
    CHECK_TEXT(report->results[0]->name, "modules");
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

static struct nl_trace *one_kernel(int64_t us)
{
    struct gputrace make;
    gputrace_open(&make);
    nl_builder_device_row(make.builder, make.device)->name =
        nl_builder_name(make.builder, nl_str("NVIDIA H100 80GB HBM3"));
    gputrace_kernel(&make, 7, "gemm", 0, 2, 10, us);
    return gputrace_close(&make);
}

/* Nothing takes "1 times as long". */
static void about_as_long(void)
{
    static const struct {
        int64_t us;
        const char *says;
    } cases[] = {{1000, "b takes the same time"},
                 {1004, "b takes about as long, by one measurement each"},
                 {1006, "b takes 1.01 times as long, by one measurement each"}};
    struct nl_err err = {0};
    struct nl_trace *a = one_kernel(1000);
    REQUIRE(a);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_trace *b = one_kernel(cases[i].us);
        REQUIRE(b);
        struct nl_report *report = ranked(a, b, NULL, &err);
        REQUIRE(report && report->headline_count);
        check_case(cases[i].says);
        CHECK(nl_str_contains(nl_str(report->headlines[0]), cases[i].says));
        nl_report_free(report);
        nl_trace_free(b);
    }
    nl_trace_free(a);
}

static void costs(void)
{
    struct nl_err err = {0};
    struct nl_trace *a = made(&slow), *b = made(&fast);
    REQUIRE(a && b);
    struct nl_report *report = ranked(a, b, NULL, &err);
    REQUIRE(report);
    CHECK(fabs(number(report, "cost", "a", "energy_j") - 200 * 110e-6) < 1e-12);
    CHECK(fabs(number(report, "cost", "b", "energy_j") - 310 * 70e-6) < 1e-12);
    CHECK(fabs(number(report, "cost", "b", "power_w") - 310) < 1e-9);
    CHECK(fabs(number(report, "cost", "b", "energy_known_share") - 1) < 1e-12);
    CHECK(fabs(number(report, "cost", "a", "price_per_hour_usd") - 1.8) < 1e-12);
    CHECK(fabs(number(report, "cost", "a", "price_usd") - 1.8 / 3600 * 110e-6) < 1e-18);
    CHECK(fabs(number(report, "cost", "b", "price_usd") - 3.6 / 3600 * 70e-6) < 1e-18);
    CHECK(isnan(number(report, "cost", "a", "energy_per_item_j"))); /* no batch was told */
    CHECK_TEXT(text(report, "recommendation", "time", "choose"), "b");
    CHECK_TEXT(text(report, "recommendation", "energy", "choose"), "b");
    CHECK_TEXT(text(report, "recommendation", "price", "choose"), "a");
    CHECK(fabs(number(report, "recommendation", "price", "ratio") - 1.8 * 110 / (3.6 * 70)) <
          1e-12);
    CHECK(strstr(text(report, "recommendation", "time", "not_known"), "batch size") != NULL);
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

/* Energy of one side in J a step, with readings as planned. */
static double energy_of(struct plan plan)
{
    struct nl_err err = {0};
    struct nl_trace *a = made(&slow), *b = made(&plan);
    struct nl_report *report = a && b ? ranked(a, b, "cost", &err) : NULL;
    CHECK(report != NULL);
    if (!report)
        return NAN;
    double joules = number(report, "cost", "b", "energy_j");
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
    return joules;
}

static void readings(void)
{
    struct plan plan = fast;
    check_case("a counter of energy");
    plan.unit = "J";
    CHECK(fabs(energy_of(plan) - 310 * 70e-6) < 1e-12);
    check_case("readings of 84 % of the time: what is told is taken for all");
    plan = fast;
    plan.more = 0;
    plan.from = 66;
    CHECK(fabs(energy_of(plan) - 100 * 70e-6) < 1e-12);
    check_case("readings of 64 %");
    plan.from = 150;
    CHECK(isnan(energy_of(plan)));
    check_case("no readings");
    plan.unit = NULL;
    CHECK(isnan(energy_of(plan)));
    check_case("a limit is no power");
    plan = fast;
    plan.unit = "W limit";
    CHECK(isnan(energy_of(plan)));
}

static void wrong_price(void)
{
    struct nl_err err = {0};
    struct nl_trace *a = made(&slow), *b = made(&fast);
    REQUIRE(a && b);
    struct nl_diff_input inputs[2] = {{.trace = a, .word = "a"}, {.trace = b, .word = "b"}};
    struct nl_rank_price price = {"MI300", 2};
    struct nl_rank_options options = {&price, 1, NULL};
    bool comparable;
    CHECK(!nl_rank_new(inputs, 2, &options, &comparable, NULL, &err));
    CHECK_INT(err.code, NL_USAGE);
    CHECK(strstr(err.text, "such as NVIDIA H100") != NULL);
    nl_trace_free(a);
    nl_trace_free(b);
}

CHECK_MAIN("rank", {"levels", levels}, {"about as long", about_as_long}, {"costs", costs},
           {"readings", readings}, {"wrong price", wrong_price})

/* cpu_samples: self and total weights of a tree worked out by hand. */
#include "check.h"

#include "derive/derive.h"
#include "tables/analyze.h"
#include "tables/lookup.h"
#include "store/builder.h"

struct made {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t lane;
};

static struct made begin(void)
{
    struct made made = {.builder = nl_builder_new(NULL)};
    uint32_t source = nl_builder_source(made.builder, "x", "test");
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = nl_builder_process(made.builder, source, 1),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    key.thread = nl_builder_thread(made.builder, key.process, 2);
    made.lane = nl_builder_lane(made.builder, &key);
    made.stage = nl_stage_new(made.builder);
    nl_stage_begin(made.stage, source, 0);
    return made;
}

static uint32_t frame(struct made *made, uint32_t parent, const char *name)
{
    struct nl_stack_row row = nl_stack_row();
    row.parent = parent;
    row.name = nl_stage_name(made->stage, nl_str(name));
    return nl_stage_stack(made->stage, &row);
}

static void sample(struct made *made, uint32_t stack, int64_t ts, int64_t weight, const char *event)
{
    struct nl_sample_row row = nl_sample_row();
    row.stack = stack;
    row.lane = made->lane;
    row.ts = ts;
    row.weight = weight;
    row.event = event ? nl_stage_name(made->stage, nl_str(event)) : NL_NO_NAME;
    nl_stage_sample(made->stage, &row);
}

static struct nl_trace *end(struct made *made)
{
    struct nl_err err;
    return nl_builder_finish(made->builder, &err);
}

static struct nl_result *ask(const struct nl_trace *trace, struct nl_analyze_options options)
{
    struct nl_err err = {0};
    return nl_analysis_run(nl_analysis_find("cpu_samples"), trace, &options, NULL, &err);
}

static void check_row(const struct nl_result *result, const char *name, int64_t samples,
                      int64_t self, int64_t total)
{
    check_case(name);
    for (size_t row = 0; row < result->rows; row++) {
        if (!nl_str_is(nl_lookup_text(result, row, "function"), name))
            continue;
        CHECK_INT(nl_lookup_i64(result, row, "samples"), samples);
        CHECK_INT(nl_lookup_i64(result, row, "self_weight"), self);
        CHECK_INT(nl_lookup_i64(result, row, "total_weight"), total);
        return;
    }
    bool function_is_there = false;
    CHECK(function_is_there);
}

/* main(1) > f(10) > g(5) > f(100) > h(1000), main > g(7): f within f counts once. */
static void weighs_recursion_once(void)
{
    struct made made = begin();
    uint32_t root = frame(&made, NL_NULL_ROW, "main"), f = frame(&made, root, "f");
    uint32_t g = frame(&made, f, "g"), f2 = frame(&made, g, "f"), h = frame(&made, f2, "h");
    uint32_t g2 = frame(&made, root, "g");
    sample(&made, root, NL_NULL_I64, 1, NULL);
    sample(&made, f, NL_NULL_I64, 10, NULL);
    sample(&made, g, NL_NULL_I64, 5, NULL);
    sample(&made, f2, NL_NULL_I64, 100, NULL);
    sample(&made, h, NL_NULL_I64, 1000, NULL);
    sample(&made, g2, NL_NULL_I64, 7, NULL);
    struct nl_trace *trace = end(&made);
    struct nl_result *result = ask(trace, (struct nl_analyze_options){0});
    CHECK_INT(result->rows, 4);
    check_row(result, "h", 1, 1000, 1000);
    check_row(result, "f", 2, 110, 1115);
    check_row(result, "g", 2, 12, 1112);
    check_row(result, "main", 1, 1, 1123);
    CHECK_STR(nl_lookup_text(result, 0, "function"), "h");
    CHECK_NEAR(nl_lookup_f64(result, 0, "share"), 1000 / 1123.0, 1e-12);
    nl_result_free(result);
    nl_trace_free(trace);
}

static void keeps_events_apart(void)
{
    struct made made = begin();
    uint32_t a = frame(&made, NL_NULL_ROW, "a"), b = frame(&made, NL_NULL_ROW, "b");
    sample(&made, a, 1, 3, "cycles");
    sample(&made, b, 2, NL_NULL_I64, "faults");
    sample(&made, b, 3, NL_NULL_I64, "faults");
    struct nl_trace *trace = end(&made);
    struct nl_result *result = ask(trace, (struct nl_analyze_options){0});
    REQUIRE(result->rows == 2);
    check_row(result, "a", 1, 3, 3);
    check_row(result, "b", 2, 2, 2); /* without weights each counts 1 */
    CHECK_STR(nl_lookup_text(result, 1, "unit"), "samples");
    CHECK_STR(nl_lookup_text(result, 1, "event"), "faults");
    nl_result_free(result);
    nl_trace_free(trace);
}

static void shows_what_ran_first(void)
{
    struct made made = begin();
    uint32_t sleeps = frame(&made, NL_NULL_ROW, "sleeps"), runs = frame(&made, NL_NULL_ROW, "runs");
    sample(&made, sleeps, 1, 1000, "python (waiting)");
    sample(&made, runs, 2, 1, "python");
    struct nl_trace *trace = end(&made);
    struct nl_result *result = ask(trace, (struct nl_analyze_options){0});
    CHECK_INT(result->rows, 2);
    CHECK_STR(nl_lookup_text(result, 0, "function"), "runs");
    CHECK_STR(nl_lookup_text(result, 1, "event"), "python (waiting)");
    nl_result_free(result);
    nl_trace_free(trace);
}

static void minds_the_window(void)
{
    struct made made = begin();
    uint32_t a = frame(&made, NL_NULL_ROW, "a");
    sample(&made, a, 10, 1, NULL);
    sample(&made, a, 20, 2, NULL);
    sample(&made, a, NL_NULL_I64, 4, NULL); /* when is not known: in no window */
    struct nl_trace *trace = end(&made);
    CHECK_INT(trace->first_ts, 10);
    CHECK_INT(trace->last_ts, 20);
    struct nl_analyze_options options = {.window = {.has_time = true, .start = 15, .end = 25}};
    struct nl_result *result = ask(trace, options);
    check_row(result, "a", 1, 2, 2);
    nl_result_free(result);
    result = ask(trace, (struct nl_analyze_options){0});
    check_row(result, "a", 3, 7, 7);
    nl_result_free(result);
    nl_trace_free(trace);
}

/* Sums per function: what table calls says is the total. */
static void believes_sums(void)
{
    struct made made = begin();
    uint32_t a = frame(&made, NL_NULL_ROW, "a"), b = frame(&made, NL_NULL_ROW, "b");
    struct nl_call_row call = nl_call_row();
    sample(&made, a, NL_NULL_I64, 3, NULL);
    sample(&made, b, NL_NULL_I64, 5, NULL);
    call.stack = a;
    call.total_ns = 8;
    nl_stage_call(made.stage, &call);
    call.stack = b;
    call.caller = a;
    call.total_ns = 999; /* by one caller: not the function's */
    nl_stage_call(made.stage, &call);
    struct nl_trace *trace = end(&made);
    struct nl_result *result = ask(trace, (struct nl_analyze_options){0});
    check_row(result, "a", 1, 3, 8);
    check_row(result, "b", 1, 5, 5);
    nl_result_free(result);
    nl_trace_free(trace);
}

CHECK_MAIN("cpusamples", {"weighs recursion once", weighs_recursion_once},
           {"keeps events apart", keeps_events_apart},
           {"shows what ran first", shows_what_ran_first}, {"minds the window", minds_the_window},
           {"believes sums", believes_sums})

/* What a finding would gain from is listed exactly where the profile lacks it, and every row of the
 * table can be used. */
#include "derive/derive.h"
#include "findings/recordadvice.h"
#include "findings/finding.h"
#include "check.h"
#include "gputrace.h"

static const struct {
    const char *cause;
    struct nl_need need;
    const char *why;
} rows[] = {
#define NL_SURER(cause, table, column, why) {cause, {table, column}, why},
#include "findings/surer.def"
};

static const char *const causes[] = {
#define NL_CAUSE(name, level, title) #name,
#include "findings/causes.def"
    "any"};

static void fits_its_tables(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        bool cause = false, advice = false;
        check_case(rows[i].cause);
        for (size_t c = 0; c < CHECK_LENGTH(causes); c++)
            cause |= !strcmp(causes[c], rows[i].cause);
        for (const struct nl_advice *it = nl_advices; it->formats; it++)
            advice |= it->need.table == rows[i].need.table &&
                      !strcmp(it->need.column ? it->need.column : "",
                              rows[i].need.column ? rows[i].need.column : "");
        CHECK(cause);
        CHECK(advice);
    }
}

/* A device that is idle most of the time, launched late. */
static struct nl_trace *idle_trace(bool steps, bool frames, bool ranges)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 60; i++) {
        gputrace_kernel(&make, 7, "gemm", i * 5000, 4, i * 5000 + 10, 1000);
        if (steps)
            gputrace_step(&make, i * 5000, 5000);
    }
    if (frames) {
        struct nl_python_row row = nl_python_row();
        row.slice = gputrace_slice(&make, NL_KIND_PYTHON, gputrace_lane(&make, NL_LANE_PYTHON, -1),
                                   "train", 0, 300000);
        nl_stage_python(make.stage, &row);
    }
    if (ranges) {
        struct nl_nvtx_row row = nl_nvtx_row();
        row.slice = gputrace_slice(&make, NL_KIND_NVTX, gputrace_lane(&make, NL_LANE_NVTX, -1),
                                   "train", 0, 300000);
        nl_stage_nvtx(make.stage, &row);
    }
    return gputrace_close(&make);
}

/* Names what is missing for gpu_idle, with a blank after each. */
static void check_needs(struct nl_trace *trace, const char *want)
{
    struct nl_err err = {0};
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
    struct nl_buf got;
    REQUIRE(findings);
    nl_buf_init(&got, 1024);
    for (size_t i = 0; i < findings->count; i++)
        for (size_t n = 0;
             !strcmp(findings->items[i].cause, "gpu_idle") && n < findings->items[i].need_count;
             n++) {
            nl_buf_format(&got, "%s ", findings->items[i].needs[n].missing);
            CHECK(findings->items[i].needs[n].record[0] && findings->items[i].needs[n].why[0]);
        }
    CHECK_STR(((struct nl_str){got.len ? got.ptr : "", got.len}), want);
    nl_buf_release(&got);
    nl_findings_free(findings);
    nl_trace_free(trace);
}

static void lists_what_is_missing(void)
{
    check_needs(idle_trace(false, false, false), "python nvtx steps ");
    check_needs(idle_trace(true, false, false), "python nvtx ");
    check_needs(idle_trace(true, true, false), "nvtx ");
    check_needs(idle_trace(true, true, true), "");
}

/* Of a tool that is not known it is said what to record, not how; one that cannot is not asked. */
static void knows_tools(void)
{
    static const struct {
        const char *format, *samples, *python;
    } want[] = {
        {"nsys", "nsys profile --sample=process-tree",
         "nsys profile --python-sampling=true (samples, not calls)"},
        {"kineto", NULL, "torch.profiler.profile(with_stack=True)"},
        {"perfetto", "samples of the CPU", "Python functions"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(want); i++) {
        struct nl_builder *builder = nl_builder_new(NULL);
        struct nl_err err = {0};
        nl_builder_source(builder, "made-up", want[i].format);
        struct nl_trace *trace = nl_builder_finish(builder, &err);
        REQUIRE(trace);
        check_case(want[i].format);
        const char *samples = nl_advice_record(trace, &(struct nl_need){NL_T_sample, NULL});
        CHECK_TEXT(samples ? samples : "-", want[i].samples ? want[i].samples : "-");
        CHECK_TEXT(nl_advice_record(trace, &(struct nl_need){NL_T_python, NULL}), want[i].python);
        CHECK(!nl_advice_record(trace, &(struct nl_need){NL_T_source, NULL}));
        nl_trace_free(trace);
    }
}

CHECK_MAIN("surer", {"fits its tables", fits_its_tables},
           {"lists what is missing", lists_what_is_missing}, {"knows tools", knows_tools})

/*
 * What a rule is about (compare/metricexpr.h): each form, with what it means and where it ends;
 * what is said of a wrong one, and where.
 */
#include "base/mem.h"
#include "check.h"
#include "compare/metricexpr.h"

enum { LESS = 1, MORE = 0 };

static const struct {
    const char *text;
    size_t end; /* 0: all of it */
    enum nl_metric_source source;
    const char *table, *row, *column;
    enum nl_meaning meaning;
    enum nl_metric_class class;
    int worse;
} cases[] = {
    {"step.p50", 0, NL_METRIC_STEP, NULL, NULL, NULL, NL_MEANS_NS, NL_METRIC_timed, MORE},
    {"step.count", 0, NL_METRIC_STEP, NULL, NULL, NULL, NL_MEANS_COUNT, NL_METRIC_exact, LESS},
    {"steps_per_s", 0, NL_METRIC_STEP, NULL, NULL, NULL, NL_MEANS_NUMBER, NL_METRIC_timed, LESS},
    {"compute.share", 0, NL_METRIC_GROUP, NULL, NULL, NULL, NL_MEANS_SHARE, NL_METRIC_timed, LESS},
    {"copies.bytes", 0, NL_METRIC_COUNT, NULL, NULL, NULL, NL_MEANS_BYTES, NL_METRIC_exact, MORE},
    {"  step.p50", 0, NL_METRIC_STEP, NULL, NULL, NULL, NL_MEANS_NS, NL_METRIC_timed, MORE},
    {"step.p50 < 3 ms", 8, NL_METRIC_STEP, NULL, NULL, NULL, NL_MEANS_NS, NL_METRIC_timed, MORE},
    {"step.p50<3", 8, NL_METRIC_STEP, NULL, NULL, NULL, NL_MEANS_NS, NL_METRIC_timed, MORE},
    /* members of run documents, some by a name with a point */
    {"memory.peak", 0, NL_METRIC_DOCUMENT, NULL, NULL, "peak_memory_bytes", NL_MEANS_BYTES,
     NL_METRIC_level, MORE},
    {"gpu_busy.share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "gpu_busy_share", NL_MEANS_SHARE,
     NL_METRIC_timed, LESS},
    {"mfu", 0, NL_METRIC_DOCUMENT, NULL, NULL, "mfu", NL_MEANS_SHARE, NL_METRIC_timed, LESS},
    {"op_flops", 0, NL_METRIC_DOCUMENT, NULL, NULL, "op_flops", NL_MEANS_NUMBER, NL_METRIC_exact,
     MORE},
    {"wall_ns", 0, NL_METRIC_DOCUMENT, NULL, NULL, "wall_ns", NL_MEANS_NS, NL_METRIC_timed, MORE},
    {"kernel_count", 0, NL_METRIC_DOCUMENT, NULL, NULL, "kernel_count", NL_MEANS_NUMBER,
     NL_METRIC_exact, MORE},
    {"copied_bytes", 0, NL_METRIC_DOCUMENT, NULL, NULL, "copied_bytes", NL_MEANS_BYTES,
     NL_METRIC_exact, MORE},
    {"peak_memory_bytes", 0, NL_METRIC_DOCUMENT, NULL, NULL, "peak_memory_bytes", NL_MEANS_BYTES,
     NL_METRIC_level, MORE},
    {"idle_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "idle_share", NL_MEANS_SHARE, NL_METRIC_timed,
     MORE},
    {"exposed_comm_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "exposed_comm_share", NL_MEANS_SHARE,
     NL_METRIC_timed, MORE},
    {"headroom_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "headroom_share", NL_MEANS_SHARE,
     NL_METRIC_timed, MORE},
    {"compute_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "compute_share", NL_MEANS_SHARE,
     NL_METRIC_timed, LESS},
    {"step_compute_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "step_compute_share", NL_MEANS_SHARE,
     NL_METRIC_timed, LESS},
    {"gpu_busy_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "gpu_busy_share", NL_MEANS_SHARE,
     NL_METRIC_timed, LESS},
    {"comm_overlap_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "comm_overlap_share", NL_MEANS_SHARE,
     NL_METRIC_timed, LESS},
    {"hfu", 0, NL_METRIC_DOCUMENT, NULL, NULL, "hfu", NL_MEANS_SHARE, NL_METRIC_timed, LESS},
    {"operator_mfu", 0, NL_METRIC_DOCUMENT, NULL, NULL, "operator_mfu", NL_MEANS_SHARE,
     NL_METRIC_timed, LESS},
    {"roof_share", 0, NL_METRIC_DOCUMENT, NULL, NULL, "roof_share", NL_MEANS_SHARE, NL_METRIC_timed,
     LESS},
    {"achieved_flops_per_s", 0, NL_METRIC_DOCUMENT, NULL, NULL, "achieved_flops_per_s",
     NL_MEANS_NUMBER, NL_METRIC_timed, LESS},
    {"achieved_bytes_per_s", 0, NL_METRIC_DOCUMENT, NULL, NULL, "achieved_bytes_per_s",
     NL_MEANS_NUMBER, NL_METRIC_timed, LESS},
    /* tables: the words for those of which people ask most, and all others by their own names */
    {"op[\"aten::mm\"].p95", 0, NL_METRIC_TABLE, "ops", "aten::mm", "p95_ns", NL_MEANS_NS,
     NL_METRIC_timed, MORE},
    {"op['aten::mm'].p95", 0, NL_METRIC_TABLE, "ops", "aten::mm", "p95_ns", NL_MEANS_NS,
     NL_METRIC_timed, MORE},
    {"op[aten::mm].p95", 0, NL_METRIC_TABLE, "ops", "aten::mm", "p95_ns", NL_MEANS_NS,
     NL_METRIC_timed, MORE},
    {"op[\"a]b\"].p95", 0, NL_METRIC_TABLE, "ops", "a]b", "p95_ns", NL_MEANS_NS, NL_METRIC_timed,
     MORE},
    {"op[].p95", 0, NL_METRIC_TABLE, "ops", "", "p95_ns", NL_MEANS_NS, NL_METRIC_timed, MORE},
    {"op[\"a\"].p95.more", 11, NL_METRIC_TABLE, "ops", "a", "p95_ns", NL_MEANS_NS, NL_METRIC_timed,
     MORE},
    {"operator[a].p50", 0, NL_METRIC_TABLE, "ops", "a", "median_ns", NL_MEANS_NS, NL_METRIC_timed,
     MORE},
    {"kernel[a].median", 0, NL_METRIC_TABLE, "kernels", "a", "median_ns", NL_MEANS_NS,
     NL_METRIC_timed, MORE},
    {"layer[a].min", 0, NL_METRIC_TABLE, "layers", "a", "min_ns", NL_MEANS_NS, NL_METRIC_timed,
     MORE},
    {"range[a].max", 0, NL_METRIC_TABLE, "nvtx", "a", "max_ns", NL_MEANS_NS, NL_METRIC_timed, MORE},
    {"collective[a].total", 0, NL_METRIC_TABLE, "collectives", "a", "total_ns", NL_MEANS_NS,
     NL_METRIC_timed, MORE},
    {"python_call[a].mean", 0, NL_METRIC_TABLE, "python", "a", "mean", NL_MEANS_NS, NL_METRIC_timed,
     MORE},
    {"op[a].count", 0, NL_METRIC_TABLE, "ops", "a", "count", NL_MEANS_NUMBER, NL_METRIC_exact,
     MORE},
    {"copies[a].bytes", 0, NL_METRIC_TABLE, "copies", "a", "bytes", NL_MEANS_BYTES, NL_METRIC_exact,
     MORE},
    {"copies[a].max_bytes", 0, NL_METRIC_TABLE, "copies", "a", "max_bytes", NL_MEANS_BYTES,
     NL_METRIC_exact, MORE},
    {"kernels[a].share", 0, NL_METRIC_TABLE, "kernels", "a", "share", NL_MEANS_SHARE,
     NL_METRIC_timed, MORE},
    {"kernels[a].busy_share", 0, NL_METRIC_TABLE, "kernels", "a", "busy_share", NL_MEANS_SHARE,
     NL_METRIC_timed, MORE},
    {"kernels[a]._ns", 0, NL_METRIC_TABLE, "kernels", "a", "_ns", NL_MEANS_NUMBER, NL_METRIC_timed,
     MORE},
    {"kernels[a].t_ns", 0, NL_METRIC_TABLE, "kernels", "a", "t_ns", NL_MEANS_NS, NL_METRIC_timed,
     MORE},
    {"step_summary.p95_ns", 0, NL_METRIC_TABLE, "step_summary", NULL, "p95_ns", NL_MEANS_NS,
     NL_METRIC_timed, MORE},
    {"op.total", 0, NL_METRIC_TABLE, "ops", NULL, "total_ns", NL_MEANS_NS, NL_METRIC_timed, MORE},
};

static void forms(void)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_err err;
        struct nl_metric metric;
        size_t at = 0, begin = strspn(cases[i].text, " ");
        size_t end = cases[i].end ? cases[i].end : strlen(cases[i].text);
        nl_err_clear(&err);
        check_case(cases[i].text);
        if (!nl_metric_parse(cases[i].text, &at, &metric, &arena, &err)) {
            CHECK_TEXT(err.text, "");
            continue;
        }
        CHECK_INT(at, end);
        CHECK(!strncmp(metric.text, cases[i].text + begin, end - begin));
        CHECK_INT(strlen(metric.text), end - begin);
        CHECK_INT(metric.source, cases[i].source);
        CHECK_TEXT(metric.table ? metric.table : "", cases[i].table ? cases[i].table : "");
        CHECK_TEXT(metric.row ? metric.row : "all", cases[i].row ? cases[i].row : "all");
        CHECK_TEXT(metric.column ? metric.column : "", cases[i].column ? cases[i].column : "");
        CHECK_INT(metric.meaning, cases[i].meaning);
        CHECK_INT(metric.class, cases[i].class);
        CHECK_INT(metric.less_is_worse, cases[i].worse);
    }
    nl_arena_free(&arena);
}

#define NO_METRIC(name, hint)                                                                      \
    "no metric is called '" name "'" hint "; expected a metric such as step.p50, or "              \
    "TABLE[\"ROW\"].COLUMN such as op[\"aten::mm\"].p95"
#define LETTERS_60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void faults(void)
{
    static const struct {
        const char *text;
        size_t at;
        const char *said;
    } faulty[] = {
        {"", 0, "expected a metric, such as step.p50"},
        {"  < 3", 2, "expected a metric, such as step.p50"},
        {"step.p51", 0, NO_METRIC("step.p51", "; did you mean step.p50")},
        {" mfuu", 1, NO_METRIC("mfuu", "; did you mean mfu")},
        {"wall_nss", 0, NO_METRIC("wall_nss", "; did you mean wall_ns")},
        {"qqqqqqqqqqqq", 0, NO_METRIC("qqqqqqqqqqqq", "")},
        {"op", 0, NO_METRIC("op", "")},
        {"qqqqqqqqqqqq[\"a\"].p95", 0, NO_METRIC("qqqqqqqqqqqq", "")},
        {"op.p95[\"a\"]", 0, NO_METRIC("op.p95", "")},
        {"op[\"a", 5, "expected \" after the name of a row"},
        {"op['a", 5, "expected ' after the name of a row"},
        {"op[a", 4, "expected ] after the name of a row"},
        {"op[\"a\" .p95", 6, "expected ] after the name of a row"},
        {"op[\"a\"]", 7, "expected .COLUMN after the row, such as .p95"},
        {"op[\"a\"] .p95", 7, "expected .COLUMN after the row, such as .p95"},
        {"op[\"a\"].", 8, "expected a column after the table, such as .p95 or .total_ns"},
        {"op.", 3, "expected a column after the table, such as .p95 or .total_ns"},
        {LETTERS_60 "bbb", 0, NO_METRIC(LETTERS_60 "bbb", "")},
        {LETTERS_60 "bbbb", 63, "expected a metric; this name is too long"},
        {"op[a]." LETTERS_60 "bbbb", 69, "expected a metric; this name is too long"},
    };
    struct nl_arena arena;
    nl_arena_init(&arena);
    for (size_t i = 0; i < CHECK_LENGTH(faulty); i++) {
        struct nl_err err;
        struct nl_metric metric;
        size_t at = 0;
        nl_err_clear(&err);
        check_case(faulty[i].text);
        CHECK(!nl_metric_parse(faulty[i].text, &at, &metric, &arena, &err));
        CHECK_INT(err.code, NL_USAGE);
        CHECK_TEXT(err.text, faulty[i].said);
        CHECK_INT(at, faulty[i].at);
    }
    nl_arena_free(&arena);
}

CHECK_MAIN("metricexpr", {"forms", forms}, {"faults", faults})

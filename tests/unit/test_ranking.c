/* Findings that look at one matter are joined, and all stand in the order of what each can win. */
#include "findings/ranking.h"
#include "check.h"
#include "gputrace.h"

/* Per turn: 400 us in and 200 us out, from pageable memory, then 400 us of a kernel. */
static void copies_both_ways(struct gputrace *make)
{
    static const struct gputrace_copy in = {NL_COPY_HTOD, NL_MEMORY_PAGEABLE, 3000000, NULL};
    static const struct gputrace_copy out = {NL_COPY_DTOH, NL_MEMORY_PAGEABLE, 1500000, NULL};
    for (int64_t i = 0; i < 20; i++) {
        gputrace_copy(make, 7, in, i * 1000, 4, 1000 + i * 1000, 400);
        gputrace_kernel(make, 7, "gemm", i * 1000 + 20, 4, 1400 + i * 1000, 400);
        gputrace_copy(make, 7, out, i * 1000 + 40, 4, 1800 + i * 1000, 200);
    }
}

static void joins(void)
{
    struct nl_err err = {0};
    struct gputrace make;
    gputrace_open(&make);
    copies_both_ways(&make);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    REQUIRE(findings && findings->count);
    const struct nl_finding *first = &findings->items[0];
    CHECK_TEXT(first->cause, "h2d_in_critical_path");
    CHECK_TEXT(first->also[0], "d2h_in_critical_path");
    CHECK_TEXT(first->also[1], "pageable_memcpy");
    CHECK_INT(first->cost_ns, 20 * 600000);
    CHECK_INT(first->saving_ns[1], 20 * 600000);
    CHECK_INT(first->net_saving_ns, 20 * 600000);
    CHECK_INT(first->severity, NL_SEVERITY_CRITICAL);
    for (size_t i = 1; i < findings->count; i++) {
        CHECK(strcmp(findings->items[i].cause, "d2h_in_critical_path") != 0);
        CHECK(strcmp(findings->items[i].cause, "pageable_memcpy") != 0);
    }
    nl_findings_free(findings);
    nl_trace_free(trace);
}

struct ranked {
    const char *id;
    unsigned level, order;
    int64_t start, end, saving;
};

static struct nl_findings *made(const struct ranked *rows, size_t count)
{
    struct nl_findings *findings = nl_zalloc(sizeof *findings);
    nl_arena_init(&findings->arena);
    findings->items = nl_zalloc((count + 1) * sizeof *findings->items);
    findings->count = count;
    for (size_t i = 0; i < count; i++) {
        struct nl_finding *finding = &findings->items[i];
        *finding = (struct nl_finding){.id = rows[i].id,
                                       .cause = rows[i].id,
                                       .level = rows[i].level,
                                       .order = rows[i].order,
                                       .severity = NL_SEVERITY_WARNING,
                                       .cost_ns = rows[i].end - rows[i].start,
                                       .cost_share = (double)(rows[i].end - rows[i].start) / 1000,
                                       .saving_ns = {0, rows[i].saving}};
        nl_intervals_init(&finding->where);
        nl_intervals_add(&finding->where, rows[i].start, rows[i].end);
        nl_intervals_normalise(&finding->where);
    }
    nl_findings_rank(findings);
    return findings;
}

/* The wall is 1000: what can be won decides, not what it costs; nothing
 * hides behind a smaller one. */
static void ranks_by_what_can_be_won(void)
{
    static const struct ranked wins[] = {{"costly", 0, 0, 0, 500, 100},
                                         {"worth it", 0, 1, 500, 900, 300}};
    struct nl_findings *findings = made(wins, 2);
    CHECK_TEXT(findings->items[0].id, "worth it");
    CHECK_INT(findings->items[0].severity, NL_SEVERITY_CRITICAL);
    CHECK_INT(findings->items[1].severity, NL_SEVERITY_WARNING);
    nl_findings_free(findings);
    static const struct ranked small[] = {{"specific", 0, 0, 0, 400, 40},
                                          {"general", 1, 1, 0, 400, 400}};
    findings = made(small, 2);
    CHECK_TEXT(findings->items[0].id, "general");
    CHECK_INT(findings->items[0].net_saving_ns, 360);
    CHECK(!findings->items[0].explained_by && !findings->items[1].explained_by);
    nl_findings_free(findings);
    static const struct ranked alike[] = {{"readback", 0, 5, 0, 240, 240},
                                          {"loader", 0, 4, 2, 240, 238}};
    findings = made(alike, 2);
    CHECK_TEXT(findings->items[0].id, "loader");
    CHECK_TEXT(findings->items[1].explained_by, "loader");
    CHECK_INT(findings->items[1].net_saving_ns, 2);
    nl_findings_free(findings);
}

static void idle_late(struct gputrace *make)
{
    for (int64_t i = 0; i < 60; i++)
        gputrace_kernel(make, 7, "softmax", i * 7000, 4, i * 7000 + 10, 3000);
}

static void one_kernel(struct gputrace *make)
{
    for (int64_t i = 0; i < 60; i++)
        gputrace_kernel(make, 7, i % 5 ? "softmax" : "layer_norm", i * 5, 4, 100 + i * 1000, 1000);
}

static void idle_without_launches(struct gputrace *make)
{
    for (int64_t i = 0; i < 60; i++)
        gputrace_kernel(make, 7, "softmax", -1, 0, i * 7000, 3000);
}

/* No saving where the recording does not say why the device is idle, nor of a
 * kernel that merely takes long. */
static void promises_what_is_known(void)
{
    static const struct {
        void (*fill)(struct gputrace *make);
        const char *cause;
        bool remark;
    } rows[] = {{idle_late, "gpu_idle", false},
                {idle_without_launches, "gpu_idle", true},
                {one_kernel, "kernel_hotspot", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nl_err err = {0};
        struct gputrace make;
        gputrace_open(&make);
        rows[i].fill(&make);
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_findings *findings =
            nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
        const struct nl_finding *finding = NULL;
        for (size_t k = 0; k < findings->count; k++)
            if (!strcmp(findings->items[k].cause, rows[i].cause))
                finding = &findings->items[k];
        REQUIRE(finding);
        CHECK((finding->severity == NL_SEVERITY_INFO) == rows[i].remark);
        CHECK((finding->saving_ns[1] == 0) == rows[i].remark);
        nl_findings_free(findings);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("ranking", {"joins", joins}, {"promises what is known", promises_what_is_known},
           {"ranks by what can be won", ranks_by_what_can_be_won})

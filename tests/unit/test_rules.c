/*
 * Rules of the gate (compare/rules.h): what each text means, in the metric's unit; where a wrong
 * one is wrong; files of rules, and what is no such file, by line and column.
 */
#include "check.h"

#include "compare/rules.h"
#include "compare/rulesread.h"

#define OP_MORE NL_RULE_MORE

static const struct {
    const char *text;
    enum nl_rule_op op;
    bool relative, percent, bare;
    double value;
    enum nl_meaning meaning;
    enum nl_metric_class class;
    bool less_is_worse;
    const char *table, *row, *column; /* NULL: none */
} good[] = {
    {"step.p50 > +3%", OP_MORE, true, true, false, 0.03, NL_MEANS_NS, NL_METRIC_timed, false, 0, 0,
     0},
    {" step.p50>+3%", OP_MORE, true, true, false, 0.03, NL_MEANS_NS, NL_METRIC_timed, false, 0, 0,
     0},
    {"step.p50  >=  -3 %  ", NL_RULE_AT_LEAST, true, true, false, -0.03, NL_MEANS_NS,
     NL_METRIC_timed, false, 0, 0, 0},
    {"step.p95 <= 120ms", NL_RULE_AT_MOST, false, false, false, 120e6, NL_MEANS_NS, NL_METRIC_timed,
     false, 0, 0, 0},
    {"step.p95 < +1.5 us", NL_RULE_LESS, true, false, false, 1500, NL_MEANS_NS, NL_METRIC_timed,
     false, 0, 0, 0},
    {"step.p95 != 0", NL_RULE_OTHER, false, false, false, 0, NL_MEANS_NS, NL_METRIC_timed, false, 0,
     0, 0},
    {"step.count", NL_RULE_LESS, true, true, true, NAN, NL_MEANS_COUNT, NL_METRIC_exact, true, 0, 0,
     0},
    {"step.p50", OP_MORE, true, true, true, NAN, NL_MEANS_NS, NL_METRIC_timed, false, 0, 0, 0},
    {"kernels.count > +0", OP_MORE, true, false, false, 0, NL_MEANS_NUMBER, NL_METRIC_exact, false,
     0, 0, 0},
    {"kernels.count > +5%", OP_MORE, true, true, false, 0.05, NL_MEANS_NUMBER, NL_METRIC_exact,
     false, 0, 0, 0},
    {"memory.peak > +200MiB", OP_MORE, true, false, false, 209715200, NL_MEANS_BYTES,
     NL_METRIC_level, false, 0, 0, "peak_memory_bytes"},
    {"memory.peak > 5", OP_MORE, false, false, false, 5, NL_MEANS_BYTES, NL_METRIC_level, false, 0,
     0, "peak_memory_bytes"},
    {"mfu < 40%", NL_RULE_LESS, false, false, false, 0.4, NL_MEANS_SHARE, NL_METRIC_timed, true, 0,
     0, "mfu"},
    {"mfu < 0.4", NL_RULE_LESS, false, false, false, 0.4, NL_MEANS_SHARE, NL_METRIC_timed, true, 0,
     0, "mfu"},
    {"mfu < 1", NL_RULE_LESS, false, false, false, 1, NL_MEANS_SHARE, NL_METRIC_timed, true, 0, 0,
     "mfu"},
    {"mfu < .5", NL_RULE_LESS, false, false, false, 0.5, NL_MEANS_SHARE, NL_METRIC_timed, true, 0,
     0, "mfu"},
    {"gpu_busy.share < 50%", NL_RULE_LESS, false, false, false, 0.5, NL_MEANS_SHARE,
     NL_METRIC_timed, true, 0, 0, "gpu_busy_share"},
    /* rows and columns of tables */
    {"op[\"aten::mm\"].p95 > +1%", OP_MORE, true, true, false, 0.01, NL_MEANS_NS, NL_METRIC_timed,
     false, "ops", "aten::mm", "p95_ns"},
    {"operator['a b'].p50", OP_MORE, true, true, true, NAN, NL_MEANS_NS, NL_METRIC_timed, false,
     "ops", "a b", "median_ns"},
    {"kernel[k*].median > 1us", OP_MORE, false, false, false, 1000, NL_MEANS_NS, NL_METRIC_timed,
     false, "kernels", "k*", "median_ns"},
    {"kernels[\"x]\"].total_ns > 1us", OP_MORE, false, false, false, 1000, NL_MEANS_NS,
     NL_METRIC_timed, false, "kernels", "x]", "total_ns"},
    {"range[x].min > 1us", OP_MORE, false, false, false, 1000, NL_MEANS_NS, NL_METRIC_timed, false,
     "nvtx", "x", "min_ns"},
    {"layer[x].max > 1us", OP_MORE, false, false, false, 1000, NL_MEANS_NS, NL_METRIC_timed, false,
     "layers", "x", "max_ns"},
    {"collective[x].total > 1us", OP_MORE, false, false, false, 1000, NL_MEANS_NS, NL_METRIC_timed,
     false, "collectives", "x", "total_ns"},
    {"python_call[x].mean > 1us", OP_MORE, false, false, false, 1000, NL_MEANS_NS, NL_METRIC_timed,
     false, "python", "x", "mean"},
    {"kernels[x].count > 7", OP_MORE, false, false, false, 7, NL_MEANS_NUMBER, NL_METRIC_exact,
     false, "kernels", "x", "count"},
    {"copies.moved_bytes > 7", OP_MORE, false, false, false, 7, NL_MEANS_BYTES, NL_METRIC_exact,
     false, "copies", 0, "moved_bytes"},
    {"kernels.total_share > 7%", OP_MORE, false, false, false, 0.07, NL_MEANS_SHARE,
     NL_METRIC_timed, false, "kernels", 0, "total_share"},
    {"kernels.share > 7%", OP_MORE, false, false, false, 0.07, NL_MEANS_SHARE, NL_METRIC_timed,
     false, "kernels", 0, "share"},
    {"kernels._ns > 7", OP_MORE, false, false, false, 7, NL_MEANS_NUMBER, NL_METRIC_timed, false,
     "kernels", 0, "_ns"},
    {"kernels.a_ns > 7ns", OP_MORE, false, false, false, 7, NL_MEANS_NS, NL_METRIC_timed, false,
     "kernels", 0, "a_ns"},
};

static bool same_text(const char *got, const char *want)
{
    return want ? got && strcmp(got, want) == 0 : !got;
}

static void what_rules_mean(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(good); i++) {
        struct nl_rules rules;
        struct nl_err err;
        nl_err_clear(&err);
        nl_rules_init(&rules);
        check_case(good[i].text);
        bool done = nl_rules_add(&rules, good[i].text, &err);
        if (!done)
            printf("    %s\n", err.text);
        REQUIRE(done);
        const struct nl_rule *rule = &rules.items[0];
        CHECK_INT(rule->op, good[i].op);
        CHECK_INT(rule->relative, good[i].relative);
        CHECK_INT(rule->percent, good[i].percent);
        CHECK_INT(rule->bare, good[i].bare);
        CHECK(isnan(good[i].value) ? isnan(rule->value) : fabs(rule->value - good[i].value) < 1e-9);
        CHECK(isnan(rule->floor));
        CHECK_INT(rule->metric.meaning, good[i].meaning);
        CHECK_INT(rule->metric.class, good[i].class);
        CHECK_INT(rule->metric.less_is_worse, good[i].less_is_worse);
        CHECK(same_text(rule->metric.table, good[i].table));
        CHECK(same_text(rule->metric.row, good[i].row));
        CHECK(same_text(rule->metric.column, good[i].column));
        nl_rules_release(&rules);
    }
}

static const struct {
    const char *text;
    int column;
    const char *why; /* how the message goes on */
} bad[] = {
    {"", 1, "expected a metric, such as"},
    {"   ", 4, "expected a metric, such as"},
    {"step.p51", 1, "no metric is called 'step.p51'; did you mean step.p50"},
    {"  step.p51", 3, "no metric is called 'step.p51'"},
    {"step.p50 3%", 10, "expected >, >=, <, <= or !="},
    {"step.p50 = 3%", 10, "expected >, >=, <, <= or !="},
    {"step.p50 >", 11, "expected a number such as 120ms"},
    {"step.p50 > ms", 12, "expected a number such as 120ms"},
    {"step.p50 > 5", 12, "expected a number such as 120ms"},
    {"step.p50 > 5%", 12, "expected a number such as 120ms"},
    {"step.p50 > 5MiB", 12, "expected a number such as 120ms"},
    {"step.p50 > +-5%", 12, "expected a number such as 120ms"},
    {"memory.peak > 5ms", 15, "expected a number such as 8GiB"},
    {"memory.peak > 5%", 15, "expected a number such as 8GiB"},
    {"mfu < 1.5", 7, "expected a number such as 40%"},
    {"mfu < 5x", 7, "expected a number such as 40%"},
    {"mfu < 1e999%", 7, "expected a number such as 40%"},
    {"kernels.count > 5ms", 17, "expected a number such as 37"},
    {"kernels.count > 5%", 17, "expected a number such as 37"},
    {"kernels[x].count > 5ms", 20, "expected a number without a unit"},
    {"kernels.count > 1234567890123456789012345678901234567890123456789012345678901234", 17,
     "expected a number such as 37"},
    {"op[\"x.p95", 10, "expected \" after the name of a row"},
    {"op[x.p95", 9, "expected ] after the name of a row"},
    {"op[\"x\".p95", 7, "expected ] after the name of a row"},
    {"op[x]p95", 6, "expected .COLUMN after the row"},
    {"op[x].", 7, "expected a column after the table"},
    {"op[x].p95.p50", 10, "expected >, >=, <, <= or !="},
    {"nothing[x].p95", 1, "no metric is called 'nothing'"},
    {"kernels.x[y].p95", 1, "no metric is called 'kernels.x'"},
    {"kernels", 1, "no metric is called 'kernels'"},
    {"a234567890123456789012345678901234567890123456789012345678901234", 64,
     "expected a metric; this name is too long"},
};

static void where_rules_are_wrong(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(bad); i++) {
        struct nl_rules rules;
        struct nl_err err;
        char column[32];
        nl_err_clear(&err);
        nl_rules_init(&rules);
        check_case(bad[i].text);
        CHECK(!nl_rules_add(&rules, bad[i].text, &err));
        CHECK_INT(err.code, NL_USAGE);
        snprintf(column, sizeof column, "column %d: ", bad[i].column);
        const char *at = strstr(err.text, column);
        CHECK(at && strncmp(at + strlen(column), bad[i].why, strlen(bad[i].why)) == 0);
        if (!at || strncmp(at + strlen(column), bad[i].why, strlen(bad[i].why)) != 0)
            printf("    %s\n", err.text);
        nl_rules_release(&rules);
    }
}

/* ---- Files ---- */

static void a_whole_file(void)
{
    static const char text[] = "rules:\n"
                               "  - step.p50 > +3%\n"
                               "  - metric: step.p95\n"
                               "    floor: 50us\n"
                               "  - fail_on: exposed_comm.share > 5%\n"
                               "    name: communication\n"
                               "    floor: 0.5\n"
                               "allow: [driver, framework version]\n"
                               "on_inconclusive: pass\n"
                               "tolerance: 2.5 %\n";
    struct nl_rules rules;
    struct nl_err err;
    nl_err_clear(&err);
    nl_rules_init(&rules);
    REQUIRE(nl_rules_read(&rules, text, strlen(text), &err));
    REQUIRE(rules.count == 3);
    CHECK_INT(rules.items[0].op, NL_RULE_MORE);
    CHECK(isnan(rules.items[0].floor) && !rules.items[0].name && !rules.items[0].bare);
    CHECK(rules.items[1].bare && rules.items[1].floor == 50000 && !rules.items[1].name);
    CHECK(!rules.items[2].relative && rules.items[2].value == 0.05 && rules.items[2].floor == 0.5);
    CHECK(same_text(rules.items[2].name, "communication"));
    CHECK_INT(rules.allow_count, 2);
    CHECK_INT(rules.on_inconclusive, NL_INCONCLUSIVE_PASS);
    CHECK(fabs(rules.tolerance - 0.025) < 1e-12);
    nl_rules_release(&rules);
}

static const struct {
    const char *text;
    const char *why; /* NULL: it is a good one */
} texts[] = {
    {"tolerance: 0%\n", NULL},
    {"tolerance: 999%\n", NULL},
    {"tolerance: 1000%\n", "line 1, column 12: expected a share such as 2%"},
    {"tolerance: -1%\n", "line 1, column 12: expected a share such as 2%"},
    {"tolerance: 2\n", "line 1, column 12: expected a share such as 2%"},
    {"tolerance: nan%\n", "line 1, column 12: expected a share such as 2%"},
    {"on_inconclusive: warn\n", NULL},
    {"on_inconclusive: fail\n", NULL},
    {"on_inconclusive: stop\n", "line 1, column 18: expected warn, fail or pass"},
    {"rules: []\n", NULL},
    {"rules: step.p50\n", "line 1, column 8: expected a list of rules, each after a -"},
    {"allow: driver\n", "line 1, column 8: expected a list in brackets"},
    {"rule: []\n", "line 1, column 1: expected rules, allow, on_inconclusive or tolerance"},
    {"rules:\n - \"step.p51\"\n", "line 2, column 5: no metric is called"},
    {"rules:\n - 'step.p50 = 1'\n", "line 2, column 14: expected >, >="},
    {"rules:\n - step.p50 = 1\n", "line 2, column 13: expected >, >="},
    {"rules:\n - floor: 5us\n", "line 3, column 1: expected metric: or fail_on: in this rule"},
    {"rules:\n - name: x\n   metric: step.p50\n", "line 2, column 10: expected name: after"},
    {"rules:\n - metric: step.p50\n   fail_on: step.p95 > 1us\n",
     "line 3, column 13: expected one metric: or fail_on: in a rule"},
    {"rules:\n - fail_on: step.p95\n", "line 2, column 21: expected >, >="},
    {"rules:\n - metric: step.p50\n   floor: 5\n",
     "line 3, column 11: expected a number in the metric's unit"},
    {"rules:\n - metric: step.p50\n   floor: 5%\n",
     "line 3, column 11: expected a number in the metric's unit"},
    {"rules:\n - metric: step.p50\n   size: 5\n",
     "line 3, column 4: expected metric, fail_on, floor or name"},
    {"rules:\n - [step.p50]\n", "line 2, column 4: expected no list here"},
    {"tolerance: [2%]\n", "line 1, column 12: expected no list here"},
    {"tolerance: {a: 2%}\n", "line 1, column 12: expected no mapping here"},
    {"rules:\n - &a step.p50\n - *a\n", "line 3, column 4: expected a value; aliases"},
    {"tolerance: 2%\n---\ntolerance: 3%\n", "line 2, column 1: expected one document only"},
    {"rules:\n\t- step.p50\n", "line 2, column 1: expected spaces; YAML takes no tab"},
    {"rules: [\n", "line 2, column 1: expected YAML: "},
    {"# nothing\n", "line 1, column 1: expected rules:, allow:"},
    {"", "line 1, column 1: expected rules:, allow:"},
    {"text\n", "line 1, column 1: expected rules:"},
    {"allow: [drivr]\n", "line 1, column 9: "},
};

static void files_that_are_wrong(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(texts); i++) {
        struct nl_rules rules;
        struct nl_err err;
        nl_err_clear(&err);
        nl_rules_init(&rules);
        check_case(texts[i].text);
        bool done = nl_rules_read(&rules, texts[i].text, strlen(texts[i].text), &err);
        CHECK_INT(done, texts[i].why == NULL);
        bool as_wanted =
            !texts[i].why || strncmp(err.text, texts[i].why, strlen(texts[i].why)) == 0;
        CHECK(as_wanted);
        if (!as_wanted)
            printf("    %s\n", err.text);
        nl_rules_release(&rules);
    }
}

/* 500 rules, and files of 1 MiB; one more is too many. */
static void how_many(void)
{
    static char text[(1 << 20) + 2];
    for (size_t more = 0; more < 2; more++) {
        struct nl_rules rules;
        struct nl_err err;
        nl_err_clear(&err);
        nl_rules_init(&rules);
        for (size_t i = 0; i < NL_MAX_RULES; i++)
            CHECK(nl_rules_add(&rules, "step.p50", &err));
        CHECK(!nl_rules_add(&rules, "step.p50", &err));
        nl_rules_release(&rules);
        memset(text, '#', sizeof text);
        memcpy(text, "tolerance: 2%\n", 14);
        nl_err_clear(&err);
        nl_rules_init(&rules);
        CHECK_INT(nl_rules_read(&rules, text, (1 << 20) + more, &err), more == 0);
        CHECK_INT(err.code, more ? NL_LIMIT : NL_OK);
        nl_rules_release(&rules);
    }
}

CHECK_MAIN("rules", {"what rules mean", what_rules_mean},
           {"where rules are wrong", where_rules_are_wrong}, {"a whole file", a_whole_file},
           {"files that are wrong", files_that_are_wrong}, {"how many", how_many})

/*
 * Every cause planted at least once, and at least twice something that only looks like it. On each
 * profile the evidence of every finding is asked again in SQL and must give the same number.
 *
 * A profile is a row: which cause, whether it is to be printed, and a function that builds it from
 * loops of kernels, copies and calls (gputrace.h; times in microseconds).
 */
#include "check.h"
#include "findings/causes.h"
#include "plantedall.h"
#include "sql/db.h"

static struct nl_trace *build(void (*fill)(struct gputrace *make))
{
    struct gputrace make;
    gputrace_open(&make);
    fill(&make);
    return gputrace_close(&make);
}

/* Told under its own name, or as a part of another. */
static const struct nl_finding *find(const struct nl_findings *findings, const char *cause)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        if (!strcmp(finding->cause, cause))
            return finding;
        for (size_t part = 0; part < NL_FINDING_ALSO && finding->also[part]; part++)
            if (!strcmp(finding->also[part], cause))
                return finding;
    }
    return NULL;
}

static void judges(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(planted_cases); i++) {
        char label[200];
        struct nl_err err = {0};
        struct nl_analyze_options options = {0};
        snprintf(label, sizeof label, "%s: %s", planted_cases[i].cause, planted_cases[i].label);
        check_case(label);
        struct nl_trace *trace = build(planted_cases[i].build);
        REQUIRE(trace);
        struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
        REQUIRE(findings);
        CHECK_INT(find(findings, planted_cases[i].cause) != NULL, planted_cases[i].printed);
        nl_findings_free(findings);
        nl_trace_free(trace);
    }
}

/* One gap that is nearly everything is a warning at most, and what was captured in it is said. */
static void knows_phases(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(idle_once);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    const struct nl_finding *finding = find(findings, "gpu_idle");
    REQUIRE(finding);
    CHECK_INT(finding->severity, NL_SEVERITY_WARNING);
    const char *last = finding->evidence[finding->evidence_count - 1].says;
    CHECK(strstr(last, "one single gap") && strstr(last, "1 graph is captured"));
    nl_findings_free(findings);
    nl_trace_free(trace);
}

/* What is copied once promises nothing, what every round copies does. */
static void promises_per_round(void)
{
    static const struct {
        const char *cause;
        void (*build)(struct gputrace *make);
        bool once;
    } cases[] = {
        {"pageable_memcpy", weights_pageable, true},
        {"pageable_memcpy", pageable_exposed, false},
        {"low_copy_bandwidth", weights_slow, true},
        {"low_copy_bandwidth", copies_slow, false},
        {"many_small_copies", weights_small, true},
        {"many_small_copies", copies_small, false},
        {"d2h_in_critical_path", results_pinned, true},
        {"d2h_in_critical_path", fetches_exposed, false},
        {"low_copy_bandwidth", results_slow, true},
        {"pageable_memcpy", results_pageable, true},
        {"round_trip_copies", results_return, true},
        {"round_trip_copies", goes_and_comes, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_err err = {0};
        struct nl_analyze_options options = {.all = true};
        struct nl_trace *trace = build(cases[i].build);
        REQUIRE(trace);
        struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
        REQUIRE(findings);
        const struct nl_finding *finding = find(findings, cases[i].cause);
        check_case(cases[i].cause);
        REQUIRE(finding);
        CHECK_INT(finding->saving_ns[1] == 0, cases[i].once);
        CHECK_INT(finding->severity == NL_SEVERITY_INFO, cases[i].once);
        CHECK_INT(strstr(finding->title, "once, in start-up") != NULL, cases[i].once);
        nl_findings_free(findings);
        nl_trace_free(trace);
    }
}

/* Of a gap in which the CPU launched only the part before the launch is the CPU's fault. */
static void parts_gaps(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(idle_though_launched);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    const struct nl_finding *finding = find(findings, "gpu_idle");
    REQUIRE(finding && finding->evidence_count == 2);
    CHECK(strstr(finding->evidence[0].says, "was launched but had not started"));
    CHECK(finding->evidence[0].value > (ROUNDS - 1) * 3.98e6);
    nl_findings_free(findings);
    nl_trace_free(trace);
}

static void ask_again(struct nl_db *db, const struct nl_finding *finding)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct nl_evidence *evidence = &finding->evidence[i];
        struct nl_err err = {0};
        REQUIRE(evidence->query && evidence->says && evidence->metric);
        struct nl_result *result = nl_db_query(db, evidence->query, &err);
        if (!result) {
            CHECK_TEXT(err.text, "");
            printf("    %s\n", evidence->query);
            continue;
        }
        REQUIRE(result->rows == 1);
        struct nl_cell cell = *nl_result_cell(result, 0, 0);
        double value = cell.type == NL_CELL_I64 ? (double)cell.i64 : cell.f64;
        if (fabs(value - evidence->value) > 1e-9 * fabs(value))
            printf("    %s %s: %s\n", finding->cause, evidence->metric, evidence->query);
        CHECK_NEAR(value, evidence->value, 1e-9 * fabs(value));
        nl_result_free(result);
    }
}

static void keeps_the_contract(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(planted_cases); i++) {
        struct nl_err err = {0};
        struct nl_analyze_options options = {.all = true};
        check_case(planted_cases[i].label);
        struct nl_trace *trace = build(planted_cases[i].build);
        REQUIRE(trace);
        struct nl_db *db = nl_db_open(trace, &(struct nl_db_options){0}, NULL, &err);
        struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
        REQUIRE(db && findings);
        for (size_t j = 0; j < findings->count; j++) {
            const struct nl_finding *finding = &findings->items[j];
            size_t advice = 0;
            while (finding->suggestions[advice].action)
                advice++;
            CHECK(advice >= 2);
            CHECK(finding->evidence_count >= 2);
            CHECK(finding->confidence >= 0 && finding->confidence <= 1);
            CHECK(finding->saving_ns[0] <= finding->saving_ns[1]);
            CHECK(finding->net_cost_ns <= finding->cost_ns);
            CHECK(finding->title && finding->not_this_if);
            ask_again(db, finding);
        }
        nl_findings_free(findings);
        nl_db_close(db);
        nl_trace_free(trace);
    }
}

/* The specific cause comes first, the general one is explained by it. */
static void ranks(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(waits_for_scalar);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    REQUIRE(findings && findings->count >= 2);
    CHECK_TEXT(findings->items[0].cause, "item_scalar_readback");
    const struct nl_finding *general = find(findings, "sync_calls");
    REQUIRE(general);
    CHECK_TEXT(general->explained_by, "item_scalar_readback");
    nl_findings_free(findings);
    nl_trace_free(trace);
}

/* 30 of 60 ms at 1095 of 1980 MHz; power, named beside heat, is not the reason. */
static void weighs_clocks(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(clocks_hot);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    const struct nl_finding *finding = find(findings, "clocks_down");
    REQUIRE(finding);
    CHECK_NEAR((double)finding->cost_ns, (30e6 - 1000) * (1 - 1095.0 / 1980), 1);
    CHECK(strstr(finding->title, "because of heat"));
    CHECK_INT(finding->severity, NL_SEVERITY_CRITICAL);
    nl_findings_free(findings);
    nl_trace_free(trace);
}

static int64_t most_of_doubles(void (*fill)(struct gputrace *make), int64_t *cost)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(fill);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
    const struct nl_finding *finding = find(findings, "fp64_slow");
    int64_t saving = finding ? finding->saving_ns[1] : -1;
    *cost = finding ? finding->cost_ns : 0;
    nl_findings_free(findings);
    nl_trace_free(trace);
    return saving;
}

/* Kernels of libraries show what a GPU has where nothing names it; TF32 is for Ampere and later. */
static void knows_tensor_cores(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(shown); i++) {
        struct nl_err err = {0};
        struct nl_trace *trace = build(shown[i].fill);
        struct nl_findings *findings =
            nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
        const struct nl_finding *finding = find(findings, "tensor_core_unused");
        check_case(shown[i].remedies);
        REQUIRE(finding);
        CHECK_INT(strstr(finding->title, "not recorded") == NULL, shown[i].known);
        CHECK_INT(finding->saving_ns[1] > 0, shown[i].known);
        CHECK_TEXT(finding->remedies ? finding->remedies : "", shown[i].remedies);
        nl_findings_free(findings);
        nl_trace_free(trace);
    }
}

/* Two copies before the kernels, of which one's size was recorded. */
static void copies_half_sized(struct gputrace *make)
{
    gputrace_copy(make, 7, (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 1 << 20, NULL}, 0,
                  1, 10, 1000);
    gputrace_copy(make, 7,
                  (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, NL_NULL_U64, NULL}, 1, 1,
                  1010, 1000);
    gputrace_kernel(make, 7, "softmax", 2, 1, 2010, 1000);
}

static void sums_known_sizes(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(copies_half_sized);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
    const struct nl_finding *finding = find(findings, "h2d_in_critical_path");
    REQUIRE(finding);
    CHECK(strstr(finding->title, ", more than 1.000 MiB of pinned data"));
    CHECK_TEXT(finding->evidence[1].says, "1.000 MiB in 1 copy, pinned memory, 1.049 GB/s while "
                                          "copying; the size of 1 more was not recorded");
    nl_findings_free(findings);
    nl_trace_free(trace);
}

/* Arithmetic gets 32 times as fast in 32 bits, kernels that wait for memory twice. */
static void promises_by_bytes(void)
{
    int64_t cost = 0, saving = most_of_doubles(doubles_slow, &cost);
    CHECK_INT(saving, cost * 31 / 32);
    saving = most_of_doubles(doubles_by_bytes, &cost);
    CHECK_INT(saving, cost / 2);
    CHECK(cost > 0);
}

/* Half of the profile: the numbers and their queries are of that half. */
static void keeps_to_windows(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(copies_exposed);
    REQUIRE(trace);
    struct nl_analyze_options options = {
        .window = {.has_time = true, .start = trace->first_ts, .end = trace->first_ts + 60500000}};
    struct nl_db *db = nl_db_open(trace, &(struct nl_db_options){0}, NULL, &err);
    struct nl_findings *findings = nl_findings_new(trace, &options, NULL, &err);
    REQUIRE(db && findings && findings->count);
    CHECK_TEXT(findings->items[0].cause, "h2d_in_critical_path");
    CHECK_INT(findings->items[0].cost_ns, 30000000);
    for (size_t i = 0; i < findings->count; i++)
        ask_again(db, &findings->items[i]);
    nl_findings_free(findings);
    nl_db_close(db);
    nl_trace_free(trace);
}

#define NAME_OF_59 "a_name_of_an_operator_whose_sixtieth_byte_begins_a_letter__"

static void copies_by_accents(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_op(make, NAME_OF_59 "\xc3\xa9_upload", i * 10, 5);
    copies_exposed(make);
}

/* A name is cut between two characters. */
static void cuts_culprits(void)
{
    struct nl_err err = {0};
    struct nl_trace *trace = build(copies_by_accents);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err);
    REQUIRE(findings && findings->count);
    CHECK_TEXT(findings->items[0].cause, "h2d_in_critical_path");
    CHECK_TEXT(findings->items[0].culprit, NAME_OF_59);
    nl_findings_free(findings);
    nl_trace_free(trace);
}

CHECK_MAIN("findings", {"judges what was planted", judges}, {"knows phases", knows_phases},
           {"promises what rounds save", promises_per_round},
           {"sums the sizes that are known", sums_known_sizes}, {"weighs clocks", weighs_clocks},
           {"promises by bytes", promises_by_bytes}, {"knows tensor cores", knows_tensor_cores},
           {"parts gaps", parts_gaps}, {"keeps the contract, evidence is SQL", keeps_the_contract},
           {"ranks", ranks}, {"keeps to windows", keeps_to_windows},
           {"cuts culprits", cuts_culprits})

/*
 * Two profiles side by side: on pairs that can be worked out on paper, and on random ones, where
 * the parts must add up to the change whatever it is.
 */
#include <math.h>

#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "base/mem.h"
#include "check.h"
#include "devicetrace.h"
#include "gputrace.h"

#define STEPS 6

static struct nl_report *diff_of(const struct nl_trace *a, const struct nl_trace *b,
                                 bool *comparable)
{
    struct nl_err err = {0};
    struct nl_diff_input base = {.trace = a, .word = "a"}, changed = {.trace = b, .word = "b"};
    return nl_diff_new(&base, &changed, NULL, comparable, NULL, &err);
}

static size_t column_of(const struct nl_result *result, const char *name)
{
    for (size_t i = 0; i < result->column_count; i++)
        if (!strcmp(result->columns[i].name, name))
            return i;
    return SIZE_MAX;
}

/* NL_NULL_I64 unknown, and where there is no such column. */
static int64_t whole(const struct nl_result *result, size_t row, const char *name)
{
    size_t column = column_of(result, name);
    if (column == SIZE_MAX || nl_result_cell(result, row, column)->type != NL_CELL_I64)
        return NL_NULL_I64;
    return nl_result_cell(result, row, column)->i64;
}

static const char *text(const struct nl_result *result, size_t row, const char *name)
{
    size_t column = column_of(result, name);
    static char out[256];
    if (column == SIZE_MAX || nl_result_cell(result, row, column)->type != NL_CELL_TEXT)
        return "";
    struct nl_str value = nl_result_cell(result, row, column)->text;
    snprintf(out, sizeof out, "%.*s", (int)value.len, value.ptr);
    return out;
}

/* Row whose text in a column is that; SIZE_MAX none. */
static size_t row_of(const struct nl_result *result, const char *column, const char *value)
{
    for (size_t row = 0; row < result->rows; row++)
        if (!strcmp(text(result, row, column), value))
            return row;
    return SIZE_MAX;
}

static void check_row(const struct nl_report *report, const char *section, const char *name,
                      int64_t base, int64_t changed, int64_t by_count, int64_t by_time)
{
    const struct nl_result *result = nl_report_result(report, section);
    size_t row = row_of(result, "name", name);
    check_case(name);
    REQUIRE(row != SIZE_MAX);
    CHECK_INT(whole(result, row, "base_ns"), base);
    CHECK_INT(whole(result, row, "new_ns"), changed);
    CHECK_INT(whole(result, row, "change_ns"), changed - base);
    CHECK_INT(whole(result, row, "by_count_ns"), by_count);
    CHECK_INT(whole(result, row, "by_time_ns"), by_time);
}

/*
 * us from the start of each of six steps, `twice` in brackets:
 *     gemm [10,40), relu [30,50) on another stream, copy [45,60), (gemm [60,90),) step [0,100 (120))
 * so gemm has [10,30) alone and half of [30,40): 25 (55), relu 5 + 10 = 15, the copy shows in
 * [50,60): 10; idle is the rest: 50 (40).
 */
static struct nl_trace *steps_on_paper(bool twice, const char *gemm)
{
    struct gputrace make;
    int64_t length = twice ? 120 : 100;
    struct gputrace_copy copy = {.kind = NL_COPY_HTOD, .host = NL_MEMORY_PAGEABLE, .bytes = 4096};
    gputrace_open(&make);
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t at = i * length;
        gputrace_step(&make, at, length);
        gputrace_op(&make, "aten::mm", at, 4);
        gputrace_kernel(&make, 7, gemm, at, 2, at + 10, 30);
        gputrace_kernel(&make, 8, "relu_kernel", at + 5, 1, at + 30, 20);
        gputrace_copy(&make, 7, copy, at + 6, 1, at + 45, 15);
        if (twice)
            gputrace_kernel(&make, 7, gemm, at + 50, 2, at + 60, 30);
    }
    return gputrace_close(&make);
}

static void divides_steps(void)
{
    struct nl_trace *a = steps_on_paper(false, "sgemm_a"), *b = steps_on_paper(true, "sgemm_a");
    bool comparable = false;
    REQUIRE(a && b);
    struct nl_report *report = diff_of(a, b, &comparable);
    REQUIRE(report);
    const struct nl_result *verdict = nl_report_result(report, "verdict");
    CHECK(comparable);
    CHECK_TEXT(text(verdict, 0, "unit"), "step");
    CHECK_TEXT(text(verdict, 0, "verdict"), "slower");
    CHECK_INT(whole(verdict, 0, "base_ns"), 100000);
    CHECK_INT(whole(verdict, 0, "new_ns"), 120000);
    /* ½ (2 - 1) (25 + 55 / 2) = 26.25 us by count */
    check_row(report, "attribution", "sgemm_a", 25000, 55000, 26250, 3750);
    check_row(report, "attribution", "relu_kernel", 15000, 15000, 0, 0);
    check_row(report, "attribution", "copy HtoD", 10000, 10000, 0, 0);
    const struct nl_result *parts = nl_report_result(report, "parts");
    size_t idle = row_of(parts, "part", "idle");
    REQUIRE(idle != SIZE_MAX);
    CHECK_INT(whole(parts, idle, "base_ns"), 50000);
    CHECK_INT(whole(parts, idle, "new_ns"), 40000);
    /* by operator: the first gemm was launched in it, 2 (3) pieces of work were not:
     * ½ (25 / 2 + 55 / 3) = 15.417 us by count */
    check_row(report, "operators", "aten::mm", 25000, 25000, 0, 0);
    check_row(report, "operators", "(launched outside of any)", 25000, 55000, 15417, 14583);
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

static void counts_exactly(void)
{
    struct nl_trace *a = steps_on_paper(false, "sgemm_a"), *b = steps_on_paper(true, "sgemm_a");
    bool comparable;
    REQUIRE(a && b);
    struct nl_report *report = diff_of(a, b, &comparable);
    const struct nl_result *counts = nl_report_result(report, "counts");
    size_t row = row_of(counts, "what", "kernels");
    REQUIRE(row != SIZE_MAX);
    CHECK_INT(whole(counts, row, "base"), 2 * STEPS);
    CHECK_INT(whole(counts, row, "new"), 3 * STEPS);
    CHECK_TEXT(text(counts, row, "changed"), "yes");
    row = row_of(counts, "what", "copies HtoD (pageable to device)");
    REQUIRE(row != SIZE_MAX);
    CHECK_INT(whole(counts, row, "base"), STEPS);
    CHECK_TEXT(text(counts, row, "changed"), "no");
    CHECK_INT(whole(counts, row + 1, "base"), 4096 * STEPS);
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

/* The tables are those that can be asked for, in their order; one alone comes without sentences. */
static void has_its_sections(void)
{
    struct nl_trace *trace = steps_on_paper(false, "sgemm_a");
    bool comparable;
    size_t count = 0;
    REQUIRE(trace);
    struct nl_report *report = diff_of(trace, trace, &comparable);
    for (; nl_diff_sections[count] && count < report->result_count; count++)
        CHECK_TEXT(report->results[count]->name, nl_diff_sections[count]);
    CHECK_INT(count, report->result_count);
    CHECK(!nl_diff_sections[count]);
    nl_report_free(report);
    struct nl_err err = {0};
    struct nl_diff_input input = {.trace = trace, .word = "a"};
    report = nl_diff_new(&input, &input, "counts", &comparable, NULL, &err);
    CHECK_INT(report->result_count, 1);
    CHECK_INT(report->headline_count, 0);
    nl_report_free(report);
    nl_trace_free(trace);
}

/* Another implementation of the same operator is one row; totals stay as they are. */
static void pairs_replaced_kernels(void)
{
    struct nl_trace *a = steps_on_paper(false, "ampere_sgemm_128x64_nn"),
                    *b = steps_on_paper(false, "ampere_sgemm_32x32_tn");
    bool comparable;
    REQUIRE(a && b);
    struct nl_report *report = diff_of(a, b, &comparable);
    const struct nl_result *rows = nl_report_result(report, "attribution");
    size_t row = row_of(rows, "name", "ampere_sgemm_32x32_tn");
    REQUIRE(row != SIZE_MAX);
    CHECK_TEXT(text(rows, row, "base_name"), "ampere_sgemm_128x64_nn");
    CHECK_TEXT(text(rows, row, "match"), "renamed"); /* as often, and as long a call */
    CHECK_TEXT(text(rows, row, "operator"), "aten::mm");
    check_row(report, "attribution", "ampere_sgemm_32x32_tn", 25000, 25000, 0, 0);
    CHECK_INT(whole(nl_report_result(report, "verdict"), 0, "change_ns"), 0);
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

/* Three kernels of 1000 ns at once: 334 to the first by name, 333 to the others; then b alone. */
static void shares_what_overlaps(void)
{
    struct gputrace make;
    bool comparable;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "c", -1, 0, 10, 1);
    gputrace_kernel(&make, 8, "a", -1, 0, 10, 1);
    gputrace_kernel(&make, 9, "b", -1, 0, 10, 3);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_report *report = diff_of(trace, trace, &comparable);
    check_row(report, "attribution", "a", 334, 334, 0, 0);
    check_row(report, "attribution", "b", 2333, 2333, 0, 0);
    check_row(report, "attribution", "c", 333, 333, 0, 0);
    nl_report_free(report);
    nl_trace_free(trace);
}

/* 200 kernels of one start, of which 64 may share: nothing is lost, and the rest follows. */
static void shares_among_many(void)
{
    struct gputrace make;
    bool comparable;
    gputrace_open(&make);
    for (int64_t i = 0; i < 200; i++)
        gputrace_kernel(&make, i, i % 2 ? "odd" : "even", -1, 0, 10, 10 + i);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_report *report = diff_of(trace, trace, &comparable);
    const struct nl_result *rows = nl_report_result(report, "attribution");
    int64_t sum = 0;
    for (size_t row = 0; row < rows->rows; row++)
        sum += whole(rows, row, "base_ns");
    CHECK_INT(sum, 209000);
    nl_report_free(report);
    nl_trace_free(trace);
}

/* ---- rounding ---- */

static void rounds_to_the_sum(void)
{
    uint64_t state = 42;
    for (int round = 0; round < check_draws(500); round++) {
        struct diff_part parts[20] = {0};
        char names[20][4];
        size_t count = 1 + (size_t)round % 20;
        int64_t sum = 0, means = 0;
        uint64_t units = 1 + (uint64_t)round % 37;
        for (size_t i = 0; i < count; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            snprintf(names[i], sizeof names[i], "%zu", i);
            parts[i].name = nl_str(names[i]);
            parts[i].sum = (int64_t)(state % 1000);
            sum += parts[i].sum;
        }
        int64_t mean = diff_mean(sum, units);
        CHECK(2 * llabs(mean * (int64_t)units - sum) <= (int64_t)units);
        diff_parts_round(parts, count, units, mean);
        for (size_t i = 0; i < count; i++) {
            int64_t low = parts[i].sum / (int64_t)units;
            CHECK(parts[i].mean == low ||
                  (parts[i].mean == low + 1 && low * (int64_t)units < parts[i].sum));
            means += parts[i].mean;
        }
        CHECK_INT(means, mean);
    }
}

/* ---- work per time ---- */

/* 990 us of one device without launches, and so without steps: that many gemms and relus. */
static struct nl_trace *recording(int64_t gemms, int64_t relus)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < gemms; i++)
        gputrace_kernel(&make, 7, "gemm", -1, 0, i * 950 / (gemms - 1), 30);
    for (int64_t i = 0; i < relus; i++)
        gputrace_kernel(&make, 8, "relu", -1, 0, i * 950 / (relus - 1) + 30, 10);
    return gputrace_close(&make);
}

static double number(const struct nl_result *result, size_t row, const char *name)
{
    size_t column = column_of(result, name);
    if (column == SIZE_MAX || nl_result_cell(result, row, column)->type != NL_CELL_F64)
        return NAN;
    return nl_result_cell(result, row, column)->f64;
}

static void tells_less_work_in_the_same_time(void)
{
    struct nl_trace *a = recording(20, 20), *b = recording(16, 16);
    bool comparable;
    REQUIRE(a && b);
    struct nl_report *report = diff_of(a, b, &comparable);
    const struct nl_result *pace = nl_report_result(report, "pace");
    CHECK(comparable);
    CHECK_TEXT(text(nl_report_result(report, "verdict"), 0, "verdict"), "inconclusive");
    CHECK_INT(whole(nl_report_result(report, "verdict"), 0, "change_ns"), 0);
    CHECK_INT(pace->rows, 1);
    CHECK_TEXT(text(pace, 0, "same_work"), "no");
    CHECK_INT((int64_t)number(pace, 0, "base_pieces"), 40);
    CHECK_INT((int64_t)number(pace, 0, "new_pieces"), 32);
    CHECK_INT((int64_t)number(pace, 0, "base_piece_ns"), 24750);
    CHECK_INT((int64_t)number(pace, 0, "new_piece_ns"), 30937); /* and a half */
    CHECK_INT((int64_t)(number(pace, 0, "ratio") * 100 + 0.5), 125);
    CHECK(strstr(report->headlines[0], "both captures span the same time ("));
    CHECK(strstr(report->headlines[0], "B did 20.0 % less of the same work: 40 and 32 operations"));
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

/* The same with ranges: of `name` that many from 0 us on, one after another, each so long. */
static struct nl_trace *ranged(int64_t pieces, const char *name, int64_t count, int64_t each_us)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < pieces; i++) {
        gputrace_kernel(&make, 7, "gemm", -1, 0, i * 950 / (pieces - 1), 30);
        gputrace_kernel(&make, 8, "relu", -1, 0, i * 950 / (pieces - 1) + 30, 10);
    }
    for (int64_t i = 0; i < count; i++) {
        struct nl_nvtx_row row = nl_nvtx_row();
        row.slice = gputrace_slice(&make, NL_KIND_NVTX, make.calls, name, i * each_us, each_us);
        nl_stage_nvtx(make.stage, &row);
    }
    return gputrace_close(&make);
}

/* A window is proposed of most of the time, equally often, as a shell takes it, and once. */
static void proposes_windows(void)
{
    static const char bob[] = "'[nvtx=\"Bob'\\''s work\"]'";
    static const struct {
        const char *name, *a, *b, *says;
        int64_t counts[2], each_us[2];
        bool windows;
    } cases[] = {
        {"Bob's work", "a", "b", bob, {8, 8}, {110, 90}, false},
        {"Bob's work", "a", "b", NULL, {8, 7}, {110, 110}, false}, /* unequal work */
        {"Bob's work", "a", "b", NULL, {8, 8}, {110, 50}, false},  /* 40 % of B */
        {"ncclGroupEnd", "a", "b", NULL, {66, 66}, {1, 1}, false},
        {"Bob's work", "a[nvtx=\"x\"]", "b", NULL, {8, 8}, {110, 90}, false},
        {"Bob's work", "a", "b[nvtx=\"x\"]", NULL, {8, 8}, {110, 90}, false},
        {"Bob's work", "a", "b", NULL, {8, 8}, {110, 90}, true},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_err err = {0};
        struct nl_trace *a = ranged(20, cases[i].name, cases[i].counts[0], cases[i].each_us[0]),
                        *b = ranged(16, cases[i].name, cases[i].counts[1], cases[i].each_us[1]);
        bool comparable;
        REQUIRE(a && b);
        struct nl_window window = {
            .has_time = cases[i].windows, .start = a->first_ts, .end = a->last_ts};
        struct nl_diff_input base = {.trace = a, .word = cases[i].a, .window = window},
                             changed = {.trace = b, .word = cases[i].b, .window = window};
        struct nl_report *report = nl_diff_new(&base, &changed, NULL, &comparable, NULL, &err);
        REQUIRE(report);
        const struct nl_result *next = nl_report_result(report, "next");
        const char *says = report->headlines[0];
        check_case(cases[i].a);
        CHECK(strstr(says, "Mark steps, or give windows of the same work"));
        REQUIRE(next->rows);
        const char *verify = text(next, 0, "verify");
        if (cases[i].says) {
            CHECK(strstr(says, cases[i].says));
            CHECK_TEXT(verify, "neurolens diff 'a[nvtx=\"Bob'\\''s work\"]' "
                               "'b[nvtx=\"Bob'\\''s work\"]'");
        } else {
            CHECK(!strstr(says, "such as"));
            CHECK(strstr(text(next, 0, "do"), "mark steps on both sides"));
            CHECK(!strstr(verify, "neurolens diff"));
        }
        nl_report_free(report);
        nl_trace_free(a);
        nl_trace_free(b);
    }
}

/* One kernel less often, or not at all, is a change of the program. */
static void takes_no_change_for_less_work(void)
{
    static const int64_t relus[][2] = {{20, 10}, {20, 0}, {20, 20}};
    for (size_t i = 0; i < CHECK_LENGTH(relus); i++) {
        struct nl_trace *a = recording(20, relus[i][0]), *b = recording(20, relus[i][1]);
        bool comparable;
        REQUIRE(a && b);
        struct nl_report *report = diff_of(a, b, &comparable);
        const struct nl_result *pace = nl_report_result(report, "pace");
        CHECK_INT(pace->rows, 1);
        CHECK_TEXT(text(pace, 0, "same_work"), "");
        CHECK(!strstr(report->headlines[0], "same work"));
        nl_report_free(report);
        nl_trace_free(a);
        nl_trace_free(b);
    }
}

/* What both have is little of what B does: then its number says nothing of the program. */
static void looks_at_most_of_the_work(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 40; i++) {
        gputrace_kernel(&make, 7, "gemm", -1, 0, i * 25, 10);
        gputrace_kernel(&make, 7, "softmax", -1, 0, i * 25 + 10, 10);
    }
    struct nl_trace *a = recording(20, 0), *b = gputrace_close(&make);
    bool comparable;
    REQUIRE(a && b);
    struct nl_report *report = diff_of(a, b, &comparable);
    CHECK_INT((int64_t)number(nl_report_result(report, "pace"), 0, "new_pieces"), 40);
    CHECK_TEXT(text(nl_report_result(report, "pace"), 0, "same_work"), "");
    nl_report_free(report);
    nl_trace_free(a);
    nl_trace_free(b);
}

/* ---- facts ---- */

/* What neither side knows neither agrees nor decides. */
static void leaves_unknown_facts_open(void)
{
    struct nl_trace *a = recording(20, 20);
    bool comparable;
    REQUIRE(a);
    struct nl_report *report = diff_of(a, a, &comparable);
    const struct nl_result *facts = nl_report_result(report, "comparability");
    size_t model = row_of(facts, "fact", "device model");
    REQUIRE(model != SIZE_MAX);
    CHECK_TEXT(text(facts, model, "agrees"), "unknown");
    CHECK_TEXT(text(facts, model, "decides"), "no");
    size_t devices = row_of(facts, "fact", "devices with work");
    REQUIRE(devices != SIZE_MAX);
    CHECK_TEXT(text(facts, devices, "agrees"), "yes");
    CHECK_TEXT(text(facts, devices, "decides"), "yes");
    nl_report_free(report);
    nl_trace_free(a);
}

/* The sentence of the rows; "" without. */
static const char *most_of(const struct nl_report *report)
{
    for (size_t i = 0; i < report->headline_count; i++)
        if (strstr(report->headlines[i], "Most: ") || strstr(report->headlines[i], "Beyond noise"))
            return report->headlines[i];
    return "";
}

/* Names that are cut alike are told apart in the sentences, too. */
static void tells_namesakes_apart(void)
{
    static const char *const names[] = {"at::native::vectorized_elementwise_kernel_of_some_length<"
                                        "4, at::native::AddFunctor<float>, 1, "
                                        "2, 3, 4, 5, 6, 7, 8, 9>",
                                        "at::native::vectorized_elementwise_kernel_of_some_length<"
                                        "4, at::native::MulFunctor<float>, 1, "
                                        "2, 3, 4, 5, 6, 7, 8, 9>"};
    struct gputrace a, b;
    bool comparable;
    gputrace_open(&a);
    gputrace_open(&b);
    for (int64_t i = 0; i < 2; i++) {
        gputrace_kernel(&a, 7, names[i], -1, 0, i * 100, 50);
        gputrace_kernel(&b, 7, names[i], -1, 0, i * 100, 70 + 5 * i);
    }
    struct nl_trace *before = gputrace_close(&a), *after = gputrace_close(&b);
    REQUIRE(before && after);
    struct nl_report *report = diff_of(before, after, &comparable);
    CHECK(strstr(most_of(report), "AddFunctor") && strstr(most_of(report), "MulFunctor"));
    nl_report_free(report);
    nl_trace_free(before);
    nl_trace_free(after);
}

/* "spiked_kernel" takes 50 us a step, and 33 ms once where `spiked`. */
static struct nl_trace *spiked_steps(int64_t steady, bool spiked)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0, at = 0; i < 20; i++) {
        int64_t spike = spiked && i == 12 ? 33000 : 50, wave = i % 3; /* steps vary a little */
        gputrace_step(&make, at, 200 + steady + spike + wave);
        gputrace_kernel(&make, 7, "steady_kernel", at, 2, at + 10, steady + wave);
        gputrace_kernel(&make, 7, "spiked_kernel", at + 3, 2, at + 10 + steady + wave, spike);
        at += 200 + steady + spike + wave;
    }
    return gputrace_close(&make);
}

/* One call of 33 ms is more in the mean of 20 steps than 60 us in each, which is beyond noise. */
static void tells_what_every_step_shows_first(void)
{
    struct nl_trace *before = spiked_steps(200, false), *after = spiked_steps(260, true);
    bool comparable;
    REQUIRE(before && after);
    struct nl_report *report = diff_of(before, after, &comparable);
    const struct nl_result *rows = nl_report_result(report, "attribution");
    CHECK_TEXT(text(rows, row_of(rows, "name", "spiked_kernel"), "beyond_noise"), "no");
    CHECK_TEXT(text(rows, row_of(rows, "name", "steady_kernel"), "beyond_noise"), "yes");
    CHECK(row_of(rows, "name", "spiked_kernel") < row_of(rows, "name", "steady_kernel"));
    CHECK(!strncmp(most_of(report), "Beyond noise: steady_kernel ", 28));
    CHECK(!strstr(most_of(report), "spiked_kernel"));
    CHECK(!strncmp(text(nl_report_result(report, "next"), 0, "why"), "steady_kernel ", 14));
    nl_report_free(report);
    nl_trace_free(before);
    nl_trace_free(after);
}

/* ---- random profiles ---- */

static void check_sums(const struct nl_report *report)
{
    static const char *const sections[] = {"parts", "attribution", "operators", "modules",
                                           "ranges"};
    const struct nl_result *verdict = nl_report_result(report, "verdict");
    for (size_t s = 0; s < CHECK_LENGTH(sections); s++) {
        const struct nl_result *rows = nl_report_result(report, sections[s]);
        int64_t base = 0, changed = 0;
        for (size_t row = 0; row < rows->rows; row++) {
            base += whole(rows, row, "base_ns");
            changed += whole(rows, row, "new_ns");
            if (s && !strcmp(text(rows, row, "part"), "idle")) {
                CHECK_INT(whole(rows, row, "by_count_ns"), NL_NULL_I64);
                CHECK_INT(whole(rows, row, "by_time_ns"), NL_NULL_I64);
            } else if (s) {
                CHECK_INT(whole(rows, row, "by_count_ns") + whole(rows, row, "by_time_ns"),
                          whole(rows, row, "change_ns"));
            }
        }
        if (!rows->rows && s > 1)
            continue; /* not recorded */
        CHECK_INT(base, whole(verdict, 0, "base_ns"));
        CHECK_INT(changed, whole(verdict, 0, "new_ns"));
    }
}

/* Row by row the negative, by name. */
static void check_mirror(const struct nl_report *there, const struct nl_report *back)
{
    static const char *const columns[] = {"change_ns", "by_count_ns", "by_time_ns"};
    const struct nl_result *a = nl_report_result(there, "attribution"),
                           *b = nl_report_result(back, "attribution");
    CHECK_INT(a->rows, b->rows);
    for (size_t row = 0; row < a->rows; row++) {
        char name[256];
        size_t found = SIZE_MAX;
        snprintf(name, sizeof name, "%s", text(a, row, "name"));
        if (*text(a, row, "base_name"))
            snprintf(name, sizeof name, "%s", text(a, row, "base_name"));
        for (size_t other = 0; other < b->rows && found == SIZE_MAX; other++)
            if (!strcmp(text(b, other, "name"), name) &&
                whole(b, other, "new_ns") == whole(a, row, "base_ns") &&
                whole(b, other, "base_ns") == whole(a, row, "new_ns"))
                found = other;
        check_case(name);
        REQUIRE(found != SIZE_MAX);
        for (size_t i = 0; i < CHECK_LENGTH(columns); i++) {
            int64_t one = whole(a, row, columns[i]), other = whole(b, found, columns[i]);
            CHECK_INT(one, other == NL_NULL_I64 ? NL_NULL_I64 : -other);
        }
    }
}

static void adds_up_at_random(void)
{
    for (uint64_t seed = 1; seed <= (uint64_t)check_draws(40); seed++) {
        struct nl_err err = {0};
        struct nl_trace *a = devicetrace(seed, 300, 1000000, &err);
        struct nl_trace *b = devicetrace(seed + 1000, 200 + 10 * (unsigned)seed, 900000, &err);
        bool comparable;
        REQUIRE(a && b);
        struct nl_report *there = diff_of(a, b, &comparable), *back = diff_of(b, a, &comparable);
        struct nl_report *same = diff_of(a, a, &comparable);
        check_sums(there);
        check_sums(same);
        check_mirror(there, back);
        const struct nl_result *rows = nl_report_result(same, "attribution");
        for (size_t row = 0; row < rows->rows; row++)
            CHECK(!whole(rows, row, "change_ns") && !strcmp(text(rows, row, "match"), "same"));
        nl_report_free(there);
        nl_report_free(back);
        nl_report_free(same);
        nl_trace_free(a);
        nl_trace_free(b);
    }
}

CHECK_MAIN("diff", {"divides steps", divides_steps}, {"counts exactly", counts_exactly},
           {"has its sections", has_its_sections},
           {"pairs replaced kernels", pairs_replaced_kernels},
           {"shares what overlaps", shares_what_overlaps}, {"shares among many", shares_among_many},
           {"rounds to the sum", rounds_to_the_sum},
           {"tells less work in the same time", tells_less_work_in_the_same_time},
           {"proposes windows", proposes_windows},
           {"takes no change for less work", takes_no_change_for_less_work},
           {"looks at most of the work", looks_at_most_of_the_work},
           {"leaves unknown facts open", leaves_unknown_facts_open},
           {"tells namesakes apart", tells_namesakes_apart},
           {"tells what every step shows first", tells_what_every_step_shows_first},
           {"adds up at random", adds_up_at_random})

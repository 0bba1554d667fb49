/* What an answer about a device is about (answer/verdictdevice.c): a device that computes, and in
 * 100 ms waits for this and that, from both sides of the limits; by hand. */
#include "check.h"
#include "answer/report.h"
#include "hostdoing.h"

#define ALL 100000 /* us */

/* `count` gaps of `us` in which the CPU does `what` (hostdoing.h); also "C" copies, "M" messages of
 * the device, "Q" launched work that does not begin, "W" the same while another thread waits. */
struct piece {
    const char *what;
    int64_t count, us;
};

#define PIECES 3

/* Kernels with equal shares of what the pieces leave of 100 ms, each launched as it begins. */
static struct nl_trace *made(const struct piece *pieces, int64_t steps)
{
    struct gputrace make, other;
    int64_t gaps = 0, left = ALL, at = 0, kernels = 0;
    gputrace_open(&make);
    other = make;
    other.thread = nl_builder_thread(make.builder, make.process, 11);
    other.calls = gputrace_lane(&other, NL_LANE_THREAD, -1);
    for (int i = 0; i < PIECES; i++) {
        gaps += pieces[i].count;
        left -= pieces[i].count * pieces[i].us;
    }
    for (int64_t s = 0; s < steps; s++)
        gputrace_step(&make, s * ALL / steps, ALL / steps);
    for (int64_t k = 0, said[PIECES] = {0}; k <= gaps; k++) {
        int64_t us = left / (gaps + 1) + (k < left % (gaps + 1)), end = at + us;
        gputrace_kernel(&make, 7, kernels++ % 2 ? "softmax" : "h16816gemm", at, 1, at, us);
        int i = 0; /* the pieces by turns */
        for (int p = 0; p < PIECES; p++)
            if (said[p] < pieces[p].count &&
                (said[i] == pieces[i].count ||
                 said[p] * pieces[i].count < said[i] * pieces[p].count))
                i = p;
        if (k == gaps)
            break;
        said[i]++;
        at = end + pieces[i].us;
        switch (*pieces[i].what) {
        case 'C':
            gputrace_copy(&make, 7,
                          (struct gputrace_copy){NL_COPY_HTOD, NL_MEMORY_PINNED, 1 << 24, NULL},
                          end, 1, end, pieces[i].us);
            break;
        case 'M':
            gputrace_kernel(&make, 7, "ncclDevKernel_AllReduce_Sum", end, 1, end, pieces[i].us);
            break;
        case 'W':
            gputrace_call(&other, "cudaStreamSynchronize", end, pieces[i].us);
            /* fall through */
        case 'Q': gputrace_kernel(&make, 7, "softmax", end - 10, 1, at - 1, 1); break;
        default: hostdoing(&make, pieces[i].what, end, pieces[i].us);
        }
    }
    return gputrace_close(&make);
}

/* What the answer is, of a trace, which it takes. */
static struct nl_verdict_words answer_to(struct nl_trace *trace)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    struct nl_verdict_words answer = {.class = NL_VERDICT_CLASSES};
    struct nl_report *report = trace ? nl_report_new(trace, "analyze", &options, NULL, &err) : NULL;
    if (report) {
        answer = *report->verdict;
        bool startup = answer.phase && !strcmp(answer.phase, "startup");
        answer.phase = startup ? "startup" : answer.phase ? "steady" : NULL; /* that was a copy */
    }
    nl_report_free(report);
    nl_trace_free(trace);
    return answer;
}

/* What it says could be saved, in us; -1 nothing. */
static int64_t saved(int64_t ns)
{
    return ns == NL_NULL_I64 ? -1 : ns / 1000;
}

static const struct {
    const char *what;
    struct piece pieces[PIECES];
    int64_t steps;
    enum nl_verdict_class class;
} cases[] = {
#define OP    "o aten::add"
#define FETCH "p DataLoader"
#define SYNC  "a cudaDeviceSynchronize"
#define FIRST "a cudaMalloc"
    {"a quarter of launches", {{OP, 50, 500}}, 0, NL_VERDICT_COMPUTE},
    {"more than that", {{OP, 51, 500}}, 0, NL_VERDICT_LAUNCH},
    {"a quarter of an operator", {{OP, 25, 1000}}, 0, NL_VERDICT_COMPUTE},
    {"more of an operator", {{OP, 26, 1000}}, 0, NL_VERDICT_HOST},
    {"a quarter of fetching", {{FETCH, 25, 1000}}, 0, NL_VERDICT_COMPUTE},
    {"more fetching", {{FETCH, 26, 1000}}, 0, NL_VERDICT_INPUT},
    {"a quarter of copies", {{"C", 25, 1000}}, 0, NL_VERDICT_COMPUTE},
    {"more copies", {{"C", 26, 1000}}, 0, NL_VERDICT_COPY},
    {"a quarter of messages", {{"M", 25, 1000}}, 0, NL_VERDICT_COMPUTE},
    {"more messages", {{"M", 26, 1000}}, 0, NL_VERDICT_COMMUNICATION},
    {"a quarter of calls that set up", {{FIRST, 25, 1000}}, 0, NL_VERDICT_COMPUTE},
    {"more of them", {{FIRST, 26, 1000}}, 0, NL_VERDICT_STARTUP},
    {"more of them in three steps", {{FIRST, 27, 1000}}, 3, NL_VERDICT_HOST},
    {"in two steps", {{FIRST, 27, 1000}}, 2, NL_VERDICT_STARTUP},
    {"two things of the CPU together are more than a quarter",
     {{SYNC, 26, 500}, {OP, 25, 500}},
     0,
     NL_VERDICT_SYNC},
    {"the longer of them", {{SYNC, 25, 500}, {OP, 26, 500}}, 0, NL_VERDICT_LAUNCH},
    {"two of the device are not", {{"C", 26, 500}, {"M", 25, 500}}, 0, NL_VERDICT_COMPUTE},
    {"of equal ones copies", {{"C", 30, 1000}, {OP, 30, 1000}}, 0, NL_VERDICT_COPY},
    {"of equal ones messages", {{"C", 30, 1000}, {"M", 30, 1000}}, 0, NL_VERDICT_COMMUNICATION},
    {"of equal ones launches", {{OP, 60, 500}, {SYNC, 60, 500}}, 0, NL_VERDICT_LAUNCH},
    {"of equal ones waits", {{OP, 30, 1000}, {SYNC, 60, 500}}, 0, NL_VERDICT_SYNC},
    {"of equal ones what sets up", {{OP, 30, 1000}, {FIRST, 30, 1000}}, 0, NL_VERDICT_STARTUP},
    {"nothing recorded in half of it", {{"-", 25, 2000}}, 0, NL_VERDICT_COMPUTE},
    {"in more of it", {{"-", 51, 1000}}, 0, NL_VERDICT_IDLE},
    {"work held back for less than 1 ms each", {{"Q", 50, 1000}}, 0, NL_VERDICT_LAUNCH},
    {"for 1 ms, in less than half of it", {{"Q", 49, 1001}}, 0, NL_VERDICT_COMPUTE},
    {"for more of it", {{"Q", 51, 1001}}, 0, NL_VERDICT_IDLE},
    {"for more than a quarter, while the CPU waits", {{"W", 26, 1200}}, 0, NL_VERDICT_SYNC},
    {"while the CPU waits in more than half of it",
     {{"W", 14, 1200}, {"Q", 12, 1200}},
     0,
     NL_VERDICT_SYNC},
    {"in less than half", {{"W", 12, 1200}, {"Q", 14, 1200}}, 0, NL_VERDICT_COMPUTE},
    {"fetching in a fifth beside launches",
     {{OP, 78, 500}, {FETCH, 40, 500}},
     0,
     NL_VERDICT_LAUNCH},
    {"more of it", {{OP, 78, 500}, {FETCH, 41, 500}}, 0, NL_VERDICT_INPUT},
    {"half as much as launches", {{OP, 100, 500}, {FETCH, 50, 500}}, 0, NL_VERDICT_LAUNCH},
    {"more than half as much", {{OP, 100, 500}, {FETCH, 51, 500}}, 0, NL_VERDICT_INPUT},
};

static void classes(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_verdict_words answer = answer_to(made(cases[i].pieces, cases[i].steps));
        bool startup = cases[i].class == NL_VERDICT_STARTUP;
        check_case(cases[i].what);
        CHECK_TEXT(nl_verdict_class_name(answer.class), nl_verdict_class_name(cases[i].class));
        CHECK_TEXT(answer.phase, startup ? "startup" : "steady");
    }
    check_case(NULL);
}

/* What is saved at most: all that the answer is about, but nothing of what sets up once, or where
 * nothing was recorded, or where most of it is work that does not begin. */
static void savings(void)
{
    static const struct {
        const char *what;
        struct piece pieces[PIECES];
        int64_t steps, saving, per_step;
    } rows[] = {
        {"launches", {{OP, 60, 500}}, 0, 30000, -1},
        {"launches beside fetching", {{OP, 60, 500}, {FETCH, 20, 500}}, 0, 30000, -1},
        {"copies", {{"C", 30, 1000}}, 0, 30000, -1},
        {"an operator", {{OP, 30, 1000}}, 0, 30000, -1},
        {"fetching", {{FETCH, 30, 1000}}, 0, 30000, -1},
        {"set-up", {{FIRST, 30, 1000}}, 0, -1, -1},
        {"nothing", {{"-", 60, 1000}}, 0, -1, -1},
        {"held back, while another thread waits", {{"W", 30, 1200}}, 0, -1, -1},
        {"launches in ten steps", {{OP, 60, 500}}, 10, 30000, 3000},
        {"in three", {{OP, 60, 500}}, 3, 30000, 10000},
        {"in two", {{OP, 60, 500}}, 2, 30000, -1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_verdict_words answer = answer_to(made(rows[i].pieces, rows[i].steps));
        check_case(rows[i].what);
        CHECK_INT(saved(answer.saving_ns), rows[i].saving);
        CHECK_INT(saved(answer.saving_ns_per_step), rows[i].per_step);
    }
    /* Of four steps the first is warm-up: a quarter of the saving is not of the others, which end
     * with the last kernel. */
    struct nl_verdict_words answer = answer_to(made((struct piece[PIECES]){{OP, 60, 500}}, 4));
    check_case("in four");
    CHECK_INT(saved(answer.saving_ns), 30000);
    CHECK(saved(answer.saving_ns_per_step) > 7400 && saved(answer.saving_ns_per_step) <= 7500);
    check_case(NULL);
}

/* `steps` steps of `us`, in which the device computes all the time, after set-up of `before`. */
static struct nl_trace *set_up(int64_t before, int64_t steps, int64_t us)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_call(&make, "cudaMalloc", 0, before);
    for (int64_t s = 0; s < steps; s++) {
        int64_t at = before + s * us;
        gputrace_step(&make, at, us);
        for (int64_t k = 0; k < 20; k++)
            gputrace_kernel(&make, 7, k % 2 ? "softmax" : "h16816gemm", at + us * k / 20, 1,
                            at + us * k / 20, us / 20);
    }
    return gputrace_close(&make);
}

/* Set-up is the answer from four fifths of the time on; of few steps from a third on where they
 * are all of it. */
static void set_up_first(void)
{
    static const struct {
        int64_t before, steps, us;
        bool startup;
    } rows[] = {{120000, 6, 5000, true},  {119000, 6, 5000, false}, {10000, 2, 10000, false},
                {9900, 2, 10000, true},   {100000, 5, 5000, true},  {99000, 5, 5000, false},
                {100000, 4, 5000, false}, {400000, 4, 5000, false}};
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_verdict_words answer =
            answer_to(set_up(rows[i].before, rows[i].steps, rows[i].us));
        char what[80];
        snprintf(what, sizeof what, "%d before %d steps", (int)rows[i].before, (int)rows[i].steps);
        check_case(what);
        CHECK_TEXT(nl_verdict_class_name(answer.class), rows[i].startup ? "startup" : "compute");
        CHECK_TEXT(answer.phase, rows[i].startup ? "startup" : "steady");
    }
    check_case(NULL);
}

CHECK_MAIN("verdictdevice", {"what the answer is about", classes}, {"what could be saved", savings},
           {"set-up first", set_up_first})

/* What an answer says of timelines of the CPU (answer/verdictcpu.c): the limits of each sentence,
 * over tables that were written by hand beside a made-up program of 100 ms. */
#include "judging.h"

/* 100 slices of 1 ms, whose names do not matter: operators, or of no kind. */
static struct nl_trace *program(bool ops)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 100; i++)
        if (ops)
            gputrace_op(&make, "aten::x", 5000 + 1000 * i, 1000);
        else
            gputrace_slice(&make, NL_KIND_GENERIC, make.calls, "x", 5000 + 1000 * i, 1000);
    return gputrace_close(&make);
}

#define MAX_TABLES 6

struct table {
    const char *name, *lines;
};

static void tell(struct nl_buf *out, struct nl_trace *trace, const struct table *tables)
{
    struct nl_result *results[MAX_TABLES + 1];
    size_t count = 0;
    for (; count < MAX_TABLES && tables[count].name; count++)
        results[count] = judge_table(tables[count].name, tables[count].lines);
    judge_text(out, nl_judge_cpu, trace, results, count);
}

static void says_of(const char *what, struct nl_trace *trace, const struct table *tables,
                    const char *want)
{
    struct nl_buf out;
    check_case(what);
    REQUIRE(trace);
    nl_buf_init(&out, 1 << 16);
    tell(&out, trace, tables);
    judge_compare(&out, want);
    nl_buf_release(&out);
    check_case(NULL);
}

static void says(const char *what, const struct table *tables, const char *want)
{
    says_of(what, program(true), tables, want);
}

#define TABLES(...)                                                                                \
    (const struct table[MAX_TABLES])                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define ROWS "name kind self_ns total_ns count share bound\n"
#define SAYS "cpu-only: CPU-only profile, 100.0 ms; of the self time of operators: "

static void longest(void)
{
    says("three, the largest first, of equal ones the first",
         TABLES({"ops", ROWS "b op 2000000 0 2 0.2 -\na op 3000000 0 1 0.3 -\nc op 2000000 0 1 0.2 "
                             "-\nd op 3000000 0 1 0.3 -\n"}),
         SAYS "a 3.000 ms (30 %, 1 call), d 3.000 ms (30 %, 1 call), b 2.000 ms (20 %, 2 calls)."
              "\nculprit: a\n");
    says("those that have no share, and the profiler's, are left out",
         TABLES({"ops", ROWS "b op 2000000 0 2 0.2 -\nw op 9000000 0 1 - -\n"
                             "v overhead 2000000 0 1 0.2 -\n"}),
         "cpu-only: CPU-only profile, 100.0 ms; of the self time of operators in which a thread "
         "works: b 2.000 ms (50 %, 2 calls).\nculprit: b\n");
    says("on two threads",
         TABLES({"ops", ROWS "b op 2000000 0 2 0.0 -\n"}, {"threads", "thread\n1\n2\n"}),
         "cpu-only: CPU-only profile, 100.0 ms on 2 threads; of the self time of operators: b "
         "2.000 ms (100 %, 2 calls).\nculprit: b\n");
    says("calls were left out",
         TABLES({"ops", ROWS "b op 4000000 0 2 - at+least\nc op 3000000 0 1 - at+most\n"
                             "d op 2000000 0 5 - first+calls\n"}),
         SAYS "b at least 4.000 ms (at least 2 calls), c at most 3.000 ms (1 call), d 2.000 ms in "
              "its first 5 calls.\nculprit: b\n");
    says("only work of the profiler", TABLES({"ops", ROWS "v overhead 2000000 0 1 0.2 -\n"}), "");
    says("nothing takes time", TABLES({"ops", ROWS "v op 0 0 1 0.2 -\n"}), "");
    says("there is a device",
         TABLES({"ops", ROWS "b op 2000000 0 2 0.2 -\n"}, {"breakdown", "x\n1\n"}), "");
}

/* The most specific kind that covers a tenth of what takes most. */
static void which_table(void)
{
    static const struct {
        const char *name, *what;
    } kinds[] = {{"ops", "operators"},
                 {"python", "Python functions"},
                 {"layers", "layers"},
                 {"nvtx", "ranges"},
                 {"others", "slices"}};
    for (size_t i = 0; i < CHECK_LENGTH(kinds); i++)
        for (int least = 0; least < 2; least++) {
            char want[200];
            const char *what = least || i == 4 ? kinds[i].what : kinds[4].what;
            const char *few = least ? ROWS "f x 200000 0 1 0.1 -\n" : ROWS "f x 199999 0 1 0.1 -\n";
            snprintf(want, sizeof want,
                     "cpu-only: CPU-only profile, 100.0 ms; of the self time of %s: …", what);
            says(kinds[i].name,
                 TABLES({i < 4 ? kinds[i].name : "others",
                         i < 4 ? few : ROWS "f x 2000000 0 1 0.1 -\n"},
                        {i < 4 ? "others" : NULL, ROWS "g x 2000000 0 1 0.1 -\n"}),
                 want);
        }
}

static void node_types(void)
{
    says("three kinds",
         TABLES({"ops", ROWS "a op 3000000 0 1 0.3 -\n"},
                {"node_types", "type total_ns\nConv 6000000\nGemm 3000000\nRelu 2000000\nAdd "
                               "1000000\n"}),
         "cpu-only: CPU-only profile, 100.0 ms; by kind of operator: Conv 50 %, Gemm 25 %, Relu 17 "
         "% of 12.00 ms; the longest operator is a 25 % in 1 call.\nculprit: Conv\n");
    says("of layers none",
         TABLES({"layers", ROWS "a op 3000000 0 1 0.3 -\n"},
                {"node_types", "type total_ns\nConv 6000000\n"}),
         "cpu-only: CPU-only profile, 100.0 ms; of the self time of layers: a…");
    says("one kind",
         TABLES({"ops", ROWS "a op 3000000 0 2 0.3 -\n"},
                {"node_types", "type total_ns\nConv 6000000\n"}),
         "cpu-only: CPU-only profile, 100.0 ms; by kind of operator: Conv 100 % of 6.000 ms; the "
         "longest operator is a 50 % in 2 calls.\nculprit: Conv\n");
    says(
        "that take no time",
        TABLES({"ops", ROWS "a op 3000000 0 1 0.3 -\n"}, {"node_types", "type total_ns\nConv 0\n"}),
        SAYS "a…");
}

static void waiting(void)
{
#define WAITS "idle: Waiting: the program does nothing for "
    says("half of the time, of all",
         TABLES({"ops", ROWS "time.sleep op 5000000 0 3 0.5 -\na op 3000000 0 1 0.3 -\n"
                             "b op 2000000 0 1 0.2 -\n"}),
         WAITS "5.000 ms of 100.0 ms (5.0 %), in time.sleep (3 calls); of the rest most in a 3.000 "
               "ms (30 %, 1 call).\nculprit: time.sleep\n");
    says("less than half",
         TABLES({"ops", ROWS "time.sleep op 4999999 0 3 0.5 -\na op 3000000 0 1 0.3 -\n"
                             "b op 2000001 0 1 0.2 -\n"}),
         SAYS "time.sleep 5.000 ms (50 %, 3 calls)…");
    says("all the time", TABLES({"ops", ROWS "time.sleep op 100000000 0 1 0.5 -\n"}),
         WAITS "100.0 ms of 100.0 ms (100 %), in time.sleep (1 call).\nculprit: time.sleep\n");
    says("of more than one thread",
         TABLES({"ops", ROWS "time.sleep op 100000001 0 1 0.5 -\na op 99999999 0 1 0.5 -\n"}),
         "idle: Waiting: threads do nothing for 100.0 ms of all threads' 200.0 ms (50 %), in "
         "time.sleep (1 call)…");
    says("calls were left out",
         TABLES({"ops", ROWS "time.sleep op 5000000 0 3 0.5 at+least\na op 3000000 0 1 0.3 -\n"}),
         SAYS "time.sleep at least…");
    says("works", TABLES({"ops", ROWS "work op 5000000 0 3 0.5 -\n"}), SAYS "work…");
    says("for what others wait in",
         TABLES({"ops", ROWS "lock.acquire op 5000000 0 3 0.5 -\ntime.sleep op 2500001 0 1 - -\n"
                             "select op 2500001 0 2 - -\nwork op 9000000 0 2 - -\n"}),
         WAITS "5.000 ms of 100.0 ms (5.0 %), in lock.acquire (3 calls), while helper threads are "
               "in time.sleep for 2.500 ms (1 call).\nculprit: lock.acquire\n");
    says("of two the longer",
         TABLES({"ops", ROWS "lock.acquire op 5000000 0 3 0.5 -\ntime.sleep op 2600000 0 1 - -\n"
                             "select op 2700000 0 2 - -\nlock.acquire op 9000000 0 2 - -\n"}),
         WAITS "5.000 ms of 100.0 ms (5.0 %), in lock.acquire (3 calls), while helper threads are "
               "in select for 2.700 ms (2 calls).\n…");
    says("others wait for half of it",
         TABLES({"ops", ROWS "lock.acquire op 5000000 0 3 0.5 -\ntime.sleep op 2500000 0 1 - -\n"}),
         WAITS "5.000 ms of 100.0 ms (5.0 %), in lock.acquire (3 calls).\n…");
    says("no lock",
         TABLES({"ops", ROWS "time.sleep op 5000000 0 3 0.5 -\nselect op 4000000 0 1 - -\n"}),
         WAITS "5.000 ms of 100.0 ms (5.0 %), in time.sleep (3 calls).\n…");
}

static void messages(void)
{
#define TALKS "communication: Communication: the program spends "
#define REST  "; how much of it is waiting for them is not in the file.\nculprit: "
    static const char *const names[] = {"gloo:a", "nccl:a",  "mpi:a",
                                        "ucc:a",  "c10d::a", "MPI_Wait"};
    for (size_t i = 0; i < CHECK_LENGTH(names); i++) {
        char rows[300], want[300];
        snprintf(rows, sizeof rows, ROWS "%s op 5000000 0 3 0.5 -\na op 5000000 0 1 0.5 -\n",
                 names[i]);
        snprintf(want, sizeof want,
                 TALKS "5.000 ms of 10.00 ms (50 %%) in messages to other processes: %s 5.000 ms "
                       "(50 %%, 3 calls)" REST "%s\n",
                 names[i], names[i]);
        says(names[i], TABLES({"ops", rows}), want);
    }
    says("less than half",
         TABLES({"ops", ROWS "gloo:a op 4999999 0 3 0.5 -\na op 5000001 0 1 0.5 -\n"}),
         SAYS "a 5.000…");
    says("two are named, of the first eight",
         TABLES({"ops", ROWS "a op 1100 0 1 0.1 -\nb op 1090 0 1 0.1 -\nc op 1080 0 1 0.1 -\n"
                             "d op 1070 0 1 0.1 -\ne op 1060 0 1 0.1 -\nf op 1050 0 1 0.1 -\n"
                             "gloo:a op 1040 0 1 0.1 -\ngloo:b op 1030 0 1 0.1 -\n"
                             "gloo:c op 1020 0 1 0.1 -\ngloo:d op 5000 0 1 0.1 -\n"}),
         TALKS "8.090 µs of 14.54 µs (56 %) in messages to other processes: gloo:d 5.000 µs (34 %, "
               "1 call), gloo:a 1.040 µs (7.2 %, 1 call)" REST "gloo:d\n");
    says("the second is the ninth",
         TABLES({"ops", ROWS "a op 1100 0 1 0.1 -\nb op 1090 0 1 0.1 -\nc op 1080 0 1 0.1 -\n"
                             "d op 1070 0 1 0.1 -\ne op 1060 0 1 0.1 -\nf op 1050 0 1 0.1 -\n"
                             "g op 1040 0 1 0.1 -\ngloo:b op 1030 0 1 0.1 -\n"
                             "gloo:c op 1020 0 1 0.1 -\ngloo:d op 9000 0 1 0.1 -\n"}),
         TALKS "11.05 µs of 18.54 µs (60 %) in messages to other processes: gloo:d 9.000 µs (49 %, "
               "1 call)" REST "gloo:d\n");
    says("take no time", TABLES({"ops", ROWS "gloo:a op 0 0 3 0.5 -\na op 1 0 1 0.5 -\n"}),
         SAYS "a 1 ns…");
}

/* Steps of a fifth of the time or less, the first after half of it or more. */
static void startup(void)
{
#define STARTS "startup: Start-up: the first step begins after "
#define OPS    {"ops", ROWS "a op 3000000 0 1 0.3 -\n"}
    says("both", TABLES(OPS, {"steps", "start_ns dur_ns\n50000000 10000000\n60000000 10000000\n"}),
         STARTS "50.00 ms of 100.0 ms (50 %), spent on loading and initialisation; 2 steps take "
                "20.00 ms.\nculprit: loading and initialisation\n");
    says("longer steps", TABLES(OPS, {"steps", "start_ns dur_ns\n50000000 20000001\n"}), SAYS "a…");
    says("an earlier step", TABLES(OPS, {"steps", "start_ns dur_ns\n49999999 10000000\n"}),
         SAYS "a…");
    says("steps of no time", TABLES(OPS, {"steps", "start_ns dur_ns\n50000000 0\n"}), SAYS "a…");
    says("two ranges of a twentieth of the time, called twice at most",
         TABLES(OPS, {"steps", "start_ns dur_ns\n50000000 10000000\n"},
                {"nvtx", ROWS "often x 9000000 0 3 0.1 -\nload x 5000000 0 2 0.1 -\n"
                              "less x 4999999 0 1 0.1 -\ninit x 6000000 0 1 0.1 -\n"
                              "third x 8000000 0 1 0.1 -\n"}),
         STARTS "50.00 ms of 100.0 ms (50 %), spent on loading and initialisation: load 5.000 ms, "
                "init 6.000 ms; 1 step takes 10.00 ms.\n…");
}

static void outliers(void)
{
#define SUMMARY {"step_summary", "p50_ns excluded_steps\n10000000.0 0\n"}
    says("twice the median",
         TABLES(OPS, {"steps", "index start_ns dur_ns\n0 0 10000000\n1 0 20000000\n2 0 9000000\n"},
                SUMMARY),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\n");
    says("more than that",
         TABLES(OPS, {"steps", "index start_ns dur_ns\n5 0 10000000\n6 0 20000001\n7 0 9000000\n"},
                SUMMARY),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\nOutliers: 1 step takes more than twice the "
              "median of 10.00 ms; the slowest, step 6, takes 20.00 ms.\n");
    says("two, the slowest of them, and warm-up",
         TABLES(OPS, {"steps", "index start_ns dur_ns\n5 0 30000000\n6 0 40000000\n7 0 9000000\n"},
                {"step_summary", "p50_ns excluded_steps\n10000000.0 1\n"}),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\nOutliers: 2 steps take more than twice the "
              "median after warm-up, 10.00 ms; the slowest, step 6, takes 40.00 ms.\n");
#define PHASES "index start_ns dur_ns phase\n"
    says("only warm-up, the slowest of it",
         TABLES(OPS,
                {"steps", PHASES "0 0 30000000 warm-up\n1 0 40000000 compile\n"
                                 "2 0 9000000 steady\n3 0 20000000 steady\n"},
                {"step_summary", "p50_ns excluded_steps\n10000000.0 2\n"}),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\nWarm-up: step 1 takes 40.00 ms, the median "
              "after it is 10.00 ms.\n");
    says("warm-up is no outlier",
         TABLES(OPS,
                {"steps", PHASES "0 0 30000000 warm-up\n1 0 9000000 steady\n"
                                 "2 0 20000001 steady\n3 0 10000000 steady\n"},
                {"step_summary", "p50_ns excluded_steps\n10000000.0 1\n"}),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\nOutliers: 1 step takes more than twice the "
              "median after warm-up, 10.00 ms; the slowest, step 2, takes 20.00 ms.\n");
    says("no summary", TABLES(OPS, {"steps", "index start_ns dur_ns\n5 0 30000000\n"}),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\n");
    says("no median",
         TABLES(OPS, {"steps", "index start_ns dur_ns\n5 0 30000000\n"},
                {"step_summary", "p50_ns excluded_steps\n0.0 1\n"}),
         SAYS "a 3.000 ms (100 %, 1 call).\nculprit: a\n");
}

/* A program in which outer holds middle, middle inner, four times, 10 ms each; x and y of those are
 * in outer and middle by themselves, before 60 ms of others. */
static struct nl_trace *nested(int64_t x, int64_t y)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 4; i++) {
        gputrace_op(&make, "outer", 10000 * i, 10000);
        gputrace_op(&make, "middle", 10000 * i, 10000 - x);
        gputrace_op(&make, "inner", 10000 * i, 10000 - x - y);
    }
    for (int64_t i = 0; i < 60; i++)
        gputrace_op(&make, "rest", 40000 + 1000 * i, 1000);
    return gputrace_close(&make);
}

static void inclusive(void)
{
    static const struct {
        int64_t x, y;
        const char *rows, *want;
    } cases[] = {
        {0, 0,
         "outer op 0 40000000 4 0.0 -\nmiddle op 0 40000000 4 0.0 -\ninner op 40000000 40000000 4 "
         "0.4 -\nrest op 60000000 60000000 60 0.6 -\n",
         "With what they call: outer 40 %, middle 40 %.\n"},
        {5000, 0,
         "outer op 20000000 40000000 4 0.2 -\nmiddle op 0 20000000 4 0.0 -\ninner op 20000000 "
         "20000000 4 0.2 -\nrest op 60000000 60000000 60 0.6 -\n",
         "With what they call: outer 40 %.\n"},
        {5001, 0, "outer op 20004000 40000000 4 0.2 -\nrest op 79996000 60000000 60 0.6 -\n", ""},
        {2500, 0,
         "outer op 10000000 40000000 4 0.1 -\nmiddle op 0 30000000 4 0.0 -\ninner op 30000000 "
         "30000000 4 0.3 -\nrest op 60000000 60000000 60 0.6 -\n",
         "With what they call: outer 40 %, middle 30 %.\n"},
        {2501, 0,
         "outer op 10004000 40000000 4 0.1 -\nmiddle op 0 29996000 4 0.0 -\ninner op 29996000 "
         "29996000 4 0.3 -\nrest op 60000000 60000000 60 0.6 -\n",
         "With what they call: outer 40 %.\n"},
        {0, 0, "outer op 1 40000000 4 0.1 -\nb op 38800000 0 4 0.0 -\n", ""},
        {0, 0, "outer op 1 40000000 4 0.1 -\nb op 41237114 0 4 0.0 -\n",
         "With what they call: outer 97 %.\n"},
        {0, 0, "nowhere op 1 40000000 4 0.1 -\nb op 60000000 0 4 0.0 -\n", ""},
        {0, 0, "outer op 1 40000000 4 - -\nb op 60000000 0 4 0.0 -\n", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char rows[600];
        struct nl_buf out;
        snprintf(rows, sizeof rows, ROWS "%s", cases[i].rows);
        check_case(cases[i].rows);
        nl_buf_init(&out, 1 << 16);
        tell(&out, nested(cases[i].x, cases[i].y), TABLES({"ops", rows}));
        const char *found = strstr(out.ptr, "With what");
        CHECK_TEXT(found ? found : "", cases[i].want);
        nl_buf_release(&out);
    }
    check_case(NULL);
}

/* 100 slices of no kind: samples say more where functions with a name have a fifth of them. */
static void samples_instead(void)
{
    static const struct {
        const char *rows;
        bool more;
    } cases[] = {{"f 0.2001\n", true},        {"f 0.2\n", false},
                 {"f 0.1\ng 0.1001\n", true}, {"(idle) 0.9\nf 0.1\n", false},
                 {"- 0.9\nf 0.1\n", false},   {"g -\nf 0.3\n", true}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        for (int ops = 0; ops < 2; ops++) {
            char rows[100];
            struct table others = {ops ? "ops" : "others", ROWS "a x 3000000 0 1 0.3 -\n"};
            snprintf(rows, sizeof rows, "function share\n%s", cases[i].rows);
            says_of(cases[i].rows, program(ops), TABLES(others, {"cpu_samples", rows}),
                    cases[i].more && !ops ? "" : "cpu-only: CPU-only profile, 100.0 ms; of…");
        }
}

/* 98 ms of others, then two calls of a, the second in the first, of 2 ms and 1 ms, and b in that
 * for 0.5 ms, and c in b for 0.2 ms; a and c have no end. By itself a takes 1.5 ms. */
static struct nl_trace *unended(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 98; i++)
        gputrace_op(&make, "aten::x", 1000 * i, 1000);
    for (int64_t i = 0; i < 3; i++) {
        struct nl_op_row op = nl_op_row();
        struct nl_slice_row row = nl_slice_row();
        row.kind = NL_KIND_OP;
        row.lane = make.calls;
        row.name = nl_stage_name(make.stage, nl_str(i < 2 ? "a" : "c"));
        row.ts = i < 2 ? 98000000 + i * 1000000 : 99800000;
        row.dur = i < 2 ? 2000000 - i * 1000000 : 200000;
        row.flags = NL_SLICE_CLAMPED;
        op.slice = nl_stage_slice(make.stage, &row);
        nl_stage_op(make.stage, &op);
    }
    gputrace_op(&make, "b", 99500, 500);
    return gputrace_close(&make);
}

/* More than half of what a takes is in calls without an end; of the three with most. */
static void without_end(void)
{
    static const struct {
        const char *rows, *said;
    } cases[] = {
        {"a op 3000000 0 2 0.5 -\n", ""},
        {"a op 2999998 0 2 0.5 -\n",
         "Counted up to the last moment, as no end was recorded: 1.500 ms of a (2 calls).\n"},
        {"x op 5 0 2 0.5 -\ny op 4 0 2 0.5 -\na op 3 0 2 0.5 -\n",
         "Counted up to the last moment, as no end was recorded: 1.500 ms of a (2 calls).\n"},
        {"c op 5 0 1 0.5 -\ny op 4 0 2 0.5 -\na op 3 0 2 0.5 -\n",
         "Counted up to the last moment, as no end was recorded: 200.0 µs of c (1 call), 1.500 ms "
         "of a (2 calls).\n"},
        {"x op 5 0 2 0.5 -\ny op 4 0 2 0.5 -\nz op 4 0 2 0.5 -\na op 3 0 2 0.5 -\n", ""},
        {"b op 5 0 2 0.5 -\n", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char rows[300];
        struct nl_buf out;
        snprintf(rows, sizeof rows, ROWS "%s", cases[i].rows);
        nl_buf_init(&out, 1 << 16);
        tell(&out, unended(), TABLES({"ops", rows}));
        const char *found = strstr(out.ptr, "Counted up");
        check_case(cases[i].rows);
        CHECK_TEXT(found ? found : "", cases[i].said);
        nl_buf_release(&out);
    }
    check_case(NULL);
}

/* 100 slices, then 180 ms in m and 20 ms in n, in which the thread is off the processors. */
static struct nl_trace *sleeper(void)
{
    struct gputrace make;
    gputrace_open(&make);
    uint32_t runs = gputrace_lane(&make, NL_LANE_SCHED, -1);
    for (int64_t i = 0; i < 100; i++)
        gputrace_slice(&make, NL_KIND_GENERIC, make.calls, "x", 1000 * i, 1000);
    gputrace_slice(&make, NL_KIND_GENERIC, make.calls, "m", 100000, 180000);
    gputrace_slice(&make, NL_KIND_GENERIC, make.calls, "n", 280000, 20000);
    gputrace_slice(&make, NL_KIND_SCHED, runs, "CPU 0", 0, 100000);
    gputrace_slice(&make, NL_KIND_SCHED, runs, "CPU 0", 300000, 1000);
    return gputrace_close(&make);
}

/* What the scheduler shows to be waiting is no work, and named where it is longer. */
static void off_the_processors(void)
{
#define WORKS                                                                                      \
    "cpu-only: CPU-only profile, 301.0 ms; of the self time of slices in which a thread works: "
    says_of("two that wait, the longer first", sleeper(),
            TABLES({"others", ROWS "n generic 20000000 20000000 1 - -\n"
                                   "m generic 180000000 180000000 1 - -\n"
                                   "y generic 90000000 100000000 2 0.5 -\n"
                                   "x generic 10000000 95000000 2 0.5 -\n"}),
            WORKS "y 90.00 ms (90 %, 2 calls), x 10.00 ms (10 %, 2 calls).\nculprit: y\n"
                  "Waiting off the processors, as the scheduler's switches show: m 180.0 ms (1 "
                  "call), n 20.00 ms (1 call).\n");
    says_of("one", sleeper(),
            TABLES({"others", ROWS "m generic 180000000 180000000 3 - -\n"
                                   "x generic 180000000 180000000 2 0.5 -\n"}),
            WORKS "x 180.0 ms (100 %, 2 calls).\nculprit: x\n"
                  "Waiting off the processors, as the scheduler's switches show: m 180.0 ms (3 "
                  "calls).\n");
    says_of("shorter than what works: what calls it is said", sleeper(),
            TABLES({"others", ROWS "m generic 180000000 180000000 3 - -\n"
                                   "y generic 180000001 180000001 2 0.5 -\n"
                                   "x generic 10000000 95000000 2 0.5 -\n"}),
            WORKS "y 180.0 ms (95 %, 2 calls), x 10.00 ms (5.3 %, 2 calls).\nculprit: y\n"
                  "With what they call: x 53 %.\n");
}

CHECK_MAIN("verdictcpu", {"what takes longest", longest}, {"which table", which_table},
           {"kinds of operators", node_types}, {"waiting", waiting}, {"messages", messages},
           {"start-up", startup}, {"outliers", outliers}, {"with what they call", inclusive},
           {"samples instead", samples_instead}, {"calls without an end", without_end},
           {"off the processors", off_the_processors})

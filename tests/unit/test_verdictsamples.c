/* What an answer says of CPU samples (answer/verdictsamples.c): the limits of each sentence, over
 * tables and samples that were written by hand. */
#include "judging.h"

/* "THREAD WEIGHT EVENT STACK\n" each: - for what is unknown; the stack "NAME|FILE;…" is innermost
 * first, a + stands for a blank. */
static struct nl_trace *sampled(const char *format, const char *lines)
{
    struct nl_err err = {0};
    struct nl_builder *builder = nl_builder_new(NULL);
    struct nl_stage *stage = nl_stage_new(builder);
    uint32_t source = nl_builder_source(builder, "made-up", format);
    uint32_t process = nl_builder_process(builder, source, 1);
    char cells[16][80];
    nl_stage_begin(stage, source, 0);
    for (; *lines; lines = strchr(lines, '\n') + 1) {
        judge_cells(lines, cells);
        for (int i = 0; i < 4; i++)
            for (char *at = cells[i]; *at; at++)
                *at = *at == '+' ? ' ' : *at;
        struct nl_sample_row row = nl_sample_row();
        row.stack = NL_NULL_ROW;
        row.lane = NL_NULL_ROW;
        if (*cells[0] != '-') {
            uint32_t thread = nl_builder_thread(builder, process, 100 + *cells[0]);
            nl_builder_thread_name(builder, thread, nl_str(cells[0]));
            struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                                      .process = process,
                                      .thread = thread,
                                      .device = NL_NULL_ROW,
                                      .context = NL_NULL_I64,
                                      .stream = NL_NULL_I64};
            row.lane = nl_builder_lane(builder, &key);
        }
        if (*cells[1] != '-')
            row.weight = strtoll(cells[1], NULL, 10);
        row.event = *cells[2] == '-' ? 0 : nl_stage_name(stage, nl_str(cells[2]));
        for (char *end = cells[3]; *cells[3] && *cells[3] != '-'; *end = '\0') {
            end = strrchr(cells[3], ';');
            char *name = end ? end + 1 : cells[3], *file = strchr(name, '|');
            struct nl_stack_row frame = nl_stack_row();
            end = end ? end : cells[3];
            if (file)
                *file++ = '\0';
            frame.parent = row.stack;
            frame.name = nl_stage_name(stage, nl_str(name));
            frame.file = file ? nl_stage_name(stage, nl_str(file)) : 0;
            row.stack = nl_stage_stack(stage, &frame);
        }
        nl_stage_sample(stage, &row);
    }
    return nl_builder_finish(builder, &err);
}

static void says_as(const char *format, const char *what, const char *samples, const char *table,
                    const char *want)
{
    struct nl_result *rows = judge_table("cpu_samples", table);
    check_case(what);
    judge_check_with(nl_judge_samples, sampled(format, samples), &rows, 1, want);
    check_case(NULL);
}

static void says(const char *what, const char *samples, const char *table, const char *want)
{
    says_as("perf", what, samples, table, want);
}

#define HEAD  "event unit function place share total_share\n"
#define ROW_F "- - f - 0.5 0.5\n"
#define SAYS  "cpu-only: CPU-only profile, samples: "

/* ---- A main thread that waits ---- */

#define BUSY "most in f 50 %.\nculprit: f\n"

static void waiting(void)
{
    says("half of it", "MainThread 50 - time.sleep\nMainThread 50 - f\n", HEAD ROW_F,
         "idle: Waiting: the main thread spends 50 % of its samples in time.sleep: what it waits "
         "for is not in this thread.\nculprit: time.sleep\n");
    says("less than half", "MainThread 49 - time.sleep\nMainThread 51 - f\n", HEAD ROW_F,
         SAYS BUSY);
    says("works", "MainThread 50 - g\nMainThread 50 - f\n", HEAD ROW_F, SAYS BUSY);
    says("without weights each counts 1",
         "MainThread - - time.sleep\nMainThread - - f\nMainThread - - time.sleep\n", HEAD ROW_F,
         "idle: Waiting: the main thread spends 67 % of its samples in time.sleep…");
    says("a sample without a stack is none of its",
         "MainThread 50 - time.sleep\nMainThread 500 - -\n", HEAD ROW_F,
         "idle: Waiting: the main thread spends 100 % of its samples in time.sleep…");
    says("a sample without a thread is none of its", "MainThread 50 - time.sleep\n- 500 - f\n",
         HEAD ROW_F, "idle: Waiting: the main thread spends 100 % of its samples in time.sleep…");
    says("the one named so, however little it has",
         "worker 900 - f\nMainThread 50 - time.sleep\nZ 900 - f\n", HEAD ROW_F,
         "idle: Waiting: the main thread spends 100 % of its samples in time.sleep: what it waits "
         "for is not in this thread.\nculprit: time.sleep\nMeanwhile other threads are in f 100 "
         "%.\n");
    says("of two named so the one with more", "A+MainThread 50 - f\nB+MainThread 51 - time.sleep\n",
         HEAD ROW_F, "idle: Waiting: the main thread spends 100 % of its samples in time.sleep…");
    says("of two with as much the first", "A+MainThread 50 - time.sleep\nB+MainThread 50 - f\n",
         HEAD ROW_F, "idle: Waiting: the main thread spends 100 % of its samples in time.sleep…");
    says("without a name the one with most", "worker 100 - time.sleep\nother 50 - f\n", HEAD ROW_F,
         "idle: Waiting: the main thread spends 100 % of its samples in time.sleep: what it waits "
         "for is not in this thread.\nculprit: time.sleep\nMeanwhile other threads are in f 100 "
         "%.\n");
    says("others work for more than half of it", "worker 100 - time.sleep\nother 51 - f\n",
         HEAD ROW_F, SAYS BUSY);
    says("no weight at all", "MainThread 0 - time.sleep\n", HEAD ROW_F, SAYS BUSY);
}

static void callers_of_waits(void)
{
    static const struct {
        const char *stack, *said;
    } cases[] = {
        {"wait;join|t.py", ", called by join"},
        {"wait;join|/usr/lib/python3/t.py;run|train.py", ", called by join, from run"},
        {"wait;join|/x/site-packages/t.py;put|/x/cpython/t.py;run|train.py",
         ", called by join, from run"},
        {"wait;join|<frozen+t>;run|train.py;main|main.py", ", called by join, from run"},
        {"wait;run|train.py;main|main.py", ", called by run"},
        {"wait;join;run", ", called by join"},
        {"wait", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char samples[200], want[300];
        snprintf(samples, sizeof samples, "MainThread 1 - %s\n", cases[i].stack);
        snprintf(want, sizeof want,
                 "idle: Waiting: the main thread spends 100 %% of its samples in wait%s: what it "
                 "waits for is not in this thread.\nculprit: wait\n",
                 cases[i].said);
        says(cases[i].stack, samples, HEAD ROW_F, want);
    }
}

/* Other threads work for a quarter of the wait or more; two functions are named. */
static void meanwhile(void)
{
    static const struct {
        const char *samples, *said;
    } cases[] = {
        {"w 25 - f\n", "Meanwhile other threads are in f 100 %.\n"},
        {"w 24 - f\n", ""},
        {"w 25 - time.sleep\n", ""},
        {"w 25 - -\n", ""},
        {"- 25 - f\n", ""},
        {"w 20 - f\nx 5 - g\n", "Meanwhile other threads are in f 80 %, g 20 %.\n"},
        {"w 5 - g\nx 20 - f\n", "Meanwhile other threads are in f 80 %, g 20 %.\n"},
        {"w 5 - h\nx 15 - f\ny 10 - g\n", "Meanwhile other threads are in f 50 %, g 33 %.\n"},
        {"w 10 - g\nx 15 - f\ny 5 - h\nz 20 - i\n",
         "Meanwhile other threads are in i 40 %, f 30 %.\n"},
        {"w 20 - f\nx 20 - f\n", "Meanwhile other threads are in f 100 %.\n"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char samples[300], want[300];
        snprintf(samples, sizeof samples, "MainThread 100 - time.sleep\n%s", cases[i].samples);
        snprintf(want, sizeof want,
                 "idle: Waiting: the main thread spends 100 %% of its samples in time.sleep: what "
                 "it waits for is not in this thread.\nculprit: time.sleep\n%s",
                 cases[i].said);
        says(cases[i].samples, samples, HEAD ROW_F, want);
    }
}

/* ---- What takes the time ---- */

#define SAMPLE "t 1 - f\n"

static void longest(void)
{
    says("three of them, above a hundredth", SAMPLE,
         HEAD "- - f /x/a.so 0.4 0.4\n- - g C:\\b.so 0.3 0.3\n- - h - 0.01 0.01\n"
              "- - i - 0.01 0.01\n",
         SAYS "most in f in a.so 40 %, g in b.so 30 %, h 1.0 %.\nculprit: f\n");
    says("below", SAMPLE, HEAD "- - f - 0.4 0.4\n- - g - 0.0099 0.3\n",
         SAYS "most in f 40 %.\nculprit: f\n…");
    says("one alone, however little", SAMPLE, HEAD "- - f - 0.005 0.005\n",
         SAYS "no function stands out, the longest are f 0.5 %.\nculprit: f\n");
    says("a twentieth stands out", SAMPLE, HEAD "- - f - 0.05 0.05\n",
         SAYS "most in f 5.0 %.\nculprit: f\n");
    says("less does not", SAMPLE, HEAD "- - f - 0.0499 0.0499\n",
         SAYS "no function stands out, the longest are f 5.0 %.\nculprit: f\n");
    says("none has a name", SAMPLE, HEAD "- - (root) - 0.1 0.5\n",
         SAYS "no frame has a name.\nculprit: (none)\n");
    says("another event", SAMPLE, HEAD "a - f - 0.4 0.4\nb - g - 0.3 0.3\na - h - 0.1 0.1\n",
         SAYS "most in f 40 %, h 10 %.\nculprit: f\n");
    says_as("pstats", "times", SAMPLE, HEAD "- - f - 0.4 0.4\n",
            "cpu-only: CPU-only profile, time of functions: most in f 40 %.\nculprit: f\n");
}

static void nameless(void)
{
    static const struct {
        const char *name, *place, *said;
    } cases[] = {
        {"(idle)", "-", " idle; "},
        {"(program)", "-", " in native code without a name; "},
        {"(root)", "-", " in code without names; "},
        {"[unknown]+x", "/x/a.so", " in code without names in a.so; "},
        {"-", "[kernel.kallsyms]", " in the operating system's kernel, without names; "},
        {"-", "[vdso]", " in code without names; "},
        {"-", "a.so", " in code without names in a.so; "},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char table[300], want[300];
        for (int least = 0; least < 2; least++) {
            snprintf(table, sizeof table, HEAD "- - %s %s %s 0.5\n- - f - 0.2 0.2\n", cases[i].name,
                     cases[i].place, least ? "0.25" : "0.249");
            snprintf(want, sizeof want, SAYS "%s%smost in f 20 %%.\nculprit: f\n",
                     least ? "25 %" : "", least ? cases[i].said : "");
            says(cases[i].said, SAMPLE, table, want);
        }
    }
    says("in the first eight rows", SAMPLE,
         HEAD "- - f1 - 0.1 0.1\n- - f2 - 0.1 0.1\n- - f3 - 0.1 0.1\n- - f4 - 0.1 0.1\n"
              "- - f5 - 0.1 0.1\n- - f6 - 0.1 0.1\n- - f7 - 0.1 0.1\n- - (idle) - 0.3 0.3\n",
         SAYS "30 % idle; most in f1 10 %, f2 10 %, f3 10 %.\n…");
    says("not the ninth", SAMPLE,
         HEAD "- - f1 - 0.1 0.1\n- - f2 - 0.1 0.1\n- - f3 - 0.1 0.1\n- - f4 - 0.1 0.1\n"
              "- - f5 - 0.1 0.1\n- - f6 - 0.1 0.1\n- - f7 - 0.1 0.1\n- - f8 - 0.1 0.1\n"
              "- - (idle) - 0.3 0.3\n",
         SAYS "most in f1 10 %, f2 10 %, f3 10 %.\n…");
    says("of another event", SAMPLE, HEAD "a - f - 0.4 0.4\nb - (idle) - 0.3 0.3\n",
         SAYS "most in f 40 %.\nculprit: f\n");
}

/* CPUs without work, as perf has them, a quarter of the samples or more. */
static void swapper(void)
{
    static const char table[] = HEAD "c - f - 0.2 0.2\n- - (idle) - 0.3 0.3\n";
    says("a quarter", "swapper 25 c f\nt 75 c f\nswapper 900 d f\n", table,
         SAYS "the CPUs are idle in 25 % of them (process swapper); most in f 20 %.\n…");
    says("less", "swapper 24 c f\nt 76 c f\nt 0 c f\n- 24 d f\n", table, SAYS "most in f 20 %.\n…");
    says("an interrupt is work", "swapper 25 c net_rx_action;irq_exit;do_idle\nt 75 c f\n", table,
         SAYS "most in f 20 %.\n…");
    says("so is what an interrupt calls last", "swapper 25 c asm_sysvec_call;do_idle\nt 75 c f\n",
         table, SAYS "most in f 20 %.\n…");
    says("a stack without one is none", "swapper 25 c cpuidle_enter;do_idle\nt 75 c f\n", table,
         SAYS "the CPUs are idle in 25 %…");
    says("one without a thread is none of them", "swapper 25 c f\n- 76 c f\n", table,
         SAYS "most in f 20 %.\n…");
}

/* Functions that only wait are told apart, between a hundredth and nearly all. */
static void waits_apart(void)
{
    says("most of them first", SAMPLE,
         HEAD "- - f - 0.3 0.3\n- - wait - 0.2 0.2\n- - time.sleep - 0.1 0.1\n",
         SAYS "30 % waiting (mostly wait); most in f 30 %.\nculprit: f\n");
    says("a hundredth", SAMPLE, HEAD "- - f - 0.3 0.3\n- - wait - 0.01 0.01\n",
         SAYS "1.0 % waiting (mostly wait); most in f 30 %.\nculprit: f\n");
    says("less", SAMPLE, HEAD "- - f - 0.3 0.3\n- - wait - 0.0099 0.01\n",
         SAYS "most in f 30 %.\nculprit: f\n");
    says("nearly all", SAMPLE, HEAD "- - wait - 0.95 0.95\n- - f - 0.05 0.05\n",
         SAYS "95 % waiting (mostly wait); most in f 5.0 %.\nculprit: f\n");
    says("more than that", SAMPLE, HEAD "- - wait - 0.951 0.951\n- - f - 0.049 0.049\n",
         SAYS "most in wait 95 %, f 4.9 %.\nculprit: wait\n");
    says("on a processor", SAMPLE, HEAD "cpu-clock - f - 0.3 0.3\ncpu-clock - wait - 0.2 0.2\n",
         SAYS "most in f 30 %, wait 20 %.\nculprit: f\n");
    says("of another event", SAMPLE, HEAD "a - f - 0.3 0.3\nb - wait - 0.2 0.2\n",
         SAYS "most in f 30 %.\nculprit: f\n");
}

static void kinds(void)
{
    static const struct {
        const char *event, *unit, *want;
    } cases[] = {
        {"-", "bytes", "memory-snapshot: Heap profile, bytes by where they were allocated: "},
        {"alloc_objects", "-", "memory-snapshot: Heap profile, objects by where they were "},
        {"inuse_objects", "-", "memory-snapshot: Heap profile, objects by where they were "},
        {"Space", "count", "memory-snapshot: Heap profile, objects by where they were "},
        {"contentions", "-", "idle: Contention profile, waiting for locks by where: most in f "},
        {"block", "-", "idle: Contention profile, waiting for locks by where: most in f "},
        {"blocks", "-", SAYS "most in f 50 %.\n"},
        {"-", "ns", SAYS "most in f 50 %.\n"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char table[200], want[200];
        snprintf(table, sizeof table, HEAD "%s %s f - 0.5 0.5\n", cases[i].event, cases[i].unit);
        snprintf(want, sizeof want, "%s…", cases[i].want);
        says(cases[i].event, SAMPLE, table, want);
    }
    says("of memory the bytes", SAMPLE,
         HEAD "alloc count f - 0.5 0.5\ninuse_space bytes g - 0.4 0.4\n",
         "memory-snapshot: Heap profile, bytes by where they were allocated: most in g 40 %.\n…");
    says("else of the first function with a name", SAMPLE,
         HEAD "a - (root) - 0.5 0.5\nb - g - 0.4 0.4\n", SAYS "most in g 40 %.\n…");
}

static void imports(void)
{
    static const struct {
        const char *function, *share, *said;
    } cases[] = {
        {"_find_and_load", "0.3",
         "Importing modules takes 30 % of it: start-up, which each process "
         "pays once.\n"},
        {"_find_and_load", "0.299", ""},
        {"_find_and_load+(a.py:1)", "0.96",
         "Importing modules takes 96 % of it: start-up, which "
         "each process pays once.\n"},
        {"_find_and_load_unlocked", "0.96", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char table[200], want[300];
        snprintf(table, sizeof table, HEAD "- - f - 0.5 0.5\n- - %s - 0.2 %s\n", cases[i].function,
                 cases[i].share);
        for (char *at = strcpy(want, cases[i].function); (at = strchr(at, '+'));)
            *at = ' ';
        char all[400];
        snprintf(all, sizeof all, SAYS "most in f 50 %%, %s 20 %%.\nculprit: f\n%s", want,
                 cases[i].said);
        says(cases[i].share, SAMPLE, table, all);
    }
    says("the most of them", SAMPLE,
         HEAD "- - f - 0.5 0.5\n- - _find_and_load - 0.0 0.4\n- - _find_and_load+a - 0.0 0.5\n"
              "- - _find_and_load+b - 0.0 0.2\nc - _find_and_load+c - 0.0 0.9\n",
         SAYS "most in f 50 %.\nculprit: f\nImporting modules takes 50 % of it…");
    says("not of a heap profile", SAMPLE,
         HEAD "- bytes f - 0.5 0.5\n- bytes _find_and_load - 0.0 0.96\n",
         "memory-snapshot: Heap profile, bytes by where they were allocated: most in f 50 %.\n"
         "culprit: f\n");
}

/* Functions that hold a tenth to nearly all with what they call, half of it by themselves or
 * less; four of them. */
static void with_what_they_call(void)
{
    static const struct {
        const char *rows, *said;
    } cases[] = {
        {"- - g - 0.0 0.1\n", "With what they call: g 10 %.\n"},
        {"- - g - 0.0 0.0999\n", ""},
        {"- - g - 0.0 0.95\n", "With what they call: g 95 %.\n"},
        {"- - g - 0.0 0.951\n", ""},
        {"- - g - 0.004 0.2\n- - h - 0.1 0.2\n", "With what they call: g 20 %, h 20 %.\n"},
        {"- - g - 0.101 0.2\n", ""},
        {"- - g - 0.0 0.2\n- - h - 0.0 0.4\n- - i - 0.0 0.3\n- - j - 0.0 0.5\n- - k - 0.0 0.25\n",
         "With what they call: j 50 %, h 40 %, i 30 %, k 25 %.\n"},
        {"- - g - 0.0 0.5\n- - h - 0.0 0.4\n- - i - 0.0 0.3\n- - j - 0.0 0.2\n- - k - 0.0 0.1\n",
         "With what they call: g 50 %, h 40 %, i 30 %, j 20 %.\n"},
        {"- - (root) - 0.0 0.2\n- - main - 0.0 0.2\n- - _start - 0.0 0.2\n- - all - 0.0 0.2\n"
         "- - __libc_start_main - 0.0 0.2\n- - start_thread - 0.0 0.2\n- - clone - 0.0 0.2\n"
         "- - __clone - 0.0 0.2\n",
         ""},
        {"c - g - 0.0 0.2\n", ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char table[600];
        struct nl_buf all;
        snprintf(table, sizeof table, HEAD "- - f - 0.5 0.5\n%s", cases[i].rows);
        struct nl_result *rows = judge_table("cpu_samples", table);
        nl_buf_init(&all, 1 << 12);
        judge_text(&all, nl_judge_samples, sampled("perf", SAMPLE), &rows, 1);
        const char *found = strstr(all.ptr, "With what");
        check_case(cases[i].rows);
        CHECK_TEXT(found ? found : "", cases[i].said);
        nl_buf_release(&all);
    }
    check_case(NULL);
}

/* Of flat profiles all rows are looked at, and of a chain of calls one is said; of others the first
 * sixty. */
static void looked_at(void)
{
    for (int flat = 0; flat < 2; flat++)
        for (int before = 58; before <= 59; before++) {
            char table[4000];
            struct nl_buf all;
            snprintf(table, sizeof table, HEAD "- - f - %s 0.05\n", flat ? "0.04" : "0.5");
            for (int i = 0; i < before; i++)
                snprintf(table + strlen(table), 40, "- - f%d - 0.001 0.001\n", i);
            strcat(table, "- - g - 0.0 0.5\n- - h - 0.0 0.495\n- - i - 0.0 0.48\n");
            struct nl_result *rows = judge_table("cpu_samples", table);
            nl_buf_init(&all, 1 << 12);
            judge_text(&all, nl_judge_samples, sampled("perf", SAMPLE), &rows, 1);
            const char *found = strstr(all.ptr, "With what");
            CHECK_TEXT(found ? found : "", flat           ? "With what they call: g 50 %, i 48 %.\n"
                                           : before == 58 ? "With what they call: g 50 %.\n"
                                                          : "");
            nl_buf_release(&all);
        }
}

static void addresses(void)
{
    static const struct {
        const char *rows;
        bool said;
    } cases[] = {
        {"- - 0x1f - 0.25 0.25\n", true},
        {"- - 0x1f - 0.249 0.25\n", false},
        {"- - 0x1f - 0.15 0.25\n- - 0xAB - 0.1 0.1\n", true},
        {"- - 0x1f - 0.15 0.25\nb - 0xAB - 0.1 0.1\n", false},
        {"- - 0xa - 0.25 0.25\n", true},
        {"- - 0x - 0.25 0.25\n", false},
        {"- - 0x1g - 0.25 0.25\n", false},
        {"- - 1x1f - 0.25 0.25\n", false},
        {"- - 0y1f - 0.25 0.25\n", false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char table[300];
        struct nl_buf all;
        snprintf(table, sizeof table, HEAD "- - f - 0.5 0.5\n%s", cases[i].rows);
        struct nl_result *rows = judge_table("cpu_samples", table);
        nl_buf_init(&all, 1 << 12);
        judge_text(&all, nl_judge_samples, sampled("perf", SAMPLE), &rows, 1);
        check_case(cases[i].rows);
        CHECK(!strstr(all.ptr, "Names are missing: 25 % of it is in bare addresses.") ==
              !cases[i].said);
        nl_buf_release(&all);
    }
    check_case(NULL);
}

/* Samples by line, as scalene has them. */
static void by_line(void)
{
    says_as("scalene", "three lines, the largest first, and what is no Python", SAMPLE,
            HEAD "- - a.py:1 - 0.1 0.2\n- - [native] - 0.3 0.3\n- - b.py:2 - 0.1 0.4\n"
                 "- - [system] - 0.1 0.1\n- - f - 0.1 0.9\n- - c.py:3 - 0.1 0.1\n"
                 "- - d.py:4 - 0.1 0.3\n- - [native] - 0.1 0.1\n- - e.py:5 - 0.1 0.2\n",
            "cpu-only: CPU-only profile, samples by line: most in b.py:2 40 %, d.py:4 30 %, a.py:1 "
            "20 %.\nculprit: b.py:2\nOf all of it 40 % pass in native code (libraries in C), 10 % "
            "in the system or waiting, the rest in Python.\n");
    says_as("scalene", "no lines", SAMPLE, HEAD "- - f - 0.1 0.2\n",
            "cpu-only: CPU-only profile, samples by line: no line has a name.\nculprit: (none)\n"
            "Of all of it 0.0 % pass in native code (libraries in C), 0.0 % in the system or "
            "waiting, the rest in Python.\n");
}

CHECK_MAIN("verdictsamples", {"a main thread that waits", waiting},
           {"callers of what waits", callers_of_waits}, {"meanwhile", meanwhile},
           {"what takes the time", longest}, {"without names", nameless}, {"swapper", swapper},
           {"waits apart", waits_apart}, {"kinds", kinds}, {"imports", imports},
           {"with what they call", with_what_they_call}, {"rows that are looked at", looked_at},
           {"addresses", addresses}, {"by line", by_line})

/* What the CPU waits in while work that was launched does not begin (answer/heldtime.c): calls in
 * gaps, by hand. Times in us; a program with a thread that launches, another one, and a second
 * process. */
#include "answer/heldtime.h"
#include "judging.h"

struct call {
    const char *name;
    int64_t start, length;
    enum { LAUNCHER, OTHER_THREAD, OTHER_PROCESS, RANGE, RANGE_OF_OTHER } of;
};

/* A kernel up to 1000; two more, launched at 900, that begin at 5000 and at 14000, 9000 later than
 * the one before ends. Gaps: 1000 to 5000, 10000 to 14000. */
static void fill(struct gputrace *make, const struct call *calls, size_t count)
{
    struct gputrace other = *make;
    gputrace_kernel(make, 7, "gemm", 0, 5, 10, 990);
    gputrace_kernel(make, 7, "gemm", 900, 5, 5000, 5000);
    gputrace_kernel(make, 7, "gemm", 910, 5, 14000, 1000);
    for (size_t i = 0; i < count && calls[i].name; i++) {
        const struct call *call = &calls[i];
        other.process = make->process;
        if (call->of == OTHER_PROCESS)
            other.process = nl_builder_process(make->builder, make->source, 99);
        other.thread = nl_builder_thread(make->builder, other.process, 11);
        other.calls = gputrace_lane(&other, NL_LANE_THREAD, -1);
        struct gputrace *of = call->of == LAUNCHER || call->of == RANGE ? make : &other;
        if (call->of < RANGE) {
            gputrace_call(of, call->name, call->start, call->length);
            continue;
        }
        struct nl_nvtx_row row = nl_nvtx_row();
        row.slice = gputrace_slice(make, NL_KIND_NVTX, gputrace_lane(of, NL_LANE_NVTX, -1),
                                   call->name, call->start, call->length);
        nl_stage_nvtx(make->stage, &row);
    }
}

/* "2.00 ms cudaDeviceSynchronize 2.00 in RANGE": blocked, then each name. */
static void held_in(struct gputrace *make, enum nl_phase phase, char *out, size_t size)
{
    static const struct nl_window whole;
    struct nl_trace *trace = gputrace_close(make);
    struct nl_report report = {0};
    struct nl_time_name names[NL_TIME_NAMES + 1] = {0}; /* one more is not touched */
    int64_t blocked = -1;
    REQUIRE(trace);
    struct nl_analyze_options options = {.memo = nl_memo_new(trace, &whole)};
    struct nl_judged judged = {.report = &report, .trace = trace, .options = &options};
    const struct nl_account *account = nl_memo_account(options.memo);
    const struct nl_idle *idle = nl_memo_idle(options.memo);
    nl_arena_init(&report.arena);
    REQUIRE(account->device_count && idle->device_count == 1);
    nl_held_calls(&judged, idle, &idle->devices[0], &account->devices[0], phase, &blocked, names);
    CHECK_INT(blocked % 1000, 0);
    snprintf(out, size, "%" PRId64, blocked / 1000);
    for (size_t i = 0; i < NL_TIME_NAMES && names[i].ns; i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "; %s %" PRId64 "%s%s", names[i].name, names[i].ns / 1000,
                 names[i].inside ? " in " : "", names[i].inside ? names[i].inside : "");
        CHECK_INT(names[i].count, 1);
        CHECK_INT(names[i].inside_ns, names[i].ns);
    }
    CHECK(!names[NL_TIME_NAMES].name);
    nl_arena_free(&report.arena);
    nl_memo_free(options.memo);
    nl_trace_free(trace);
}

static void in_gaps(void)
{
#define SYNC "cudaDeviceSynchronize"
    static const struct {
        const char *what;
        struct call calls[6];
        const char *held;
    } cases[] = {
        {"none", {{0}}, "0"},
        {"a call of 1 ms", {{SYNC, 2000, 1000, LAUNCHER}}, "1000; " SYNC " 1000"},
        {"a shorter one", {{SYNC, 2000, 999, LAUNCHER}}, "0"},
        {"from before the gap", {{SYNC, 920, 2080, LAUNCHER}}, "2000; " SYNC " 2000"},
        {"from its begin to its end", {{SYNC, 1000, 4000, LAUNCHER}}, "4000; " SYNC " 4000"},
        {"beyond the gap", {{SYNC, 4000, 3000, LAUNCHER}}, "1000; " SYNC " 1000"},
        {"between the gaps", {{SYNC, 5000, 5000, LAUNCHER}}, "0"},
        {"over both gaps", {{SYNC, 920, 14000, LAUNCHER}}, "8000; " SYNC " 8000"},
        {"into the second gap", {{SYNC, 6000, 6000, LAUNCHER}}, "2000; " SYNC " 2000"},
        {"up to the second gap's end", {{SYNC, 12000, 2000, LAUNCHER}}, "2000; " SYNC " 2000"},
        {"one in each",
         {{SYNC, 2000, 1000, LAUNCHER}, {SYNC, 11000, 1500, LAUNCHER}},
         "2500; " SYNC " 2500"},
        {"the longest of one gap",
         {{SYNC, 1200, 1000, LAUNCHER},
          {"cudaStreamSynchronize", 2300, 1300, LAUNCHER},
          {"cudaEventSynchronize", 3700, 1200, LAUNCHER}},
         "1300; cudaStreamSynchronize 1300"},
        {"the longest of one gap, within it, of longer ones",
         {{SYNC, 920, 1500, OTHER_THREAD},
          {"cudaStreamSynchronize", 1500, 1600, LAUNCHER},
          {"cudaEventSynchronize", 4000, 9000, LAUNCHER}},
         "4600; cudaEventSynchronize 3000; cudaStreamSynchronize 1600"},
        {"from before the gap, the one that ends last",
         {{SYNC, 920, 3000, LAUNCHER}, {"cudaStreamSynchronize", 950, 2000, OTHER_THREAD}},
         "2920; " SYNC " 2920"},
        {"from before the gap, the one that ends last, begins last",
         {{SYNC, 920, 2000, LAUNCHER}, {"cudaStreamSynchronize", 950, 3000, OTHER_THREAD}},
         "2950; cudaStreamSynchronize 2950"},
        {"copies", {{"cudaMemcpy", 2000, 1000, LAUNCHER}}, "1000; cudaMemcpy 1000"},
        {"frees", {{"cudaFree", 2000, 1000, LAUNCHER}}, "1000; cudaFree 1000"},
        {"not launches", {{"cudaLaunchKernel", 2000, 1000, LAUNCHER}}, "0"},
        {"not what does not wait", {{"cudaStreamCreate", 2000, 1000, LAUNCHER}}, "0"},
        {"of another thread", {{SYNC, 2000, 1000, OTHER_THREAD}}, "1000; " SYNC " 1000"},
        {"not of another process", {{SYNC, 2000, 1000, OTHER_PROCESS}}, "0"},
        {"the shortest range around it",
         {{SYNC, 2000, 1000, LAUNCHER},
          {"outer", 1000, 4000, RANGE},
          {"inner", 2000, 1000, RANGE},
          {"later", 2001, 998, RANGE}},
         "1000; " SYNC " 1000 in inner"},
        {"ranges that end before or begin later, or are another thread's",
         {{SYNC, 2000, 1000, LAUNCHER},
          {"outer", 1000, 4000, RANGE},
          {"before", 1900, 1099, RANGE},
          {"elsewhere", 1900, 1200, RANGE_OF_OTHER}},
         "1000; " SYNC " 1000 in outer"},
        {"another's range alone",
         {{SYNC, 2000, 1000, LAUNCHER}, {"elsewhere", 1900, 1200, RANGE_OF_OTHER}},
         "1000; " SYNC " 1000"},
        {"the range around the longest of that name",
         {{SYNC, 2000, 1000, LAUNCHER},
          {SYNC, 11000, 1500, LAUNCHER},
          {"first", 1900, 1200, RANGE},
          {"second", 10900, 1700, RANGE}},
         "2500; " SYNC " 2500 in second"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        char held[400] = "";
        check_case(cases[i].what);
        gputrace_open(&make);
        fill(&make, cases[i].calls, 6);
        held_in(&make, NL_PHASES, held, sizeof held);
        CHECK_TEXT(held, cases[i].held);
    }
    check_case(NULL);
}

/* Gaps of `length` in each of which there is a call: those of 1 ms or more count. */
static void gap_lengths(void)
{
    for (int64_t length = 999; length <= 1001; length++) {
        struct gputrace make;
        char held[400] = "", want[80] = "0";
        gputrace_open(&make);
        gputrace_kernel(&make, 7, "gemm", 0, 5, 10, 990);
        gputrace_kernel(&make, 7, "gemm", 900, 5, 1000 + length, 1000);
        gputrace_call(&make, SYNC, 950, 1050);
        if (length >= 1000)
            snprintf(want, sizeof want, "1000; " SYNC " 1000");
        held_in(&make, NL_PHASES, held, sizeof held);
        CHECK_TEXT(held, want);
    }
}

/* Of several names the three with most time. */
static void names(void)
{
    static const char *const calls[] = {SYNC, "cudaStreamSynchronize", "cudaEventSynchronize",
                                        "cudaMemcpy"};
    struct gputrace make;
    char held[400] = "";
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", 0, 5, 10, 990);
    for (int64_t i = 0; i < 4; i++) {
        gputrace_kernel(&make, 7, "gemm", 901 + 10 * i, 5, 5000 * (i + 1), 1000);
        gputrace_call(&make, calls[i], 5000 * i + 2500, i == 0 ? 1100 : 1000 + 100 * i);
    }
    held_in(&make, NL_PHASES, held, sizeof held);
    CHECK_TEXT(held, "4700; cudaMemcpy 1300; cudaEventSynchronize 1200; " SYNC " 1100");
}

/* Six steps of 10 ms, in each of which the device waits 5 ms for what is launched at its begin,
 * and another thread 4.9 ms; before the first of them the device waits for 1 ms more, and that
 * thread for 0.9 ms. */
static void phases(void)
{
    static const struct {
        enum nl_phase phase;
        int64_t blocked;
    } cases[] = {{NL_PHASES, 5900 + 5 * 4900}, {NL_STARTUP, 900}, {NL_WARMUP, 0},
                 {NL_STEADY, 5000 + 5 * 4900}, {NL_TAIL, 0},      {NL_OUTLIER, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make, other;
        char held[400] = "", want[80] = "0";
        gputrace_open(&make);
        other = make;
        other.thread = nl_builder_thread(make.builder, make.process, 11);
        other.calls = gputrace_lane(&other, NL_LANE_THREAD, -1);
        gputrace_kernel(&make, 7, "gemm", 0, 5, 10, 7990);
        for (int64_t step = 0; step < 6; step++) {
            int64_t at = 9000 + 10000 * step, from = step ? at + 100 : 8100;
            gputrace_step(&make, at, 10000);
            gputrace_kernel(&make, 7, "gemm", at + 50, 5, at + 5000, 5000);
            gputrace_call(&other, SYNC, from, at + 5000 - from);
        }
        held_in(&make, cases[i].phase, held, sizeof held);
        if (cases[i].blocked)
            snprintf(want, sizeof want, "%" PRId64 "; " SYNC " %" PRId64, cases[i].blocked,
                     cases[i].blocked);
        CHECK_TEXT(held, want);
    }
}

CHECK_MAIN("heldtime", {"calls in gaps", in_gaps}, {"lengths of gaps", gap_lengths},
           {"names", names}, {"phases", phases})

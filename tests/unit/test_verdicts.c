/*
 * The first sentence from both sides of its limits: made-up profiles with one number in them, what
 * the sentence begins with at the last number before a limit, and at the first behind it. Limits
 * are worked out by hand; times in microseconds.
 */
#include "check.h"
#include "answer/report.h"
#include "edgesall.h"
#include "view/brief.h"

/* 100 rounds: a kernel, then x / 100 of copies, communication or nothing. */
static void rounds(struct gputrace *make, int64_t x, const char *what)
{
    const struct gputrace_copy copy = {*what == 'i' ? NL_COPY_HTOD : NL_COPY_DTOH, NL_MEMORY_PINNED,
                                       1 << 24, NULL};
    for (int64_t i = 0; i < 100; i++) {
        int64_t rest = *what == 'l' ? edge_part(x, 99, i) : edge_part(x, 100, i);
        int64_t at = i * 1000, end = at + 1000 - rest;
        const char *name = i % 2 ? "softmax" : "h16816gemm";
        if (*what == 'l') {
            edge_late(make, name, at, end - at);
            gputrace_op(make, "aten::add", AT + end, rest);
            continue;
        }
        edge_kernel(make, 7, name, at, end - at);
        if (*what == 'c')
            edge_kernel(make, 7, "ncclDevKernel_AllReduce_Sum", end, rest);
        else
            edge_copy(make, copy, end, rest);
    }
}

/* x kernels, each with its launch. */
static void kernels(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    for (int64_t i = 0; i < x; i++)
        edge_kernel(make, 7, i % 2 ? "softmax" : "h16816gemm", i * 1000, 1000);
}

/* Two kernels, their launches and operators: x slices. */
static void slices(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 7, "softmax", 0, 1000);
    edge_kernel(make, 7, "softmax", 1000, 1000);
    for (int64_t i = 0; i < x - 4; i++)
        gputrace_op(make, "aten::add", 10 + i * 5, 3);
}

/* Of 24 kernels x have their launch. */
static void linked(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 24; i++)
        gputrace_kernel(make, 7, i % 2 ? "softmax" : "h16816gemm", i < x ? 1 : -1, 1, AT + i * 1000,
                        1000);
}

static void functions(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    for (int64_t i = 0; i < x; i++)
        cpu_python(make, i % 3 ? "forward" : "backward", i * 1000, 1000);
}

/* A marked step of 20 ms with nearly all work, which keeps the device busy for 18 ms; the
 * last work ends at x. Where it is that of another thread's device, the step's device is
 * sent something long before. */
static void one_step(struct gputrace *make, int64_t x, const char *other)
{
    const struct gputrace_copy copy = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4, NULL};
    int64_t start = *other ? 60000 : 0;
    if (*other)
        edge_copy(make, copy, 0, 10);
    gputrace_step(make, AT + start, 20000);
    for (int64_t i = 0; i < 20; i++)
        edge_late(make, i % 2 ? "softmax" : "h16816gemm", start + i * 1000, 900);
    if (*other) {
        make->device = nl_builder_device(make->builder, make->source, 1, 1);
        make->thread = nl_builder_thread(make->builder, make->process, 11);
        make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
    }
    for (int64_t i = *other ? 1 : 10; i <= 10; i++)
        edge_late(make, "softmax", start + (x - start) * i / 10 - 10, 10);
}

/* One thread waits for 40 ms, another works for x of that. */
static void waits_beside(struct gputrace *make, int64_t x, const char *arg)
{
    for (int64_t i = 0; i < 40; i++)
        cpu_python(make, arg, i * 1000, 1000);
    make->thread = nl_builder_thread(make->builder, make->process, 11);
    cpu_python(make, "crunch", 0, x);
    cpu_python(make, "time.sleep", x, 40000 - x);
}

static const struct {
    const char *what;
    void (*fill)(struct gputrace *make, int64_t x, const char *arg);
    const char *arg;
    int64_t before, after;
    const char *says_before, *says_after;
} rows[] = {
    {"copies from 25 % on, beside under 75 % of computing", rounds, "in", 25000, 25001,
     "Compute-bound:", "Copy-bound:"},
    {"copies back", rounds, "out", 25000, 25001, "Compute-bound:", "Copy-bound:"},
    {"communication", rounds, "comm", 25000, 25001, "Compute-bound:", "Communication-bound:"},
    {"launches", rounds, "late", 25000, 25001, "Compute-bound:", "Launch-bound:"},
    {"20 events of a device", kernels, "", 9, 10, "Too few events", "Compute-bound:"},
    {"50 events where the device did two things", slices, "", 49, 50, "Too few events",
     "Compute-bound:"},
    {"half of the work with its launch", linked, "", 11, 12, "Too few events", "Compute-bound:"},
    {"30 events of the CPU", functions, "", 29, 30, "Too few events", "CPU-only profile"},
    {"a step before more than half of the device's time is not what an answer is about", one_step,
     "", 40000, 40001, "Compute-bound: rank 0 GPU 0 computes 18.00 ms of 2",
     "Rank 0 GPU 0 is idle 21.99 ms of 40.00 ms"},
    {"a step before more than half of another device's time is", one_step, "other", 100001, 300000,
     "Compute-bound: rank 0 GPU 0 computes 18.00 ms of 1",
     "Compute-bound: rank 0 GPU 0 computes 18.00 ms of 1"},
    {"half of the wait in which another thread works", waits_beside, "_thread.lock.acquire", 20000,
     20001, "Waiting: the program does", "Waiting: one thread does"},
};

/* The page of what `fill` makes with x, within a window; the caller releases it. */
static void make_window(struct nl_buf *page, struct nl_window window,
                        void (*fill)(struct gputrace *, int64_t, const char *), int64_t x,
                        const char *arg)
{
    struct gputrace make;
    const struct nl_analyze_options options = {.window = window};
    struct nl_err err = {0};
    gputrace_open(&make);
    fill(&make, x, arg);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_profile *profile = nl_profile_new(trace, &options.window);
    struct nl_report *report = nl_report_new(trace, "analyze", &options, NULL, &err);
    REQUIRE(report);
    nl_buf_init(page, 1 << 20);
    nl_brief_page(page, profile, report, &(struct nl_view_options){.width = 100});
    nl_buf_char(page, '\0');
    nl_report_free(report);
    nl_profile_free(profile);
    nl_trace_free(trace);
}

/* The whole of it. */
static void make_page(struct nl_buf *page, void (*fill)(struct gputrace *, int64_t, const char *),
                      int64_t x, const char *arg)
{
    make_window(page, (struct nl_window){0}, fill, x, arg);
}

/* What the page of the row's profile with that number begins with is `words`. */
static void asks(size_t row, int64_t x, const char *words)
{
    struct nl_buf page;
    make_page(&page, rows[row].fill, x, rows[row].arg);
    char begins[80] = "";
    snprintf(begins, sizeof begins, "%.*s", (int)strlen(words), page.ptr);
    CHECK_TEXT(begins, words);
    nl_buf_release(&page);
}

static void changes_at_limits(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        check_case(rows[i].what);
        asks(i, rows[i].before, rows[i].says_before);
        asks(i, rows[i].after, rows[i].says_after);
    }
}

/* Functions of 40 ms, and at 50 ms one piece of work of each sort there is. */
static void works_late(struct gputrace *make, int64_t x, const char *sort)
{
    uint32_t lane = gputrace_lane(make, NL_LANE_STREAM, 7);
    functions(make, x, "");
    if (*sort == 'k')
        gputrace_kernel(make, 7, "softmax", -1, 1, 50000, 20);
    if (*sort == 'c') {
        struct nl_copy_row row = nl_copy_row();
        row.slice = gputrace_slice(make, NL_KIND_MEMCPY, lane, "Memcpy", 50000, 20);
        nl_stage_copy(make->stage, &row);
    }
    if (*sort == 'm') {
        struct nl_memset_row row = nl_memset_row();
        row.slice = gputrace_slice(make, NL_KIND_MEMSET, lane, "Memset", 50000, 20);
        nl_stage_memset(make->stage, &row);
    }
    if (*sort == 'g') {
        struct nl_graph_row row = nl_graph_row();
        row.slice = gputrace_slice(make, NL_KIND_GRAPH, lane, "graph", 50000, 20);
        nl_stage_graph(make->stage, &row);
    }
}

/* Outside the window there is work of a device, of whatever sort. */
static void knows_every_sort_of_work(void)
{
    static const char *const sorts[] = {"none", "kernel", "copy", "memset", "graph"};
    const struct nl_window window = {.has_time = true, .end = 40000000};
    for (size_t i = 0; i < CHECK_LENGTH(sorts); i++) {
        const char *says = i ? "No device work in this window, " : "CPU-only profile, ";
        struct nl_buf page;
        check_case(sorts[i]);
        make_window(&page, window, works_late, 40, sorts[i]);
        CHECK(strncmp(page.ptr, says, strlen(says)) == 0);
        nl_buf_release(&page);
    }
    check_case(NULL);
}

/* Off the processors though ready, from a fifth of the time on, is said before the findings. */
static void tells_starving(void)
{
    static const char said[] =
        "\nCPU-starved: the working thread is ready to run, but has no CPU for "
        "20 % of the time.\n";
    struct nl_buf page;
    make_page(&page, edge_starved, 19999, "");
    CHECK(!strstr(page.ptr, "CPU-starved"));
    nl_buf_release(&page);
    make_page(&page, edge_starved, 20000, "");
    CHECK(strstr(page.ptr, said) && strstr(page.ptr, said) < strstr(page.ptr, "\n1. "));
    nl_buf_release(&page);
}

/* Of few events the names that take most, whatever table they are in, the longest first: 19 times
 * 1 ms, then 10 times 1 ms. */
static void lists_few(void)
{
    struct nl_buf page;
    make_page(&page, functions, 29, "");
    CHECK(strstr(page.ptr, "\nMost time: forward 19.00 ms in 19 calls, backward 10.00 ms in 10 "
                           "calls.\n"));
    nl_buf_release(&page);
}

/* Calls that launch nothing, and longer work of the profiler. */
static void overheads(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    gputrace_slice(make, NL_KIND_OVERHEAD, make->calls, "set up tracing", 0, 900);
    for (int64_t i = 0; i < x; i++)
        gputrace_call(make, "cuDeviceGet", 1000 + 10 * i, 5);
}

static void leaves_overhead_out(void)
{
    struct nl_buf page;
    make_page(&page, overheads, 40, "");
    CHECK(strstr(page.ptr, "\nMost time: cuDeviceGet 200.0 µs in 40 calls.\n"));
    nl_buf_release(&page);
    make_page(&page, overheads, 0, "");
    CHECK(!strstr(page.ptr, "Most time"));
    nl_buf_release(&page);
}

/* Ten rounds of operators, the last three of which take 20 ms each. */
static void alike(struct gputrace *make, int64_t x, const char *arg)
{
    static const struct {
        const char *name;
        int64_t us;
    } ops[] = {{"aten::short", 8000}, {"aten::a", 20000}, {"aten::b", 20000}, {"aten::c", 20000}};
    (void)x;
    (void)arg;
    for (int64_t at = 0, i = 0; i < 40; at += ops[i % 4].us, i++)
        gputrace_op(make, ops[i % 4].name, at, ops[i % 4].us);
}

/* What takes equally long is named as well. */
static void names_equals(void)
{
    static const char said[] = "operators: aten::a 200.0 ms (29 %, 10\n  calls), aten::b 200.0 ms "
                               "(29 %, 10 calls), aten::c 200.0 ms (29 %, 10 calls).\n";
    struct nl_buf page;
    make_page(&page, alike, 0, "");
    CHECK(strstr(page.ptr, said));
    nl_buf_release(&page);
}

/* Two calls of 1 ms, the second of that name. */
static void two_calls(struct gputrace *make, int64_t x, const char *name)
{
    (void)x;
    gputrace_call(make, "cuInit", 0, 1000);
    gputrace_call(make, name, 2000, 1000);
}

/* Device work is missing where a call asked for some. */
static void misses_what_was_asked(void)
{
    static const struct {
        const char *name;
        bool asked;
    } calls[] = {{"cuStreamCreate", false}, {"cuLaunchKernel", true}, {"cudaMemcpyAsync", true},
                 {"cudaMemset", true},      {"cuMemAlloc_v2", false}, {"hsa_init", true}};
    for (size_t i = 0; i < CHECK_LENGTH(calls); i++) {
        struct nl_buf page;
        check_case(calls[i].name);
        make_page(&page, two_calls, 0, calls[i].name);
        CHECK(!strstr(page.ptr, "device work was not delivered") == !calls[i].asked);
        CHECK(!strstr(page.ptr, "None of the calls launches or copies") == calls[i].asked);
        nl_buf_release(&page);
    }
}

/* us: x steps of 10000, each fetches for 8990 before ten kernels of 100; fetching is an operator
 * inside. Where it is to be "early", 5000 are fetched before the steps as well. */
static void fetches_first(struct gputrace *make, int64_t x, const char *early)
{
    int64_t at = AT;
    if (*early) {
        cpu_python(make, "fetch_batch", at, 5000);
        gputrace_op(make, "aten::stack", at, 5000);
        at += 5000;
    }
    for (int64_t end = at + x * 10000; at < end; at += 10000) {
        gputrace_step(make, at, 10000);
        cpu_python(make, "fetch_batch", at, 8990);
        gputrace_op(make, "aten::stack", at, 8990);
        for (int64_t i = 0; i < 10; i++)
            gputrace_kernel(make, 7, "softmax", at + 8990 + i, 1, at + 9000 + i * 100, 100);
    }
}

/* What is fetched before the first work is waiting for input: a step's, or the
 * start's, which no step takes. */
static void counts_what_is_fetched_first(void)
{
    static const struct {
        int64_t steps;
        const char *early, *said;
    } cases[] = {
        {4, "",
         "Input-bound: rank 0 GPU 0 waits for input data 35.96 ms of 39.99 ms (90 %), while the "
         "launching\n  thread is in aten::stack for 35.96 ms; 8.990 ms of each step of 10.00 "
         "ms.\n"},
        {8, "",
         "Input-bound: rank 0 GPU 0 waits for input data 71.92 ms of 79.99 ms (90 %), while the "
         "launching\n  thread is in aten::stack for 71.92 ms; 8.990 ms of each step of 10.00 "
         "ms.\n"},
        {4, "early",
         "Input-bound: rank 0 GPU 0 waits for input data 40.96 ms of 44.99 ms (91 %), while the "
         "launching\n  thread is in aten::stack for 35.96 ms; 8.990 ms of each step of 10.00 "
         "ms.\n"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf page;
        make_page(&page, fetches_first, cases[i].steps, cases[i].early);
        page.ptr[strlen(cases[i].said)] = '\0';
        CHECK_TEXT(page.ptr, cases[i].said);
        nl_buf_release(&page);
    }
}

CHECK_MAIN("verdicts", {"the first sentence changes at its limits", changes_at_limits},
           {"work of a device is any sort of it", knows_every_sort_of_work},
           {"a program without a processor is said to be one", tells_starving},
           {"few events are listed by their time", lists_few},
           {"the profiler's work is not the program's", leaves_overhead_out},
           {"what takes equally long is named as well", names_equals},
           {"device work is missing where it was asked for", misses_what_was_asked},
           {"what is fetched before the first work is waiting for input",
            counts_what_is_fetched_first})

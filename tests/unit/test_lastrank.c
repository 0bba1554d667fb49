/* Who comes last to collectives (answer/lastrank.c): the limits of how much less it waits, with
 * ranks and with devices without ranks, by hand. */
#include "answer/lastrank.h"
#include "judging.h"

/* Judges with the sentence alone. */
static bool last_is_told(struct nl_judged *judged)
{
    struct nl_buf *out = nl_tell_begin(judged);
    nl_buf_text(out, "It is so");
    nl_lastrank_put(judged, out, "; ");
    nl_tell_end(judged, &judged->verdict->sentence);
    return true;
}

/* As gputrace_open, without a rank. */
static void open_without_rank(struct gputrace *make)
{
    *make = (struct gputrace){.builder = nl_builder_new(NULL)};
    make->source = nl_builder_source(make->builder, "made-up.json", "kineto");
    make->process = nl_builder_process(make->builder, make->source, 1);
    make->thread = nl_builder_thread(make->builder, make->process, 10);
    make->device = nl_builder_device(make->builder, make->source, 0, 0);
    gputrace_lane(make, NL_LANE_STREAM, 7); /* before that of the calls */
    make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
    make->stage = nl_stage_new(make->builder);
    nl_stage_begin(make->stage, make->source, 0);
}

/* A program with two GPUs and no rank: `count` collectives on the first, `second` on the other,
 * where each begins `late` us later. They end together. */
static struct nl_trace *two_devices(int count, int second, int64_t late)
{
    struct gputrace make;
    open_without_rank(&make);
    uint32_t devices[] = {make.device, nl_builder_device(make.builder, make.source, 1, 1)};
    for (int i = 0; i < count || i < second; i++)
        for (int d = 0; d < 2; d++) {
            int64_t at = 10000 * i + (d ? late : 0);
            make.device = devices[d];
            gputrace_kernel(&make, 7, "gemm", at, 2, at + 10, 50);
            if (i < (d ? second : count))
                gputrace_kernel(&make, 7, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 20, 2,
                                at + 100, 1000 - (d ? late : 0));
        }
    return gputrace_close(&make);
}

static void says(const char *what, const char *table, const char *want)
{
    char all[300];
    struct gputrace make;
    struct nl_result *rows = judge_table("overlap", table);
    gputrace_open(&make);
    check_case(what);
    snprintf(all, sizeof all, "none: It is so%s\nculprit: (none)\n", want);
    judge_check_with(last_is_told, gputrace_close(&make), &rows, 1, all);
    check_case(NULL);
}

#define ON_AVERAGE " on average, which is waiting for it"

static void of_ranks(void)
{
    says("half of what the others take", "rank device comm_ns\n0 0 100000\n1 0 50000\n",
         "; rank 1 arrives last: its collectives take 50.00 µs, on the others 100.0 µs" ON_AVERAGE);
    says("more than half", "rank device comm_ns\n0 0 100000\n1 0 50001\n", "");
    says("of three the average of two", "rank device comm_ns\n0 0 100000\n4 0 0\n7 0 200000\n",
         "; rank 4 arrives last: its collectives take 0 ns, on the others 150.0 µs" ON_AVERAGE);
    says("half of that", "rank device comm_ns\n0 0 100000\n4 0 75000\n7 0 200000\n",
         "; rank 4 arrives last: its collectives take 75.00 µs, on the others 150.0 µs" ON_AVERAGE);
    says("more than half of that", "rank device comm_ns\n0 0 100000\n4 0 75001\n7 0 200000\n", "");
    says("the first rank", "rank device comm_ns\n0 0 10000\n1 0 80000\n2 0 100000\n",
         "; rank 0 arrives last: its collectives take 10.00 µs, on the others 90.00 µs" ON_AVERAGE);
    says("of equal ones the first", "rank device comm_ns\n0 0 90000\n1 0 0\n2 0 0\n3 0 90000\n",
         "; rank 1 arrives last: its collectives take 0 ns, on the others 60.00 µs" ON_AVERAGE);
    says("none takes time", "rank device comm_ns\n0 0 0\n1 0 0\n", "");
    says("one rank", "rank device comm_ns\n0 0 100000\n", "");
    says("two devices of one rank", "rank device comm_ns\n0 0 100000\n0 1 10000\n", "");
    says("two captures of one of three", "rank device comm_ns\n0 0 100000\n1 0 10000\n1 0 100000\n",
         "");
    says("devices without ranks that nothing is known of",
         "rank device comm_ns\n- 0 100000\n- 1 10000\n", "");
    says("one device without a rank twice", "rank device comm_ns\n- 0 100000\n- 0 10000\n", "");
    says("one not known", "rank device comm_ns\n0 0 100000\n1 0 -\n2 0 10000\n", "");
    says("nothing known", "rank device comm_ns\n- 0 -\n- 1 -\n", "");
}

static void of_devices(void)
{
    static const struct {
        const char *table, *want;
    } cases[] = {
        {"rank device comm_ns\n- 0 10000000\n- 1 1000000\n",
         "none: It is so; GPU 1 arrives last: its collectives take 1.000 ms, on the others "
         "10.00 ms" ON_AVERAGE "\nculprit: (none)\n"},
        {"rank device comm_ns\n- 0 1000000\n- 1 10000000\n", "none: It is so\nculprit: (none)\n"},
        {"rank device comm_ns\n- 1 1000000\n- 1 10000000\n", "none: It is so\nculprit: (none)\n"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_result *rows = judge_table("overlap", cases[i].table);
        judge_check_with(last_is_told, two_devices(10, 10, 900), &rows, 1, cases[i].want);
    }
}

static void one_process(void)
{
    static const struct {
        int first, second;
        bool is;
    } cases[] = {{3, 3, true}, {3, 2, false}, {2, 3, false}, {0, 0, false},
                 {1, 1, true}, {1, 0, true},  {0, 1, true}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_trace *trace = two_devices(cases[i].first, cases[i].second, 0);
        REQUIRE(trace);
        CHECK(nl_lastrank_one_process(trace) == cases[i].is);
        nl_trace_free(trace);
    }
    /* two processes, of which the first or none works on the CPU, too; or one that has a rank */
    for (int way = 0; way < 3; way++) {
        bool ranked = way == 2;
        struct gputrace make;
        if (ranked)
            gputrace_open(&make);
        else
            open_without_rank(&make);
        for (int i = 0; i < 2; i++) {
            if (!ranked && i)
                make.process = nl_builder_process(make.builder, make.source, 7);
            if (way == 1 && !i)
                gputrace_op(&make, "aten::add", 10, 5);
            make.device = nl_builder_device(make.builder, make.source, i, i);
            gputrace_kernel(&make, 7, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", -1, 2, 100, 1000);
        }
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        CHECK(!nl_lastrank_one_process(trace));
        nl_trace_free(trace);
    }
}

CHECK_MAIN("lastrank", {"of ranks", of_ranks}, {"of devices without ranks", of_devices},
           {"one process drives all devices", one_process})

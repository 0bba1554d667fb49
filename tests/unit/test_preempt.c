/* What other programs kept a thread from running: gaps worked out on paper, and
 * what is none of their doing. */
#include "check.h"
#include "gputrace.h"
#include "timeline/preempt.h"

static void use_thread(struct gputrace *make, int64_t number)
{
    make->thread = nl_builder_thread(make->builder, make->process, number);
    make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
}

static void run_on(struct gputrace *make, const char *cpu, int64_t us, int64_t dur_us,
                   uint8_t flags)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = NL_KIND_SCHED;
    row.lane = gputrace_lane(make, NL_LANE_SCHED, -1);
    row.name = nl_stage_name(make->stage, nl_str(cpu));
    row.ts = us * 1000;
    row.dur = dur_us * 1000;
    row.flags = flags;
    nl_stage_slice(make->stage, &row);
}

static int64_t kept_us(const struct nl_preempt *preempt, uint32_t thread, int64_t from, int64_t to)
{
    return nl_preempt_in(preempt, thread, from * 1000, to * 1000) / 1000;
}

/* Ready in [10,30) and [70,80), waiting in [40,60); while it is ready in [10,30), thread 11 of the
 * same program runs [15,20) on the processor that was left, and [22,28) on another. */
static void counts_others_alone(void)
{
    struct gputrace make;
    gputrace_open(&make);
    uint32_t first = make.thread;
    run_on(&make, "CPU 0", 0, 10, NL_SLICE_READY);
    run_on(&make, "CPU 0", 30, 10, NL_SLICE_WAITS);
    run_on(&make, "CPU 1", 60, 10, NL_SLICE_READY);
    run_on(&make, "CPU 0", 80, 20, NL_SLICE_READY);
    use_thread(&make, 11);
    run_on(&make, "CPU 0", 15, 5, NL_SLICE_WAITS);
    run_on(&make, "CPU 1", 22, 6, 0);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_preempt *preempt = nl_preempt_new(trace);
    REQUIRE(preempt);
    static const int64_t cases[][3] = {
        {0, 100, 25}, {0, 10, 0},  {10, 30, 15}, {12, 18, 3},  {16, 19, 0}, {19, 25, 5},
        {30, 70, 0},  {65, 75, 5}, {79, 200, 1}, {90, 500, 0}, {50, 40, 0}, {-100, 11, 1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        CHECK_INT(kept_us(preempt, first, cases[i][0], cases[i][1]), cases[i][2]);
    CHECK_INT(kept_us(preempt, make.thread, 0, 100), 0);
    CHECK_INT(kept_us(preempt, NL_NULL_ROW, 0, 100), 0);
    /* any cut of the time adds up to the whole */
    for (int64_t cut = -5; cut < 110; cut++)
        CHECK_INT(kept_us(preempt, first, -5, cut) + kept_us(preempt, first, cut, 110), 25);
    nl_preempt_free(preempt);
    nl_trace_free(trace);
}

static void knows_nothing_without_switches(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_op(&make, "step", 0, 10);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    CHECK(nl_preempt_new(trace) == NULL);
    nl_trace_free(trace);
}

static void trusts_no_recording_that_lost_some(void)
{
    struct gputrace make;
    gputrace_open(&make);
    run_on(&make, "CPU 0", 0, 10, NL_SLICE_READY);
    run_on(&make, "CPU 0", 30, 10, NL_SLICE_READY);
    nl_builder_coverage(make.builder, NL_NULL_ROW, "lost: records of samples and switches", 3,
                        NULL);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    CHECK(nl_preempt_new(trace) == NULL);
    nl_trace_free(trace);
}

CHECK_MAIN("preempt", {"counts others alone", counts_others_alone},
           {"knows nothing without switches", knows_nothing_without_switches},
           {"trusts no recording that lost some", trusts_no_recording_that_lost_some})

/*
 * Idle time of a thread that did not run or waited for another: planted profiles, where every part
 * of a gap is known, and ones that only look like it.
 */
#include "tables/lookup.h"
#include "check.h"
#include "gputrace.h"
#include "timeline/idletime.h"

static void use_thread(struct gputrace *make, int64_t number)
{
    make->thread = nl_builder_thread(make->builder, make->process, number);
    make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
}

static void run_on_cpu(struct gputrace *make, int64_t us, int64_t dur_us, uint8_t flags)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = NL_KIND_SCHED;
    row.lane = gputrace_lane(make, NL_LANE_SCHED, -1);
    row.name = nl_stage_name(make->stage, nl_str("CPU 1"));
    row.ts = us * 1000;
    row.dur = dur_us * 1000;
    row.flags = flags;
    nl_stage_slice(make->stage, &row);
}

static void system_call(struct gputrace *make, const char *name, int64_t us, int64_t dur_us)
{
    gputrace_slice(make, NL_KIND_OSRT, gputrace_lane(make, NL_LANE_OSRT, -1), name, us, dur_us);
}

static void numbered_op(struct gputrace *make, const char *name, int64_t us, int64_t dur_us,
                        int64_t sequence, int64_t forward_thread)
{
    struct nl_op_row row = nl_op_row();
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, name, us, dur_us);
    row.sequence = sequence;
    row.forward_thread = forward_thread;
    nl_stage_op(make->stage, &row);
}

struct want {
    enum nl_activity activity;
    bool elsewhere;
    const char *name; /* NULL: none */
    int64_t us;
};

/* The sums of the one device, in any order, and that they are all of its idle time. */
static void check_sums(struct gputrace *make, const struct want *want, size_t count)
{
    struct nl_trace *trace = gputrace_close(make);
    REQUIRE(trace);
    struct nl_idle *idle = nl_idle_new(trace, &(struct nl_window){0});
    int64_t total = 0;
    REQUIRE(idle->device_count == 1);
    CHECK_INT(idle->sum_count, count);
    for (size_t i = 0; i < idle->sum_count; i++)
        total += idle->sums[i].total_ns;
    CHECK_INT(total, idle->devices[0].idle_ns);
    for (size_t i = 0; i < count; i++) {
        int64_t ns = 0;
        check_case(nl_activity_name(want[i].activity));
        for (size_t s = 0; s < idle->sum_count; s++) {
            struct nl_str name = nl_trace_name(trace, idle->sums[s].name);
            if (idle->sums[s].activity == want[i].activity &&
                idle->sums[s].elsewhere == want[i].elsewhere &&
                nl_str_is(name, want[i].name ? want[i].name : ""))
                ns += idle->sums[s].total_ns;
        }
        CHECK_INT(ns, want[i].us * 1000);
    }
    check_case(NULL);
    nl_idle_free(idle);
    nl_trace_free(trace);
}

/* Gap [20,70); the thread runs [0,30), then waits, runs [40,45), then is ready, runs [55,200). */
static void sees_switches(void)
{
    static const struct want want[] = {{NL_ACTIVITY_OP, false, "step", 20},
                                       {NL_ACTIVITY_WAITING, false, "step", 10},
                                       {NL_ACTIVITY_READY, false, "step", 10},
                                       {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 5},
                                       {NL_ACTIVITY_QUEUED, false, NULL, 5}};
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 10, 10);
    gputrace_op(&make, "step", 15, 45);
    gputrace_kernel(&make, 7, "b", 60, 5, 70, 10);
    run_on_cpu(&make, 0, 30, NL_SLICE_WAITS);
    run_on_cpu(&make, 40, 5, NL_SLICE_READY);
    run_on_cpu(&make, 55, 145, 0);
    check_sums(&make, want, CHECK_LENGTH(want));
}

/* Why a thread left is not recorded; before the first switch and after the last nothing is known; a
 * call of the device's API says more than that the thread sleeps in it. */
static void knows_no_more_than_recorded(void)
{
    static const struct want want[] = {{NL_ACTIVITY_NOTHING, false, NULL, 10},
                                       {NL_ACTIVITY_OP, false, "step", 5},
                                       {NL_ACTIVITY_OFF, false, "step", 5},
                                       {NL_ACTIVITY_OFF, false, NULL, 5},
                                       {NL_ACTIVITY_SYNC, false, "cudaStreamSynchronize", 10},
                                       {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 5},
                                       {NL_ACTIVITY_QUEUED, false, NULL, 10}};
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 10, 10);
    gputrace_op(&make, "step", 25, 10);
    gputrace_call(&make, "cudaStreamSynchronize", 40, 10);
    gputrace_kernel(&make, 7, "b", 55, 5, 70, 10);
    run_on_cpu(&make, 24, 6, 0);
    run_on_cpu(&make, 50, 2, NL_SLICE_WAITS);
    check_sums(&make, want, CHECK_LENGTH(want));
}

/* Without switches only calls that do nothing but wait tell. */
static void sees_waiting_calls(void)
{
    static const struct want want[] = {{NL_ACTIVITY_WAITING, false, "poll", 10},
                                       {NL_ACTIVITY_SYSTEM, false, "write", 10},
                                       {NL_ACTIVITY_NOTHING, false, NULL, 20},
                                       {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 5},
                                       {NL_ACTIVITY_QUEUED, false, NULL, 5}};
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "a", 0, 5, 10, 10);
    system_call(&make, "poll", 30, 10);
    system_call(&make, "write", 45, 10);
    gputrace_kernel(&make, 7, "b", 60, 5, 70, 10);
    check_sums(&make, want, CHECK_LENGTH(want));
}

/* Thread 10 waits [25,50) for a condition; thread 11 is in an operator [30,48) and signals [48,49);
 * with `rival`, thread 12 signals too, and nobody is charged. */
static void plant_signal(struct gputrace *make, bool rival, const char *signal)
{
    gputrace_open(make);
    gputrace_kernel(make, 7, "a", 0, 5, 10, 10);
    system_call(make, "pthread_cond_wait", 25, 25);
    gputrace_kernel(make, 7, "b", 55, 5, 60, 10);
    use_thread(make, 11);
    gputrace_op(make, "decode", 30, 18);
    system_call(make, signal, 48, 1);
    use_thread(make, 12);
    gputrace_op(make, "busy", 0, 70);
    if (rival)
        system_call(make, "pthread_cond_broadcast", 48, 1);
}

static void charges_the_waker(void)
{
    static const struct want known[] = {{NL_ACTIVITY_NOTHING, false, NULL, 10},
                                        {NL_ACTIVITY_WAITING, false, "pthread_cond_wait", 6},
                                        {NL_ACTIVITY_OP, true, "decode", 18},
                                        {NL_ACTIVITY_SYSTEM, true, "pthread_cond_signal", 1},
                                        {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 5}};
    static const struct want unknown[] = {{NL_ACTIVITY_NOTHING, false, NULL, 10},
                                          {NL_ACTIVITY_WAITING, false, "pthread_cond_wait", 25},
                                          {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 5}};
    struct gputrace make;
    plant_signal(&make, false, "pthread_cond_signal");
    check_sums(&make, known, CHECK_LENGTH(known));
    plant_signal(&make, true, "pthread_cond_signal");
    check_sums(&make, unknown, CHECK_LENGTH(unknown));
    plant_signal(&make, false, "write");
    check_sums(&make, unknown, CHECK_LENGTH(unknown));
}

/* Forward on thread 10: linear (number 5) [0,30) launches a; "loss" [40,60). Backward on thread 11
 * [70,90) launches b. Then thread 10 in a range launches c. The engine has nothing recorded while
 * "loss" runs, and thread 10 none while the backward pass dispatches. */
static void plant_backward(struct gputrace *make, bool numbered, bool encloses)
{
    gputrace_open(make);
    numbered_op(make, "linear", 0, 30, numbered ? 5 : NL_NULL_I64, 0);
    gputrace_kernel(make, 7, "a", 0, 5, 10, 10);
    numbered_op(make, "loss", encloses ? 31 : 40, encloses ? 119 : 20, NL_NULL_I64, 0);
    gputrace_kernel(make, 7, "c", 150, 5, 160, 10);
    use_thread(make, 11);
    numbered_op(make, "early", 33, 2, numbered ? 5 : NL_NULL_I64, 1);
    numbered_op(make, "Backward", 70, 30, numbered ? 5 : NL_NULL_I64, 1);
    gputrace_kernel(make, 7, "b", 72, 3, 80, 5);
    numbered_op(make, "Accumulate", 110, 20, numbered ? 5 : NL_NULL_I64, 1);
}

static void charges_autograd(void)
{
    /* gap [20,80) is thread 11's, gap [85,160) thread 10's */
    static const struct want paired[] = {
        {NL_ACTIVITY_OP, false, "early", 2},    {NL_ACTIVITY_OP, true, "loss", 20},
        {NL_ACTIVITY_OP, false, "Backward", 2}, {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 8},
        {NL_ACTIVITY_OP, true, "Backward", 15}, {NL_ACTIVITY_OP, true, "Accumulate", 20},
        {NL_ACTIVITY_OP, true, "linear", 10},   {NL_ACTIVITY_NOTHING, false, NULL, 48},
        {NL_ACTIVITY_QUEUED, false, NULL, 10}};
    static const struct want alone[] = {{NL_ACTIVITY_OP, false, "early", 2},
                                        {NL_ACTIVITY_OP, false, "Backward", 2},
                                        {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 8},
                                        {NL_ACTIVITY_NOTHING, false, NULL, 113},
                                        {NL_ACTIVITY_QUEUED, false, NULL, 10}};
    struct gputrace make;
    plant_backward(&make, true, false);
    check_sums(&make, paired, CHECK_LENGTH(paired));
    plant_backward(&make, false, false);
    check_sums(&make, alone, CHECK_LENGTH(alone));
}

/* "loss" [31,150) is around backward(): what the engine's thread does between its operators is not
 * its doing; only until the first of them, at 33, the engine waits for it. */
static void charges_no_surroundings(void)
{
    static const struct want want[] = {
        {NL_ACTIVITY_OP, true, "linear", 10},   {NL_ACTIVITY_OP, true, "loss", 2},
        {NL_ACTIVITY_OP, false, "early", 2},    {NL_ACTIVITY_OP, false, "Backward", 2},
        {NL_ACTIVITY_OP, false, "loss", 65},    {NL_ACTIVITY_LAUNCH, false, "cudaLaunchKernel", 8},
        {NL_ACTIVITY_NOTHING, false, NULL, 36}, {NL_ACTIVITY_QUEUED, false, NULL, 10}};
    struct gputrace make;
    plant_backward(&make, true, true);
    check_sums(&make, want, CHECK_LENGTH(want));
}

CHECK_MAIN("waits", {"sees switches", sees_switches},
           {"knows no more than recorded", knows_no_more_than_recorded},
           {"sees waiting calls", sees_waiting_calls}, {"charges the waker", charges_the_waker},
           {"charges autograd", charges_autograd},
           {"charges no surroundings", charges_no_surroundings})

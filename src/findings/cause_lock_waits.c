/*
 * lock_waits — the main thread waits for locks or for other threads.
 *
 * Signal: rows of the account of a process without device work whose function waits for a lock,
 * by its name (waitname.h), over 5 % of wall. What only sleeps or polls waits for something
 * outside and does not count.
 */
#include "findings/bookcause.h"
#include "timeline/waitname.h"
#include "base/sum.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.30

static bool is_wanted(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return row->part == NL_BOOKED_IDLE &&
           nl_is_lock_name(nl_account_name(scene->account, row->name));
}

/* Whoever joins waits for the work of others, and no lock is held too long. */
static bool is_join(struct nl_str function)
{
    static const char *const words[] = {"join", "_wait_for_tstate_lock"};
    return nl_marks_end(NL_MARKS(words), function);
}

/* Python joins, and waits for results, by acquiring a lock: the calls around it on the thread
 * decide. */
static bool is_inside_join(const struct nl_trace *trace, uint32_t slice)
{
    while (slice != NL_NULL_ROW && !is_join(nl_trace_name(trace, trace->slice.name[slice])))
        slice = trace->slice.parent[slice];
    return slice != NL_NULL_ROW;
}

static bool is_frame_inside_join(const struct nl_trace *trace, uint32_t frame)
{
    while (frame != NL_NULL_ROW && !is_join(nl_trace_name(trace, trace->stack.name[frame])))
        frame = trace->stack.parent[frame];
    return frame != NL_NULL_ROW;
}

/* Whether most of the time in the function passes in a join. */
static bool joins(const struct nl_scene *scene, struct nl_str function)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t thread = nl_scene_thread(scene);
    int64_t all = 0, joined = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        if (trace->lane.thread[trace->slice.lane[row]] == thread && trace->slice.dur[row] > 0 &&
            nl_str_eq(nl_trace_name(trace, trace->slice.name[row]), function)) {
            nl_sum_add(&all, trace->slice.dur[row]);
            nl_sum_add(&joined, is_inside_join(trace, row) ? trace->slice.dur[row] : 0);
        }
    for (uint32_t row = 0; row < trace->sample.rows; row++) {
        uint32_t frame = trace->sample.stack[row];
        if (frame == NL_NULL_ROW || trace->sample.weight[row] <= 0 ||
            !nl_str_eq(nl_trace_name(trace, trace->stack.name[frame]), function))
            continue;
        nl_sum_add(&all, trace->sample.weight[row]);
        nl_sum_add(&joined, is_frame_inside_join(trace, frame) ? trace->sample.weight[row] : 0);
    }
    return is_join(function) || joined > all / 2;
}

static enum nl_verdict lock_waits_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    static const struct nl_booked_calls calls = {
        .wanted = is_wanted,
        .warn_share = WARN_SHARE,
        .critical_share = CRITICAL_SHARE,
        .threshold = "> 5 % of wall",
        .metric = "lock_wait_ns",
        .longest = "longest_lock_wait_ns",
        .before = "The main thread waits",
        .after = "for locks or other threads",
        .says = "calls that wait for a lock or another thread",
        .part = "idle",
    };
    enum nl_verdict verdict = nl_judge_calls(scene, finding, &calls);
    if (verdict == NL_CAUSE_FOUND &&
        joins(scene, nl_account_name(scene->account, nl_booked_by_name(scene, is_wanted).top))) {
        finding->remedies = "lock_waits:join";
        finding->saving_ns[0] = finding->saving_ns[1] = 0; /* the others work as long as they do */
    }
    return verdict;
}

const struct nl_cause nl_cause_lock_waits = {
    .id = "lock_waits",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the main thread is in calls that wait for a lock, a condition variable or "
           "another thread (acquire, futex, pthread_mutex_lock, take_gil, join and the like) for "
           "more than 5 % of wall. Sleeping and polling do not count.",
    .evaluate = lock_waits_evaluate,
    .not_this_if = "waiting is the purpose of the thread: it has handed the work to other threads, "
                   "and they are the bottleneck",
};

/*
 * lock_waits — the main thread waits for locks or for other threads.
 *
 * Signal: rows of the account of a process without device work whose function waits for a lock, by its name (waitname.h),
 * over 5 % of wall. What only sleeps or polls waits for something outside and does not count.
 */
#include "findings/bookcause.h"
#include "timeline/waitname.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.30

static bool is_wanted(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return row->part == NL_BOOKED_IDLE &&
           nl_is_lock_name(nl_account_name(scene->account, row->name));
}

/* Whoever joins waits for the work of others, and no lock is held too long. */
static bool is_join(const char *function)
{
    static const char *const words[] = {"join", "_wait_for_tstate_lock"};
    return function && nl_marks_end(NL_MARKS(words), nl_str(function));
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
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
    if (verdict == NL_CAUSE_FOUND && is_join(finding->culprit))
        finding->remedies = "lock_waits:join";
    return verdict;
}

const struct nl_cause nl_cause_lock_waits = {
    .id = "lock_waits",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the main thread sits in calls that wait for a lock, a condition or another "
           "thread (acquire, futex, pthread_mutex_lock, take_gil, join and their like) for over 5 "
           "% of wall. Sleeping and polling are none.",
    .evaluate = evaluate,
    .not_this_if = "waiting is the thread's purpose: it has handed the work to others, and these "
                   "are the limit",
};

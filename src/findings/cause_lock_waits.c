/*
 * lock_waits — the main thread waits for locks or for other threads.
 *
 * Signal: rows of the account of a process without device work whose function waits for a lock, by its name (cpunames),
 * over 5 % of wall. What only sleeps or polls waits for something outside and does not count.
 */
#include "findings/bookcause.h"
#include "findings/cpunames.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.30

static bool is_wanted(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return nl_is_lock(nl_account_name(scene->account, row->name));
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked_by_name sum = nl_booked_by_name(scene, is_wanted);
    if (nl_scene_share(scene, sum.ns) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    finding->culprit = nl_booked_text(scene, sum.top);
    nl_find(scene, finding, sum.ns, WARN_SHARE, CRITICAL_SHARE, 1);
    nl_title(scene, finding,
             "The main thread waits %s (%s of the time) for locks or other threads, most in %s",
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share), finding->culprit);
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "lock_wait_ns",
                                  .threshold = "> 5 % of wall",
                                  .query = nl_booked_sql(scene, "sum(ns)", sum.condition),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)sum.ns},
             "%s (%s of the time) in calls that wait for a lock or another thread",
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "longest_lock_wait_ns",
                 .query = nl_booked_sql(
                     scene, "sum(ns)",
                     nl_say(scene, "name = %s",
                            nl_say_quoted(scene, nl_account_name(scene->account, sum.top)))),
                 .meaning = NL_MEANS_NS,
                 .value = (double)sum.top_ns},
             "%s of it in %s", nl_say_ns(scene, sum.top_ns), finding->culprit);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_lock_waits = {
    .id = "lock_waits",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the main thread sits in calls that wait for a lock, a condition or another "
           "thread (acquire, futex, pthread_mutex_lock, take_gil, join and their like) for over 5 "
           "% of wall; critical over 30 %. Sleeping and polling are none.",
    .evaluate = evaluate,
    .not_this_if = "waiting is the thread's purpose: it has handed the work to others, and these "
                   "are the limit",
};

/*
 * io_waits — the main thread reads and writes while nothing else gets done.
 *
 * Signal: rows of the account of a process without device work whose function reads, writes, sends or receives, by its
 * name (cpunames), over 10 % of wall.
 */
#include "findings/bookcause.h"
#include "findings/cpunames.h"

#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.40

static bool is_wanted(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return nl_is_file_io(nl_account_name(scene->account, row->name));
}

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked_by_name sum = nl_booked_by_name(scene, is_wanted);
    if (nl_scene_share(scene, sum.ns) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    finding->culprit = nl_booked_text(scene, sum.top);
    nl_find(scene, finding, sum.ns, WARN_SHARE, CRITICAL_SHARE, 1);
    nl_title(scene, finding,
             "Reading and writing takes %s (%s of the time) of the main thread, most in %s",
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share), finding->culprit);
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "io_wait_ns",
                                  .threshold = "> 10 % of wall",
                                  .query = nl_booked_sql(scene, "sum(ns)", sum.condition),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)sum.ns},
             "%s (%s of the time) in calls that read, write, send or receive",
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "longest_io_wait_ns",
                 .query = nl_booked_sql(
                     scene, "sum(ns)",
                     nl_say(scene, "name = %s",
                            nl_say_quoted(scene, nl_account_name(scene->account, sum.top)))),
                 .meaning = NL_MEANS_NS,
                 .value = (double)sum.top_ns},
             "%s of it in %s", nl_say_ns(scene, sum.top_ns), finding->culprit);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_io_waits = {
    .id = "io_waits",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the main thread is inside calls that read, write, send, receive or flush "
           "(read, write, fsync, recv, print and their like, by the last word of their names) for "
           "over 10 % of wall; critical over 40 %.",
    .evaluate = evaluate,
    .not_this_if = "the data come from memory (a cache, a pipe that is always full) and the time "
                   "is copying, or parsing is the larger part",
};

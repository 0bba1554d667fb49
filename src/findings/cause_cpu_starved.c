/*
 * cpu_starved — the thread that matters could run, but has no processor.
 *
 * Signal: of the account, time in which the thread that feeds the device, or the main thread, was
 * off the processors though it was ready to run (switches of the scheduler), over 5 % of wall. Too
 * many threads on too few cores, a quota of the container, or other programs.
 */
#include "findings/bookcause.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20

static bool is_ready(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return row->activity == NL_ACTIVITY_READY && row->part == NL_BOOKED_IDLE &&
           (scene->cpu || row->inside);
}

static enum nl_verdict cpu_starved_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked sum = nl_booked_sum(scene, is_ready);
    if (nl_scene_share(scene, sum.ns) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *where = "part = 'idle' AND inside = 1 AND kind = 'off-CPU (ready to run)'";
    nl_find(scene, finding, sum.ns, CRITICAL_SHARE, 1);
    nl_title(scene, finding,
             "The thread that %s is ready to run but has no processor for %s (%s of the time)",
             scene->cpu ? "does the work" : nl_say(scene, "feeds %s", nl_scene_name(scene)),
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "ready_ns",
                                  .threshold = "> 5 % of wall",
                                  .query = nl_booked_sql(scene, "sum(ns)", where),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)sum.ns},
             "%s off the processors though ready", nl_say_ns(scene, sum.ns));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "ready_stretches",
                                  .query = nl_booked_sql(scene, "sum(count)", where),
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)sum.count},
             "in %s stretches", nl_say_count(scene, sum.count));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cpu_starved = {
    .id = "cpu_starved",
    .on = NL_ON_BOTH,
    .doc = "The launching thread, or the main thread of a CPU-only profile, is runnable but not on "
           "a CPU for more than 5 % of wall (for a device, only while it is idle). Needs context "
           "switches.",
    .needs = {{NL_T_slice, NULL}},
    .need_count = 1,
    .of_gaps = true,
    .evaluate = cpu_starved_evaluate,
    .not_this_if =
        "the thread waits for something (then it is not runnable), or the device works meanwhile",
};

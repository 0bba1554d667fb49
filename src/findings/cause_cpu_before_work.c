/*
 * cpu_before_work — the recorded step begins with work of the CPU, and the device
 * gets its first work late.
 *
 * Between the first and the last work of a device such time is idle time, and other causes find it.
 * A recording of one step (or of few) has much of it in front of the first: samples are decoded,
 * prompts are tokenised, and the device stands as if it were busy from its first work to its last.
 * Signal: rows before_device of the account, in the steady part of a profile with steps, in which
 * the launching thread is in functions of the program.
 */
#include "findings/bookcause.h"

#define WARN_SHARE 0.05
#define MIN_NS     NL_ACCOUNT_LONG_NS /* less is how long the first launch takes */

static bool is_own(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return nl_booked_own_before(scene->booked, row);
}

static bool is_step(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->phase == NL_STEADY && !row->not_program;
}

static enum nl_verdict cpu_before_work_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked own = nl_booked_sum(scene, is_own);
    int64_t whole = nl_booked_sum(scene, is_step).ns;
    if (!own.top || whole <= 0 || own.ns < MIN_NS || (double)own.ns <= WARN_SHARE * (double)whole)
        return NL_CAUSE_ABSENT;
    struct nl_booked_by_name most = nl_booked_by_name(scene, is_own);
    nl_find(scene, finding, own.ns, 1, 1);
    finding->cost_share = (double)own.ns / (double)whole;
    finding->culprit = nl_booked_text(scene, most.top);
    nl_title(scene, finding,
             "The CPU works %s of %s before it launches the first work of %s, most in %s",
             nl_say_ns(scene, own.ns), nl_say_ns(scene, whole), nl_scene_name(scene),
             finding->culprit);
    nl_prove(
        scene, finding,
        (struct nl_evidence){.metric = "before_work_ns",
                             .threshold = "> 5 % of the steps",
                             .query = nl_booked_sql(scene, "sum(ns)", NL_BOOKED_OWN_BEFORE_SQL),
                             .meaning = NL_MEANS_NS,
                             .value = (double)own.ns},
        "%s in functions of the program in front of the first work of the steps",
        nl_say_ns(scene, own.ns));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "device_wall_ns",
                                  .query = nl_say(scene,
                                                  "SELECT wall_ns FROM time_breakdown%s "
                                                  "WHERE %s",
                                                  nl_scene_args(scene), nl_scene_place(scene, "")),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)scene->wall_ns},
             "from its first work to its last the device takes %s",
             nl_say_ns(scene, scene->wall_ns));
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "before_work_top_ns",
                 .query = nl_booked_sql(
                     scene, "sum(ns)",
                     nl_say(scene, NL_BOOKED_OWN_BEFORE_SQL " AND culprit = %s",
                            nl_say_quoted(scene, nl_account_name(scene->account, most.top)))),
                 .meaning = NL_MEANS_NS,
                 .value = (double)most.top_ns},
             "%s of it in %s", nl_say_ns(scene, most.top_ns), finding->culprit);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cpu_before_work = {
    .id = "cpu_before_work",
    .doc = "In the steady part of a profile with steps, the launching thread is in functions of "
           "the program for more than 5 % of the time (at least 1 ms) before it launches the "
           "device's first operation. Later waits are idle time, which other causes explain. Cost: "
           "that CPU time.",
    .of_gaps = true,
    .evaluate = cpu_before_work_evaluate,
    .not_this_if = "the recording starts in the middle of a step: then this time belongs to the "
                   "step before, and the device was busy meanwhile",
};

/*
 * startup_dominated — the recording is mostly start-up.
 *
 * Signal: of the time of the account, over half belongs to the phase start-up (account/phase.h),
 * and 100 ms at least. The title names what took most of it, besides compute. A remark: start-up is
 * paid once, but every number over the whole recording is about it.
 */
#include <math.h>

#include "findings/bookcause.h"
#include "base/sum.h"
#include "timeline/profilercalls.h"

#define MIN_SHARE 0.5
#define MIN_NS    100000000

static bool is_startup(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->phase == NL_STARTUP;
}

static bool is_cpus(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->phase == NL_STARTUP && row->activity != NL_ACTIVITY_COUNT &&
           row->activity != NL_ACTIVITY_NOTHING && row->activity != NL_ACTIVITY_UNKNOWN &&
           row->name != NL_NO_NAME;
}

/* Most of it is the profiler's own start: then the title says so. */
static bool tell_profiler(struct nl_scene *scene, struct nl_finding *finding, int64_t startup,
                          int64_t total)
{
    struct nl_profiler_calls calls = nl_profiler_calls(scene->trace);
    if (calls.start_ns < startup / 2 || scene->window->has_time)
        return false;
    int64_t ns = calls.start_ns < startup ? calls.start_ns : startup;
    finding->culprit = nl_booked_text(scene, calls.start_name);
    finding->remedies = "startup_dominated:profiler";
    nl_title(scene, finding,
             "The profiler's own start takes %s of the recording, no time of the program: %s",
             nl_say_ns(scene, ns), finding->culprit);
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "profiler_start_ns",
                 .threshold = "> 50 % of start-up",
                 .query = "SELECT interval_length(intervals(ts, dur)) FROM slices WHERE name GLOB "
                          "'*" NL_PROFILER_START "*' OR name GLOB '*ProfilerStart*'",
                 .meaning = NL_MEANS_NS,
                 .value = (double)calls.start_ns},
             "%s pass in %s, of %s that the account is about", nl_say_ns(scene, calls.start_ns),
             finding->culprit, nl_say_ns(scene, total));
    return true;
}

static enum nl_verdict startup_dominated_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    struct nl_booked all = nl_booked_sum(scene, is_startup);
    struct nl_booked_by_name most = nl_booked_by_name(scene, is_cpus);
    int64_t total = nl_booked_total(scene);
    if (total <= 0 || all.ns < MIN_NS || (double)all.ns <= MIN_SHARE * (double)total)
        return NL_CAUSE_ABSENT;
    double share = (double)all.ns / (double)total;
    finding->cost_ns = all.ns; /* paid once, and mostly needed: nothing is promised of it */
    finding->saving_ns[0] = finding->saving_ns[1] = 0;
    finding->cost_share = share;
    finding->severity = NL_SEVERITY_INFO;
    finding->confidence = 1;
    bool tells = most.top && most.top_ns >= all.ns / 10;
    if (tells)
        finding->culprit = nl_booked_text(scene, most.top);
    if (!tell_profiler(scene, finding, all.ns, total))
        nl_title(scene, finding, "Start-up takes %s of %s (%s)%s%s%s%s", nl_say_ns(scene, all.ns),
                 nl_say_ns(scene, total), nl_say_share(scene, share), tells ? ", " : "",
                 tells ? nl_say_ns(scene, most.top_ns) : "", tells ? " of it in " : "",
                 tells ? finding->culprit : "");
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "startup_ns",
                                  .threshold = "> 50 % of the account, 100 ms",
                                  .query = nl_booked_sql(scene, "sum(ns)", "phase = 'startup'"),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)all.ns},
             "%s before the steady part begins", nl_say_ns(scene, all.ns));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "account_ns",
                                  .query = nl_booked_sql(scene, "sum(ns)", "1"),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)total},
             "of %s that the account is about", nl_say_ns(scene, total));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_startup_dominated = {
    .id = "startup_dominated",
    .on = NL_ON_BOTH,
    .doc = "Informational: start-up (before the first step; without steps, before the first "
           "kernel, while code is loaded or compiled, or graphs are captured) takes more than half "
           "of the account's time, and at least 100 ms.",
    .of_gaps = true,
    .evaluate = startup_dominated_evaluate,
    .not_this_if = "the program is short by nature and starts anew for every request: then "
                   "start-up is what to optimise",
};

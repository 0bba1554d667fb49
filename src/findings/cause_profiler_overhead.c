/*
 * profiler_overhead — the recording itself makes the CPU slower.
 *
 * Signal: Python frames were recorded by the framework's profiler, two or more for every operator,
 * and the verdict rests on the CPU: over 10 % of wall is host-late idle time, or there is no device
 * work. Each frame costs the profiler a few hundred nanoseconds, so what the CPU is blamed for is
 * an upper limit. Says nothing about the program.
 */
#include "findings/bookcause.h"

#define MIN_SHARE  0.10
#define MIN_FRAMES 200
#define FRAMES     2 /* for an operator */

static bool is_late(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    return gap->class == NL_IDLE_HOST_LATE;
}

static bool is_torch(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->source.rows; i++)
        if (nl_str_starts(nl_trace_name(trace, trace->source.format[i]), "kineto"))
            return true;
    return false;
}

static enum nl_verdict profiler_overhead_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t frames = trace->python.rows, ops = trace->op.rows;
    int64_t late = scene->cpu ? scene->wall_ns : nl_scene_sum_gaps(scene, is_late, NULL, NULL);
    if (!is_torch(trace) || frames < MIN_FRAMES || !ops || frames / FRAMES < ops ||
        nl_scene_share(scene, late) <= MIN_SHARE)
        return NL_CAUSE_ABSENT;
    finding->validity = true;
    finding->severity = NL_SEVERITY_INFO;
    finding->confidence = 1;
    nl_title(scene, finding,
             "Python stacks were recorded: the profiler slows the CPU, so what waits for the CPU "
             "is an upper limit");
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "python_frames",
                                  .threshold = "2 for every operator",
                                  .query = "SELECT count(*) FROM python",
                                  .meaning = NL_MEANS_COUNT,
                                  .value = frames},
             "%s Python frames were recorded beside %s operators", nl_say_count(scene, frames),
             nl_say_count(scene, ops));
    if (scene->cpu)
        nl_prove(scene, finding,
                 (struct nl_evidence){.metric = "operators",
                                      .query = "SELECT count(*) FROM ops",
                                      .meaning = NL_MEANS_COUNT,
                                      .value = ops},
                 "all of the profile is about the CPU");
    else
        nl_prove(scene, finding,
                 (struct nl_evidence){
                     .metric = "host_late_ns",
                     .threshold = "> 10 % of wall",
                     .query = nl_say(
                         scene, "SELECT sum(dur) FROM idle_gaps%s WHERE class = 'host_late' AND %s",
                         nl_scene_args(scene), nl_scene_place(scene, "")),
                     .meaning = NL_MEANS_NS,
                     .value = (double)late},
                 "%s (%s of the time) the device waits for a CPU that also records",
                 nl_say_ns(scene, late), nl_say_share(scene, nl_scene_share(scene, late)));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_profiler_overhead = {
    .id = "profiler_overhead",
    .on = NL_ON_BOTH,
    .doc = "About the recording, not the program: torch.profiler recorded Python stacks (at least "
           "200 frames, and two for every operator), and more than 10 % of wall is host-bound idle "
           "time, or the profile is CPU-only. It has no cost of its own, but the time that "
           "findings attribute to the CPU is an upper bound.",
    .needs = {{NL_T_python, NULL}, {NL_T_op, NULL}},
    .need_count = 2,
    .evaluate = profiler_overhead_evaluate,
    .not_this_if = "the device is the bottleneck (then the CPU's time does not matter), or the "
                   "frames were sampled",
};

/*
 * launch_queue_full — a remark: launch calls wait because the device's queue is full. The device is
 * the bottleneck and the CPU far ahead, so nothing is lost.
 *
 * Signal: launch calls over 100 µs whose kernel starts over 100 µs after the call, over 5 % of wall
 * (HTA counts a queue of 1,024 launches; the duration of the calls shows it without counting).
 */
#include "findings/cause.h"
#include "base/sum.h"

#define LONG_NS    100000
#define WARN_SHARE 0.05

static bool is_blocked(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t launch = trace->slice.link[slice];
    if (launch == NL_NULL_ROW || trace->slice.link[launch] != slice ||
        trace->slice.dur[launch] == NL_NULL_I64)
        return false;
    return trace->slice.dur[launch] > LONG_NS &&
           trace->slice.ts[slice] - nl_slice_end(trace, launch) > LONG_NS;
}

static enum nl_verdict launch_queue_full_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    int64_t blocked = 0;
    uint64_t calls = 0;
    struct nl_evidence longest = {0};
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        if (!is_blocked(trace, slice))
            continue;
        nl_sum_add(&blocked, trace->slice.dur[trace->slice.link[slice]]);
        calls++;
        nl_example_slice(scene, &longest, trace->slice.link[slice]);
    }
    double idle = nl_scene_share(scene, scene->parts->idle_ns);
    if (nl_scene_share(scene, blocked) <= WARN_SHARE || idle > 0.15)
        return NL_CAUSE_ABSENT;
    const char *from = nl_say(scene,
                              "FROM kernels k JOIN slices a ON a.id = k.launch WHERE a.link = "
                              "k.slice AND a.dur > 100000 AND k.ts - a.ts - a.dur > 100000 AND "
                              "%s",
                              nl_scene_on(scene, "k."));
    nl_find(scene, finding, blocked, 2, 1);
    finding->severity = NL_SEVERITY_INFO;
    finding->saving_ns[0] = finding->saving_ns[1] = 0;
    nl_title(scene, finding,
             "Launch calls wait %s in front of a full queue: harmless, the CPU is far "
             "ahead of %s",
             nl_say_ns(scene, blocked), nl_scene_name(scene));
    longest.metric = "blocked_launch_ns";
    longest.says =
        nl_say(scene, "%s launch calls take %s in all, and their kernels start long after",
               nl_say_count(scene, calls), nl_say_ns(scene, blocked));
    longest.threshold = "> 5 % of wall";
    longest.query = nl_say(scene, "SELECT sum(a.dur) %s", from);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)blocked;
    nl_evidence(finding, longest);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "idle_share",
                             .says = nl_say(scene, "the device is idle only %s of the time",
                                            nl_say_share(scene, idle)),
                             .threshold = "<= 15 %",
                             .query = nl_say(scene,
                                             "SELECT idle_ns * 1.0 / wall_ns FROM "
                                             "time_breakdown%s WHERE %s",
                                             nl_scene_args(scene), nl_scene_place(scene, "")),
                             .meaning = NL_MEANS_SHARE,
                             .value = idle});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_launch_queue_full = {
    .id = "launch_queue_full",
    .doc = "Informational: launch calls over 100 µs whose kernels start more than 100 µs later "
           "take over 5 % of wall, on a device that is idle at most 15 % of the time: the CPU "
           "waits for room in the launch queue (HTA).",
    .needs = {{NL_T_kernel, "correlation"}, {NL_T_api, NULL}},
    .need_count = 2,
    .evaluate = launch_queue_full_evaluate,
    .not_this_if = "the device is idle: then the calls themselves are slow (launch_api_slow)",
};

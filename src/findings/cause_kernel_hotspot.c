/*
 * kernel_hotspot — one kernel is most of what the device does. A remark, not a fault.
 *
 * Signal: the kernel name with the largest total has over 50 % of busy time (nsys-ai: 50 / 60 %).
 */
#include "findings/cause.h"
#include "tables/groups.h"
#include "base/sum.h"

#define MAX_SHARE 0.5

/* Kernels that work: one of communication runs while it waits for others
 * (exposed_communication), and some are waits. */
static void group_work(const struct nl_scene *scene, struct nl_groups *groups)
{
    const struct nl_trace *trace = scene->trace;
    nl_groups_init(groups);
    nl_groups_expect(groups, scene->kernel_count);
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        uint8_t class = trace->kernel.class[scene->kernels[i]];
        if (class != NL_CLASS_COMMUNICATION && class != NL_CLASS_WAIT)
            nl_groups_add(groups, trace->slice.name[slice], 0, trace->slice.dur[slice]);
    }
    nl_groups_finish(groups);
}

static enum nl_verdict kernel_hotspot_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_groups groups;
    group_work(scene, &groups);
    int64_t total = groups.count ? groups.items[0].stats.total_ns : 0;
    uint64_t count = groups.count ? groups.items[0].stats.count : 0;
    uint32_t id = groups.count ? (uint32_t)groups.items[0].a : NL_NO_NAME;
    double median = groups.count ? groups.items[0].stats.median_ns : 0;
    nl_groups_release(&groups);
    int64_t busy = scene->wall_ns - scene->parts->idle_ns;
    if (busy <= 0 || (double)total <= MAX_SHARE * (double)busy)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, total, 2, 1);
    finding->severity = NL_SEVERITY_INFO;
    /* Where a kernel profiler was at work already, its numbers are the next thing to read. */
    finding->remedies = scene->trace->measurement.rows ? "kernel_hotspot:measured" : NULL;
    finding->saving_ns[0] = finding->saving_ns[1] =
        0; /* nothing here says that it could be faster */
    nl_title(scene, finding, "One kernel is %s of what %s does: %s",
             nl_say_share(scene, (double)total / (double)busy), nl_scene_name(scene),
             nl_say_kernel(scene, nl_trace_name(trace, id)));
    const char *first =
        nl_say(scene,
               "FROM kernels WHERE (class IS NULL OR class NOT IN ('communication', "
               "'wait')) AND "
               "%s GROUP BY name ORDER BY sum(dur) DESC LIMIT 1",
               nl_scene_on(scene, ""));
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "top_kernel_ns",
                    .says = nl_say(scene, "%s in %s %s, median %s", nl_say_ns(scene, total),
                                   nl_say_count(scene, count), count == 1 ? "call" : "calls",
                                   nl_say_ns(scene, nl_sum_near(median))),
                    .threshold = "> 50 % of busy time",
                    .query = nl_say(scene, "SELECT sum(dur) %s", first),
                    .meaning = NL_MEANS_NS,
                    .value = (double)total});
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "busy_ns",
                             .says = nl_say(scene, "the device is busy for %s in all",
                                            nl_say_ns(scene, busy)),
                             .query = nl_say(scene,
                                             "SELECT wall_ns - idle_ns FROM time_breakdown%s "
                                             "WHERE %s",
                                             nl_scene_args(scene), nl_scene_place(scene, "")),
                             .meaning = NL_MEANS_NS,
                             .value = (double)busy});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_kernel_hotspot = {
    .id = "kernel_hotspot",
    .doc = "Informational: the kernel with the largest total time takes more than 50 % of the "
           "device's busy time (nsys-ai). No saving is given: how much faster the kernel could be "
           "is not judged here.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = kernel_hotspot_evaluate,
    .not_this_if = "the kernel already runs near its roof: a hotspot is not a fault by itself, it "
                   "shows where tuning pays",
};

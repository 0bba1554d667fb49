/*
 * launch_bound_small_kernels — many short kernels that the CPU cannot launch fast enough.
 *
 * Signal: median kernel under 10 µs (nsys-ai, TraceLens), and host-late gaps spent dispatching over
 * 10 % of wall. From 10 to 15 µs confidence falls gradually, so that two windows of one program
 * agree. Share of count alone is useless: 9 to 97 % in 22 public traces, so the gaps decide. The
 * delay from launch to start shows whether the queue is empty; with a full queue small kernels cost
 * nothing.
 */
#include "findings/launchcause.h"
#include "base/sum.h"

#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.30
#define LEFT_OF_SURE   0.8 /* at NL_SHORT_KERNEL_NS */

/* 1 up to NL_SMALL_KERNEL_NS, from there on falling evenly. */
static double sure_by_length(double median_ns)
{
    double beyond = (median_ns - NL_SMALL_KERNEL_NS) / (NL_SHORT_KERNEL_NS - NL_SMALL_KERNEL_NS);
    return beyond > 0 ? 1 - (1 - LEFT_OF_SURE) * beyond : 1;
}

static enum nl_verdict launch_bound_small_kernels_evaluate(struct nl_scene *scene,
                                                           struct nl_finding *finding)
{
    size_t gaps;
    int64_t cost = nl_scene_sum_gaps(scene, nl_launch_is_dispatch_gap, &gaps, &finding->where);
    if (nl_scene_share(scene, cost) <= WARN_SHARE || gaps < NL_DISPATCH_GAPS)
        return NL_CAUSE_ABSENT;
    struct nl_launch_facts facts = nl_launch_facts(scene);
    if (!facts.kernels || facts.kernel_median_ns >= NL_SHORT_KERNEL_NS ||
        nl_launch_is_ahead(&facts))
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE,
            scene->linked * sure_by_length(facts.kernel_median_ns));
    nl_title(scene, finding,
             "%s is launch bound: short kernels (median %s) wait for the CPU for %s",
             nl_scene_name(scene), nl_say_ns(scene, nl_sum_near(facts.kernel_median_ns)),
             nl_say_ns(scene, cost));
    nl_launch_tell_gaps(scene, finding, cost, gaps);
    nl_launch_tell_small(scene, finding, &facts);
    nl_launch_tell_median(scene, finding, &facts);
    nl_launch_tell_delay(scene, finding, &facts);
    if (nl_launch_is_served(scene))
        finding->remedies = "launch_bound_small_kernels:served";
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_launch_bound_small_kernels = {
    .id = "launch_bound_small_kernels",
    .doc = "The median kernel is shorter than 10 µs (up to 15 µs, with less confidence), and "
           "host-bound gaps of at most 1 ms spent dispatching, without a wait before them, take "
           "more than 10 % of wall.",
    .needs = {{NL_T_kernel, "correlation"}, {NL_T_api, NULL}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = launch_bound_small_kernels_evaluate,
    .not_this_if = "the launch queue is full (under 20 % of operations start within 20 µs of their "
                   "launch): then small kernels run back to back and cost nothing",
};

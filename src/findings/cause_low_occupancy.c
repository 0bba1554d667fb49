/*
 * low_occupancy — kernels whose registers or shared memory leave room for few warps.
 *
 * Signal: kernels that multiply no matrices (those need few warps by design) and whose launch
 * allows less than 25 % of a multiprocessor's warps because of registers or shared memory
 * (launchfit.h), with at least a full wave of blocks, take over 10 % of wall. Where a kernel
 * profiler measured the kernel, more than 50 % of the memory throughput acquits it. Cost: half of
 * their time, an upper bound.
 */
#include "base/sum.h"
#include "derive/kernelcategory.h"
#include "findings/cause.h"
#include "work/launchfit.h"

#define MIN_SHARE      0.10
#define CRITICAL_SHARE 0.30
#define MAX_OCCUPANCY  0.25
#define BUSY_MEMORY    0.5

struct few_warps {
    int64_t ns, fitted, all;
    uint64_t kernels;
    int64_t longest_ns;
    uint32_t longest; /* kernel */
    struct nl_launch_fit fit;
};

static bool is_acquitted(const struct nl_trace *trace, uint32_t kernel)
{
    uint32_t m = trace->kernel.measurement[kernel];
    return m != NL_NULL_ROW && trace->measurement.memory_throughput[m] > BUSY_MEMORY;
}

static void add_kernel(struct nl_scene *scene, uint32_t kernel, struct few_warps *few,
                       struct nl_finding *finding, struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t slice = trace->kernel.slice[kernel];
    int64_t ns = trace->slice.dur[slice];
    struct nl_launch_fit fit;
    if (trace->kernel.class[kernel] != NL_CLASS_COMPUTE ||
        nl_category_is_matrix(trace->kernel.category[kernel]))
        return;
    nl_sum_add(&few->all, ns);
    if (!nl_launch_fit(trace, scene->device->device, kernel, &fit))
        return;
    nl_sum_add(&few->fitted, ns);
    if (fit.occupancy >= MAX_OCCUPANCY || fit.waves < 1 ||
        (fit.limit != NL_LIMIT_REGISTERS && fit.limit != NL_LIMIT_SHARED) ||
        is_acquitted(trace, kernel))
        return;
    few->kernels++;
    nl_sum_add(&few->ns, ns);
    nl_intervals_add(&finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
    nl_example_slice(scene, longest, slice);
    if (ns > few->longest_ns) {
        few->longest_ns = ns;
        few->longest = kernel;
        few->fit = fit;
    }
}

static enum nl_verdict low_occupancy_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct few_warps few = {0};
    struct nl_evidence longest = {0};
    for (size_t i = 0; i < scene->kernel_count; i++)
        add_kernel(scene, scene->kernels[i], &few, finding, &longest);
    if (!few.all)
        return NL_CAUSE_ABSENT;
    if (!few.fitted)
        return nl_abstain(finding, "registers of kernels, or the size of the device, were not "
                                   "recorded or are not known");
    if (nl_scene_share(scene, few.ns) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, few.ns / 2, CRITICAL_SHARE, (double)few.fitted / (double)few.all);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding, "Kernels on %s leave room for few warps (%s): %s at %s occupancy",
             nl_scene_name(scene), nl_launch_limit_text(few.fit.limit), nl_say_ns(scene, few.ns),
             nl_say_share(scene, few.fit.occupancy));
    longest.metric = "longest_kernel_of_few_warps_ns";
    longest.says =
        nl_say(scene, "%s in %s kernels; of the longest a multiprocessor holds %s because of %s",
               nl_say_ns(scene, few.ns), nl_say_count(scene, few.kernels),
               few.fit.blocks == 1 ? "one block" : nl_say(scene, "%u blocks", few.fit.blocks),
               nl_launch_limit_text(few.fit.limit));
    longest.threshold = "< 25 % of the warps; > 10 % of wall";
    longest.query = nl_say(scene, "SELECT dur FROM slices WHERE id = %u",
                           scene->trace->kernel.slice[few.longest]);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)few.longest_ns;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "registers_per_thread",
                    .says = nl_say(scene, "it takes %u registers a thread",
                                   scene->trace->kernel.registers[few.longest]),
                    .query = nl_say(scene, "SELECT registers FROM kernels WHERE slice = %u",
                                    scene->trace->kernel.slice[few.longest]),
                    .meaning = NL_MEANS_COUNT,
                    .value = scene->trace->kernel.registers[few.longest]});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_low_occupancy = {
    .id = "low_occupancy",
    .doc = "Kernels other than matrix products that fill the device, but whose registers or shared "
           "memory limit a multiprocessor to less than 25 % of its warps (CUDA occupancy "
           "calculator), take more than 10 % of wall. Kernels with a measured memory throughput "
           "over 50 % do not count. Cost: half of their time, as an upper bound.",
    .needs = {{NL_T_kernel, "registers"}, {NL_T_kernel, "grid_x"}},
    .need_count = 2,
    .evaluate = low_occupancy_evaluate,
    .not_this_if = "the kernel keeps memory or its pipes busy with few warps (much work per "
                   "thread): a kernel profiler shows that",
};

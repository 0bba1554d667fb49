/*
 * cuda_graph_absent — the same kernels are launched one by one in every step.
 *
 * Signal: at least three steps, the same sequence of kernel names in at least 90 % of them, no
 * graph launch, over 200 launches per step (a proposal of ours), and host-late gaps spent
 * dispatching over 10 % of wall.
 */
#include "findings/launchcause.h"

#include "base/search.h"

#define MIN_STEPS      3
#define SAME_SHARE     0.9
#define PER_STEP       200
#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.30

struct step_hash {
    int64_t start, end;
    uint64_t hash;
    uint32_t kernels;
};

static size_t find_steps(const struct nl_scene *scene, struct step_hash *steps)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->steps; i++)
        if (scene->found[i].phase == NL_STEP_STEADY)
            steps[count++] =
                (struct step_hash){scene->found[i].marked_start, scene->found[i].marked_end, 0, 0};
    return count;
}

/* Kernels belong to the step in which they were launched; rows are in order per stream. */
static void hash_kernels(const struct nl_scene *scene, struct step_hash *steps, size_t count)
{
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]], launch = trace->slice.link[slice];
        if (launch == NL_NULL_ROW)
            continue;
        int64_t ts = trace->slice.ts[launch];
        size_t low = NL_FIRST(at, 0, count, steps[at].start > ts);
        if (!low || ts >= steps[low - 1].end)
            continue;
        struct step_hash *step = &steps[low - 1];
        uint64_t pair[2] = {step->hash, trace->slice.name[slice]};
        step->hash = nl_hash(pair, sizeof pair);
        step->kernels++;
    }
}

/* Most frequent sequence: how many steps have it. */
static size_t most_alike(const struct step_hash *steps, size_t count, uint32_t *kernels)
{
    size_t best = 0;
    for (size_t i = 0; i < count && i < 100; i++) {
        size_t same = 0;
        for (size_t j = 0; j < count; j++)
            same += steps[j].hash == steps[i].hash && steps[j].kernels;
        if (same > best) {
            best = same;
            *kernels = steps[i].kernels;
        }
    }
    return best;
}

static uint64_t graph_launches(const struct nl_scene *scene)
{
    uint64_t count = scene->trace->graph.rows;
    for (uint32_t row = 0; row < scene->trace->api.rows; row++)
        count += nl_api_slice_role(scene->roles, scene->trace, scene->trace->api.slice[row]) ==
                 NL_API_GRAPH_LAUNCH;
    return count;
}

static enum nl_verdict cuda_graph_absent_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    size_t gaps;
    uint32_t kernels = 0;
    int64_t cost = nl_scene_sum_gaps(scene, nl_launch_is_dispatch_gap, &gaps, &finding->where);
    if (nl_scene_share(scene, cost) <= WARN_SHARE || graph_launches(scene))
        return NL_CAUSE_ABSENT;
    struct step_hash *steps = nl_alloc((scene->steps + 1) * sizeof *steps);
    size_t count = find_steps(scene, steps);
    hash_kernels(scene, steps, count);
    size_t alike = most_alike(steps, count, &kernels);
    nl_free(steps);
    if (count < MIN_STEPS)
        return nl_abstain(finding, "fewer than three steps are known");
    if ((double)alike < SAME_SHARE * (double)count || kernels <= PER_STEP)
        return NL_CAUSE_ABSENT;
    struct nl_launch_facts facts = nl_launch_facts(scene);
    if (nl_launch_is_ahead(&facts))
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, cost, CRITICAL_SHARE, scene->linked * scene->group->confidence);
    nl_title(scene, finding,
             "Every step launches the same %s kernels one by one: a CUDA graph would "
             "spare %s up to %s",
             nl_say_count(scene, kernels), nl_scene_name(scene), nl_say_ns(scene, cost));
    nl_launch_tell_gaps(scene, finding, cost, gaps);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "graph_launches",
                    .says = nl_say(scene,
                                   "%s of %s steps launch the same sequence of %s kernels, and "
                                   "no graph is launched",
                                   nl_say_count(scene, alike), nl_say_count(scene, count),
                                   nl_say_count(scene, kernels)),
                    .threshold = "0, with > 90 % equal steps of > 200 launches",
                    .query = "SELECT count(*) FROM api WHERE api_role(name) = 'graph_launch'",
                    .meaning = NL_MEANS_COUNT,
                    .value = 0});
    nl_launch_tell_delay(scene, finding, &facts);
    if (nl_launch_is_served(scene))
        finding->remedies = "cuda_graph_absent:served";
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cuda_graph_absent = {
    .id = "cuda_graph_absent",
    .doc = "At least three steps (marked or found, without warm-up), of which 90 % launch the same "
           "sequence of more than 200 kernels without a graph launch, and host-bound gaps spent "
           "dispatching take more than 10 % of wall.",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = cuda_graph_absent_evaluate,
    .not_this_if = "the steps differ (dynamic shapes), or graphs are used already",
};

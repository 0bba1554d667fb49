/*
 * allocator_churn — device memory is allocated and freed inside the loop.
 *
 * Signal: cudaMalloc, cudaFree, cuMemMap and their like after the start: in steps after the first,
 * or, without steps, after the first fifth of the device's time. cudaFree waits for the device.
 * Warning when they cost over 1 % of wall in idle time, critical over 5 %.
 */
#include "findings/cause.h"
#include "base/sum.h"

#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.05
#define WARM_UP        5  /* a fifth of the time */
#define MIN_GAPS       10 /* fewer are no loop */

static bool is_allocation(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    bool freed = gap->sync != NL_NULL_ROW &&
                 nl_api_slice_role(scene->roles, scene->trace, gap->sync) == NL_API_ALLOCATE;
    return gap->class == NL_IDLE_HOST_LATE && (gap->activity == NL_ACTIVITY_ALLOCATE || freed) &&
           gap->start >= scene->device->start_ns + scene->wall_ns / WARM_UP;
}

static uint64_t count_calls(const struct nl_scene *scene, int64_t since, int64_t *ns)
{
    const struct nl_trace *trace = scene->trace;
    uint64_t count = 0;
    *ns = 0;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        if (nl_api_slice_role(scene->roles, trace, slice) != NL_API_ALLOCATE ||
            trace->slice.ts[slice] < since ||
            trace->slice.ts[slice] >= scene->device->start_ns + scene->wall_ns ||
            trace->slice.dur[slice] == NL_NULL_I64 ||
            (scene->device->rank != NL_NULL_I64 &&
             nl_slice_rank(trace, slice) != scene->device->rank))
            continue;
        count++;
        nl_sum_add(ns, trace->slice.dur[slice]);
    }
    return count;
}

static enum nl_verdict allocator_churn_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    size_t gaps;
    int64_t cost = nl_scene_sum_gaps(scene, is_allocation, &gaps, &finding->where), called;
    if (nl_scene_share(scene, cost) <= WARN_SHARE || gaps < MIN_GAPS)
        return NL_CAUSE_ABSENT;
    int64_t since = scene->device->start_ns + scene->wall_ns / WARM_UP;
    int64_t first = since - scene->trace->first_ts;
    int64_t last = scene->device->start_ns + scene->wall_ns - scene->trace->first_ts;
    const char *rank = scene->device->rank == NL_NULL_I64
                           ? ""
                           : nl_say(scene, " AND rank = %lld", (long long)scene->device->rank);
    uint64_t count = count_calls(scene, since, &called);
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Allocating device memory in the loop leaves %s idle for %s",
             nl_scene_name(scene), nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "allocator_idle_ns",
            .says = nl_say(scene,
                           "%s idle (%s of the time) in %s gaps that are mostly spent in "
                           "allocator calls, or begin in a free that waits for the device",
                           nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share),
                           nl_say_count(scene, gaps)),
            .threshold = "> 1 % of wall",
            .query = nl_say(scene,
                            "SELECT sum(dur) FROM idle_gaps%s WHERE class = 'host_late' AND ts >= "
                            "%lld AND %s AND "
                            "(activity = 'allocator call' OR sync IN (SELECT slice FROM api WHERE "
                            "api_role(name) = 'allocate'))",
                            nl_scene_args(scene), (long long)first, nl_scene_place(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, is_allocation, evidence);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "allocator_calls",
                             .says = nl_say(scene,
                                            "%s such calls after the first fifth of the time, "
                                            "%s on the CPU",
                                            nl_say_count(scene, count), nl_say_ns(scene, called)),
                             .threshold = "none in a steady state",
                             .query = nl_say(scene,
                                             "SELECT count(*) FROM api WHERE "
                                             "api_role(name) = 'allocate' AND ts >= %lld AND "
                                             "ts < %lld%s",
                                             (long long)first, (long long)last, rank),
                             .meaning = NL_MEANS_COUNT,
                             .value = (double)count});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_allocator_churn = {
    .id = "allocator_churn",
    .doc = "Idle time in gaps that are mostly spent in calls that allocate, map or free device "
           "memory, or that begin in a blocking free, after the first fifth of the device's time. "
           "Warning over 1 % of wall. Stream-ordered calls (…Async) do not count.",
    .needs = {{NL_T_api, NULL}},
    .need_count = 1,
    .evaluate = allocator_churn_evaluate,
    .not_this_if = "the calls belong to start-up (the first fifth of the time is left out), or run "
                   "while the device works",
};

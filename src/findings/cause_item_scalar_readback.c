/*
 * item_scalar_readback — a number is fetched from the device and everything waits for it.
 *
 * Signal: copies to the host of at most 8 bytes (tensor.item()) that are the last work before a
 * gap whose launching thread was blocked in a call; cost as sync_calls.
 */
#include "findings/cause.h"
#include "base/sum.h"

#define SCALAR_BYTES   8
#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.10

static bool is_scalar(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t copy = trace->slice.detail[slice];
    return trace->slice.kind[slice] == NL_KIND_MEMCPY && copy < trace->copy.rows &&
           trace->copy.kind[copy] == NL_COPY_DTOH && trace->copy.bytes[copy] <= SCALAR_BYTES;
}

static bool after_scalar(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return gap->sync != NL_NULL_ROW && is_scalar(scene->trace, gap->before);
}

/* The copy itself, and the call that asked for it. */
static int64_t own_ns(const struct nl_trace *trace, uint32_t copy)
{
    int64_t sum = trace->slice.dur[copy];
    uint32_t launch = trace->slice.link[copy];
    if (launch != NL_NULL_ROW && trace->slice.dur[launch] > 0)
        nl_sum_add(&sum, trace->slice.dur[launch]);
    return sum;
}

static uint64_t count_scalars(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    uint64_t count = 0;
    for (size_t i = 0; i < scene->copy_count; i++)
        count += is_scalar(trace, trace->copy.slice[scene->copies[i]]);
    return count;
}

static enum nl_verdict item_scalar_readback_evaluate(struct nl_scene *scene,
                                                     struct nl_finding *finding)
{
    size_t gaps, drained = 0;
    int64_t cost = nl_scene_waits(scene, after_scalar, &finding->where), own = 0;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    for (size_t i = 0; i < gaps; i++, gap++) {
        if (!after_scalar(scene, gap))
            continue;
        nl_sum_add(&own, own_ns(scene->trace, gap->before));
        drained++;
    }
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    uint64_t scalars = count_scalars(scene);
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = cost / 2;
    finding->saving_ns[1] = nl_sum(cost, own);
    nl_title(scene, finding, "Reading single numbers back stops %s for %s", nl_scene_name(scene),
             nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "scalar_sync_idle_ns",
            .says =
                nl_say(scene,
                       "%s of idle time (%s of wall) could be hidden if the CPU ran ahead, at %s "
                       "waits for a copy of at most 8 bytes to the host",
                       nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share),
                       nl_say_count(scene, drained)),
            .threshold = "> 1 % of wall",
            .query = nl_scene_waits_sql(
                scene,
                " AND g.before IN (SELECT slice FROM copies WHERE kind = 'DtoH' AND bytes <= 8)"),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, after_scalar, evidence);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "scalar_copies",
                    .says = nl_say(scene, "%s copies of at most 8 bytes to the host%s",
                                   nl_say_count(scene, scalars),
                                   scene->steps > 1 ? nl_say(scene, ", %.1f per step",
                                                             (double)scalars / (double)scene->steps)
                                                    : ""),
                    .query = nl_say(scene,
                                    "SELECT count(*) FROM copies WHERE kind = 'DtoH' AND "
                                    "bytes <= 8 AND %s",
                                    nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)scalars});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_item_scalar_readback = {
    .id = "item_scalar_readback",
    .doc = "Device-to-host copies of at most 8 bytes (tensor.item()) that end right before a gap, "
           "while the launching thread waits in a blocking call. Cost: the idle time, capped in "
           "each gap at the duration of the call. Warning over 1 % of wall.",
    .needs = {{NL_T_copy, "bytes"}, {NL_T_api, NULL}},
    .need_count = 2,
    .evaluate = item_scalar_readback_evaluate,
    .not_this_if = "the copies hold more than one number, or nothing waits for them",
};

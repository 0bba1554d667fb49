/*
 * sync_memcpy — copies by a call that returns only when they are done.
 *
 * Signal: cudaMemcpy and its like without Async; cost = device idle in gaps that begin in such a
 * call, of each no more than the call lasted (nsys expert rule cuda_memcpy_sync).
 */
#include "findings/cause.h"

#define WARN_SHARE     0.02
#define CRITICAL_SHARE 0.10

static bool is_blocking_copy(const struct nl_scene *scene, uint32_t slice)
{
    return slice != NL_NULL_ROW &&
           nl_api_slice_role(scene->roles, scene->trace, slice) == NL_API_COPY &&
           nl_api_slice_blocks(scene->roles, scene->trace, slice);
}

static bool after_copy(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    return is_blocking_copy(scene, gap->sync);
}

static enum nl_verdict sync_memcpy_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    size_t gaps, drained;
    int64_t cost = nl_scene_waits(scene, after_copy, &finding->where), called = 0;
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    int64_t all = nl_scene_sum_gaps(scene, after_copy, &drained, NULL);
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    uint32_t name = NL_NO_NAME;
    for (size_t i = 0; i < gaps && name == NL_NO_NAME; i++)
        if (after_copy(scene, &gap[i]))
            name = scene->trace->slice.name[gap[i].sync];
    struct nl_str call = nl_trace_name(scene->trace, name);
    for (uint32_t row = 0; row < scene->trace->api.rows; row++)
        called += is_blocking_copy(scene, scene->trace->api.slice[row]);
    const char *names = "api_role(name) = 'copy' AND api_blocks(name)";
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "%.*s blocks the CPU and leaves %s idle for %s", (int)call.len,
             call.ptr, nl_scene_name(scene), nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "sync_memcpy_idle_ns",
            .says = nl_say(scene,
                           "%s of idle time (%s of wall) could be hidden if the CPU ran ahead; %s "
                           "are in %s gaps "
                           "that begin inside a blocking copy call",
                           nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share),
                           nl_say_ns(scene, all), nl_say_count(scene, drained)),
            .threshold = "> 2 % of wall",
            .query = nl_scene_waits_sql(
                scene, nl_say(scene, " AND g.sync IN (SELECT slice FROM api WHERE %s)", names)),
            .meaning = NL_MEANS_NS,
            .value = (double)cost});
    nl_scene_gap_examples(scene, after_copy, evidence);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "sync_memcpy_calls",
                    .says = nl_say(scene, "%s calls that copy and wait, in the whole profile",
                                   nl_say_count(scene, (uint64_t)called)),
                    .query = nl_say(scene, "SELECT count(*) FROM api WHERE %s", names),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)called});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_sync_memcpy = {
    .id = "sync_memcpy",
    .doc =
        "Gaps that begin while the launching thread is inside a blocking copy (cudaMemcpy without "
        "Async), capped in each gap at the duration of the call. Warning over 2 % of wall.",
    .needs = {{NL_T_api, NULL}, {NL_T_copy, NULL}},
    .need_count = 2,
    .evaluate = sync_memcpy_evaluate,
    .not_this_if = "the device stays busy during the calls",
};

/*
 * sync_calls — the CPU waits for the device and only then prepares the next work.
 *
 * Waiting for a busy device is free; what costs is that the CPU cannot prepare work meanwhile: cost
 * = Σ over host-late gaps during whose start a blocking call was open on the launching thread, of
 * the gap, but no more than the call lasted. What the CPU works on for longer than that is late
 * without the wait, too, and belongs to that work. Warning over 2 % of wall, critical over 10 %.
 */
#include "findings/cause.h"
#include "base/sum.h"

#define WARN_SHARE     0.02
#define CRITICAL_SHARE 0.10

static bool after_sync(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    return gap->sync != NL_NULL_ROW;
}

static uint64_t blocking_calls(const struct nl_scene *scene, int64_t *ns)
{
    const struct nl_trace *trace = scene->trace;
    uint64_t count = 0;
    *ns = 0;
    size_t gaps;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    uint32_t last = NL_NULL_ROW;
    for (size_t i = 0; i < gaps; i++, gap++) {
        if (gap->sync == NL_NULL_ROW || gap->sync == last)
            continue;
        last = gap->sync;
        count++;
        nl_sum_add(ns, trace->slice.dur[gap->sync]);
    }
    return count;
}

static enum nl_verdict sync_calls_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t cost = nl_scene_waits(scene, after_sync, &finding->where), waited;
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    uint64_t calls = blocking_calls(scene, &waited);
    const char *where = nl_say(scene, "FROM idle_gaps%s WHERE sync IS NOT NULL AND %s",
                               nl_scene_args(scene), nl_scene_place(scene, ""));
    int64_t all = nl_scene_sum_gaps(scene, after_sync, NULL, NULL);
    nl_find(scene, finding, cost, CRITICAL_SHARE, scene->linked > 0.5 ? 1 : NL_DOUBT_FEW_LAUNCHES);
    finding->saving_ns[0] = cost / 2;
    finding->saving_ns[1] = cost;
    nl_title(scene, finding, "Synchronising calls leave %s without work for %s",
             nl_scene_name(scene), nl_say_ns(scene, cost));
    struct nl_evidence *evidence = nl_evidence(
        finding, (struct nl_evidence){.metric = "sync_idle_ns",
                                      .says = nl_say(scene,
                                                     "%s of idle time (%s of wall) could be hidden "
                                                     "if the CPU ran ahead; gaps that begin in "
                                                     "blocking calls take %s",
                                                     nl_say_ns(scene, cost),
                                                     nl_say_share(scene, finding->cost_share),
                                                     nl_say_ns(scene, all)),
                                      .threshold = "> 2 % of wall",
                                      .query = nl_scene_waits_sql(scene, ""),
                                      .meaning = NL_MEANS_NS,
                                      .value = (double)cost});
    nl_scene_gap_examples(scene, after_sync, evidence);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "blocking_calls_that_drained",
                             .says = nl_say(scene,
                                            "%s blocking calls waited until the device had nothing "
                                            "left to do, for %s in all",
                                            nl_say_count(scene, calls), nl_say_ns(scene, waited)),
                             .query = nl_say(scene, "SELECT count(DISTINCT sync) %s", where),
                             .meaning = NL_MEANS_COUNT,
                             .value = (double)calls});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_sync_calls = {
    .id = "sync_calls",
    .doc =
        "Idle time in gaps that begin in a blocking call (…Synchronize, synchronous copies, frees) "
        "that waited until the device had nothing left to do. Each gap counts for at most the "
        "duration of the call: the CPU could not have run further ahead. Warning over 2 % of wall.",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .of_gaps = true,
    .evaluate = sync_calls_evaluate,
    .not_this_if = "the calls wait for a device that stays busy, or the device was idle before the "
                   "call began (neither is counted)",
};

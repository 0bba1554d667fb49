/*
 * unified_memory_faults — pages of unified memory move between CPU and
 * device while the program runs.
 *
 * Signal: migrations (copies of kind UVM) by the time neither computation nor communication
 * hides, over 1 % of wall. Kernels that fault stand still meanwhile, which lengthens them: their
 * time is not in the cost.
 */
#include "findings/copycause.h"
#include "base/sum.h"
#include "store/copykind.h"

#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.20

static bool is_migration(const struct nl_trace *trace, uint32_t copy)
{
    return nl_copykind_moves_pages(trace->copy.kind[copy]);
}

static enum nl_verdict unified_memory_faults_evaluate(struct nl_scene *scene,
                                                      struct nl_finding *finding)
{
    struct nl_copy_sums sums = nl_copy_sum(scene, is_migration);
    struct nl_intervals all;
    if (!sums.count)
        return NL_CAUSE_ABSENT;
    /* Faults stop the kernels that they interrupt: migration counts whether a
     * kernel is "running" or not. */
    nl_intervals_init(&all);
    int64_t exposed = nl_scene_exposed(scene, is_migration, &finding->where);
    for (size_t i = 0; i < scene->copy_count; i++) {
        uint32_t slice = scene->trace->copy.slice[scene->copies[i]];
        if (is_migration(scene->trace, scene->copies[i]))
            nl_intervals_add(&all, scene->trace->slice.ts[slice],
                             nl_slice_end(scene->trace, slice));
    }
    nl_intervals_normalise(&all);
    int64_t moving = nl_intervals_length(&all);
    nl_intervals_release(&all);
    if (nl_scene_share(scene, exposed) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *kinds = "kind IN ('UVM HtoD', 'UVM DtoH', 'UVM DtoD')";
    nl_find(scene, finding, exposed, CRITICAL_SHARE, 1);
    nl_title(
        scene, finding, "Unified memory migrates %s in %s moves: %s (%s of the time) exposed on %s",
        nl_say_bytes(scene, sums.bytes), nl_say_count(scene, sums.count), nl_say_ns(scene, exposed),
        nl_say_share(scene, finding->cost_share), nl_scene_name(scene));
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "exposed_migration_ns",
                             .says = nl_say(scene, "%s in which pages move and nothing computes",
                                            nl_say_ns(scene, exposed)),
                             .threshold = "> 1 % of wall",
                             .query = nl_scene_exposed_sql(scene, kinds),
                             .meaning = NL_MEANS_NS,
                             .value = (double)exposed});
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "migration_ns",
            .says = nl_say(scene, "pages move for %s in all; kernels that need them stand still",
                           nl_say_ns(scene, moving)),
            .query = nl_say(scene, "SELECT busy(ts, dur) FROM copies WHERE %s AND %s", kinds,
                            nl_scene_on(scene, "")),
            .meaning = NL_MEANS_NS,
            .value = (double)moving});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_unified_memory_faults = {
    .id = "unified_memory_faults",
    .doc = "Page migrations of unified memory (UVM copies) that overlap with neither computation "
           "nor communication take more than 1 % of wall. Kernels that fault also run longer; the "
           "cost does not include that.",
    .needs = {{NL_T_copy, NULL}},
    .need_count = 1,
    .evaluate = unified_memory_faults_evaluate,
    .not_this_if =
        "the copies are explicit (h2d_in_critical_path), or pages are prefetched while kernels run",
};

/*
 * memory_fragmentation — the allocator holds far more memory than was ever live.
 *
 * Signal: of the pool with most, the highest reserve is over 20 % and 64 MiB above the
 * highest sum of live allocations. What is reserved and never live cannot be used by
 * anything else on the device.
 */
#include "findings/bookcause.h"
#include "findings/memorypools.h"

#define MIN_SHARE 0.20
#define MIN_BYTES ((uint64_t)64 << 20)

static enum nl_verdict memory_fragmentation_evaluate(struct nl_scene *scene,
                                                     struct nl_finding *finding)
{
    struct nl_memory_pool pool;
    if (!nl_memory_pool(scene, &pool) || !pool.peak_reserved)
        return nl_abstain(finding, "the allocator's reserve was not recorded");
    uint64_t spare =
        pool.peak_reserved > pool.peak_allocated ? pool.peak_reserved - pool.peak_allocated : 0;
    if (spare < MIN_BYTES || (double)spare <= MIN_SHARE * (double)pool.peak_reserved)
        return NL_CAUSE_ABSENT;
    const char *from = nl_say(scene, "FROM memory WHERE %s", nl_memory_pool_sql(scene, &pool));
    nl_find_bytes(finding);
    nl_title(scene, finding, "%s of %s reserved on %s were never live at once (%s)",
             nl_say_bytes(scene, spare), nl_say_bytes(scene, pool.peak_reserved),
             nl_memory_pool_name(scene, &pool),
             nl_say_share(scene, (double)spare / (double)pool.peak_reserved));
    nl_prove(
        scene, finding,
        (struct nl_evidence){
            .metric = "reserved_never_live_bytes",
            .threshold = "> 20 % of the reserve",
            .query = nl_say(scene, "SELECT max(total_reserved) - max(total_allocated) %s", from),
            .meaning = NL_MEANS_BYTES,
            .value = (double)spare},
        "%s between the highest reserve and the highest sum of live allocations",
        nl_say_bytes(scene, spare));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "peak_allocated_bytes",
                                  .query = nl_say(scene, "SELECT max(total_allocated) %s", from),
                                  .meaning = NL_MEANS_BYTES,
                                  .value = (double)pool.peak_allocated},
             "%s live at the peak", nl_say_bytes(scene, pool.peak_allocated));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_memory_fragmentation = {
    .id = "memory_fragmentation",
    .on = NL_ON_BOTH,
    .doc =
        "The allocator's peak reserved memory is more than 20 % and 64 MiB above its peak of live "
        "allocations: fragmentation, or a peak before the recording. Costs bytes, not time.",
    .needs = {{NL_T_memory, "total_reserved"}},
    .need_count = 1,
    .evaluate = memory_fragmentation_evaluate,
    .not_this_if = "the peak of live memory was before the recording began (start-up, autotuning)",
};

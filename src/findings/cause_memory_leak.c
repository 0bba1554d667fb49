/*
 * memory_leak — the memory that is left when the program has given back what it
 * does not need keeps growing.
 *
 * Signal: of the allocator's totals, over eight equal parts of the time (the first two are
 * the start), the lowest value of each part never falls and rises in four of five
 * (seriesgrowth), by over 10 % and 16 MiB in all (Amazon SageMaker Debugger's
 * GPUMemoryIncrease looks for 5 points of growth).
 */
#include "findings/bookcause.h"
#include "findings/memorypools.h"
#include "findings/seriesgrowth.h"

#define MIN_GROWTH 0.10
#define MIN_STEPS  4
#define MIN_BYTES  ((int64_t)16 << 20)

static const char *least_sql(const struct nl_scene *scene, const struct nl_memory_pool *pool,
                             const struct nl_growth *growth, unsigned part)
{
    int64_t first = scene->trace->first_ts;
    return nl_say(
        scene, "(SELECT min(total_allocated) FROM memory WHERE %s AND ts >= %lld AND ts %s %lld)",
        nl_memory_pool_sql(scene, pool), (long long)(nl_growth_at(growth, part) - first),
        part + 1 == NL_GROWTH_PARTS ? "<=" : "<",
        (long long)(nl_growth_at(growth, part + 1) - first));
}

static enum nl_verdict memory_leak_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_memory_table *memory = &scene->trace->memory;
    struct nl_memory_pool pool;
    struct nl_growth growth;
    if (scene->steps < MIN_STEPS)
        return nl_abstain(finding, "fewer than four steps: within a step memory grows by nature");
    if (!nl_memory_pool(scene, &pool))
        return nl_abstain(finding, "the allocator's totals were not recorded");
    nl_growth_begin(&growth, pool.first_ts, pool.last_ts);
    for (uint32_t row = 0; row < memory->rows; row++)
        if (nl_memory_in_pool(scene, &pool, row) && memory->total_allocated[row] <= INT64_MAX)
            nl_growth_add(&growth, memory->ts[row], (int64_t)memory->total_allocated[row]);
    int64_t before = growth.least[NL_GROWTH_START], after = growth.least[NL_GROWTH_PARTS - 1];
    if (!nl_growth_rises(&growth) || after - before < MIN_BYTES ||
        (double)(after - before) < MIN_GROWTH * (double)before)
        return NL_CAUSE_ABSENT;
    nl_find_bytes(finding);
    nl_title(scene, finding,
             "Live memory of %s keeps growing: its lowest level rises from %s to %s",
             nl_memory_pool_name(scene, &pool), nl_say_bytes(scene, (uint64_t)before),
             nl_say_bytes(scene, (uint64_t)after));
    const char *first = least_sql(scene, &pool, &growth, NL_GROWTH_START),
               *last = least_sql(scene, &pool, &growth, NL_GROWTH_PARTS - 1);
    nl_prove(
        scene, finding,
        (struct nl_evidence){.metric = "growth_bytes",
                             .threshold = "> 10 % and 16 MiB",
                             .query = nl_say(scene, "SELECT %s - %s", last, first),
                             .meaning = NL_MEANS_BYTES,
                             .value = (double)(after - before)},
        "%s more in the last eighth of the time than in the third, at the lowest point of each",
        nl_say_bytes(scene, (uint64_t)(after - before)));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "level_bytes",
                                  .threshold = "never falls, rises in four of five parts",
                                  .query = nl_say(scene, "SELECT %s", last),
                                  .meaning = NL_MEANS_BYTES,
                                  .value = (double)after},
             "the level never falls from one eighth to the next");
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_memory_leak = {
    .id = "memory_leak",
    .on = NL_ON_BOTH,
    .doc = "In eight equal parts of the time (the first two left out), the lowest value of the "
           "allocator's total never falls, rises in four of five, and grows by more than 10 % and "
           "16 MiB overall. Needs four steps. Costs bytes, not time.",
    .needs = {{NL_T_memory, "total_allocated"}},
    .need_count = 1,
    .evaluate = memory_leak_evaluate,
    .not_this_if = "the recording ends while a model or cache is still being built, or before the "
                   "first step is over",
};

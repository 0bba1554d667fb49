/*
 * slow_instances — some calls of one kernel take many times as long as their siblings.
 *
 * Signal: kernels of one name, grid and block, at least 20 of them, nine of ten of which take at
 * most twice the median, and some more than five times (nsys-ai: max over mean above 5 at n of 20).
 * Together these take over 5 % of wall more than the median would. Slow calls that come in more
 * than half of the steps belong to the program (other sizes at the same grid) and do not count;
 * without four steps that is not known. Cost: what slow calls take beyond the median.
 */
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "base/median.h"
#include "findings/cause.h"

#define MIN_SHARE           0.05
#define CRITICAL_SHARE      0.20
#define MIN_COUNT           20
#define MIN_STEPS           4
#define MIN_MEDIANS         5 /* times the median */
#define MAX_SIBLING_MEDIANS 2

struct slow {
    int64_t excess, worst_excess, median; /* of all groups; of the worst, and its median */
    uint64_t slow, count;                 /* of the worst */
    uint32_t kernel;                      /* a row of the worst */
};

/* Kernels of one name, grid and block. */
struct group {
    uint64_t key;
    int64_t sum, most; /* of their lengths */
    size_t count, first;
};

struct groups {
    struct group *items;
    size_t count, cap;
    struct nl_lookup by_key;
    uint32_t *of; /* per kernel of the scene: its group, NL_NO_ROW none */
};

static uint64_t launch_key(const struct nl_trace *trace, uint32_t kernel)
{
    const struct nl_kernel_table *table = &trace->kernel;
    const uint32_t parts[] = {table->grid_x[kernel],  table->grid_y[kernel],
                              table->grid_z[kernel],  table->block_x[kernel],
                              table->block_y[kernel], table->block_z[kernel]};
    uint64_t hash = trace->slice.name[table->slice[kernel]];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        hash = (hash ^ parts[i]) * 0x9E3779B97F4A7C15u + (hash >> 29);
    return hash;
}

static int64_t length(const struct nl_trace *trace, uint32_t kernel)
{
    return trace->slice.dur[trace->kernel.slice[kernel]];
}

static uint32_t group_of(struct groups *groups, uint64_t key)
{
    uint64_t hash = nl_hash_number(key);
    uint32_t at = NL_LOOKUP(&groups->by_key, hash, i, groups->items[i].key == key);
    if (at != NL_NO_ROW)
        return at;
    at = (uint32_t)groups->count;
    nl_grow(&groups->items, &groups->cap, groups->count + 1);
    groups->items[groups->count++] = (struct group){.key = key};
    nl_lookup_add(&groups->by_key, hash, at);
    return at;
}

static void make_groups(struct groups *groups, const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    groups->of = nl_alloc((scene->kernel_count + 1) * sizeof *groups->of);
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t kernel = scene->kernels[i];
        groups->of[i] = NL_NO_ROW;
        if (trace->kernel.class[kernel] != NL_CLASS_COMPUTE)
            continue;
        groups->of[i] = group_of(groups, launch_key(trace, kernel));
        struct group *group = &groups->items[groups->of[i]];
        int64_t ns = length(trace, kernel);
        nl_sum_add(&group->sum, ns);
        group->most = ns > group->most ? ns : group->most;
        group->count++;
    }
}

/* Whether the mean lets anything be five times the median: saves sorting the rest. */
static bool may_be(const struct group *group)
{
    return group->count >= MIN_COUNT &&
           group->most / MAX_SIBLING_MEDIANS > group->sum / (int64_t)group->count;
}

/* Whether slow calls come in more than half of the steps. */
static bool is_usual(const struct nl_scene *scene, const int64_t *starts, size_t count)
{
    size_t step = 0, with = 0, last = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        while (step < scene->steps && scene->found[step].end <= starts[i])
            step++;
        if (step == scene->steps)
            break;
        if (starts[i] >= scene->found[step].start && step != last) {
            last = step;
            with++;
        }
    }
    return with * 2 > scene->steps;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void judge_group(struct nl_scene *scene, const uint32_t *kernels, size_t count,
                        struct slow *slow, struct nl_finding *finding, struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    int64_t *values = nl_alloc(count * sizeof *values), excess = 0;
    size_t far = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = length(trace, kernels[i]);
    qsort(values, count, sizeof *values, by_value);
    int64_t median = values[nl_median_lower_at(count)];
    bool tight = median > 0 && values[(count - 1) * 9 / 10] / MAX_SIBLING_MEDIANS <= median;
    for (size_t i = 0; i < count && tight; i++)
        if (length(trace, kernels[i]) / MIN_MEDIANS > median) {
            nl_sum_add(&excess, length(trace, kernels[i]) - median);
            values[far++] = trace->slice.ts[trace->kernel.slice[kernels[i]]];
        }
    if (far)
        qsort(values, far, sizeof *values, by_value);
    bool counts = far && !is_usual(scene, values, far);
    nl_free(values);
    if (!counts)
        return;
    nl_sum_add(&slow->excess, excess);
    for (size_t i = 0; i < count; i++)
        if (length(trace, kernels[i]) / MIN_MEDIANS > median) {
            uint32_t slice = trace->kernel.slice[kernels[i]];
            nl_intervals_add(&finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
            nl_example_slice(scene, longest, slice);
        }
    if (excess > slow->worst_excess) {
        slow->worst_excess = excess;
        slow->median = median;
        slow->slow = far;
        slow->count = count;
        slow->kernel = kernels[0];
    }
}

/* Kernels of the groups that may have slow ones, group by group, in order of time;
 * `kept`: these groups by key. */
static uint32_t *gather_kernels(const struct nl_scene *scene, struct groups *groups,
                                struct nl_keyed *kept, size_t *kept_count)
{
    size_t room = 0;
    *kept_count = 0;
    for (size_t g = 0; g < groups->count; g++) {
        groups->items[g].first = room;
        if (!may_be(&groups->items[g])) {
            groups->items[g].count = 0;
            continue;
        }
        room += groups->items[g].count;
        kept[(*kept_count)++] = (struct nl_keyed){groups->items[g].key, (uint32_t)g};
    }
    uint32_t *kernels = nl_alloc((room + 1) * sizeof *kernels);
    for (size_t i = 0; room && i < scene->kernel_count; i++)
        if (groups->of[i] != NL_NO_ROW && groups->items[groups->of[i]].count)
            kernels[groups->items[groups->of[i]].first++] = scene->kernels[i];
    struct nl_keyed *scratch = nl_alloc((*kept_count + 1) * sizeof *scratch);
    nl_sort_keyed(kept, scratch, *kept_count);
    nl_free(scratch);
    return kernels;
}

static struct slow find_slow(struct nl_scene *scene, struct nl_finding *finding,
                             struct nl_evidence *longest)
{
    struct groups groups = {0};
    struct slow slow = {0};
    size_t count;
    make_groups(&groups, scene);
    struct nl_keyed *kept = nl_alloc((groups.count + 1) * sizeof *kept);
    uint32_t *kernels = gather_kernels(scene, &groups, kept, &count);
    for (size_t i = 0; i < count; i++) {
        const struct group *group = &groups.items[kept[i].row];
        judge_group(scene, kernels + group->first - group->count, group->count, &slow, finding,
                    longest);
    }
    nl_free(kernels);
    nl_free(kept);
    nl_free(groups.of);
    nl_free(groups.items);
    nl_lookup_release(&groups.by_key);
    return slow;
}

static const char *same_kernel(const struct nl_scene *scene, uint32_t kernel)
{
    const struct nl_kernel_table *table = &scene->trace->kernel;
    return nl_say(
        scene,
        "FROM kernels k, kernels one WHERE one.slice = %u AND k.name = one.name AND k.grid_x IS "
        "one.grid_x AND k.grid_y IS one.grid_y AND k.grid_z IS one.grid_z AND k.block_x IS "
        "one.block_x AND k.block_y IS one.block_y AND k.block_z IS one.block_z AND %s",
        table->slice[kernel], nl_scene_on(scene, "k."));
}

static enum nl_verdict slow_instances_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_evidence longest = {0};
    if (scene->steps < MIN_STEPS)
        return nl_abstain(finding, "four steps at least tell whether slow calls are rare");
    struct slow slow = find_slow(scene, finding, &longest);
    if (!slow.slow || nl_scene_share(scene, slow.excess) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, slow.excess, CRITICAL_SHARE, 1);
    uint32_t slice = scene->trace->kernel.slice[slow.kernel];
    const char *name =
        nl_say_kernel(scene, nl_trace_name(scene->trace, scene->trace->slice.name[slice]));
    nl_title(scene, finding, "Some calls of %s on %s take over %d times as long as the others",
             name, nl_scene_name(scene), MIN_MEDIANS);
    const char *from = same_kernel(scene, slow.kernel);
    longest.metric = "slow_calls_excess_ns";
    longest.says =
        nl_say(scene, "%s calls take %s more than the median of %s", nl_say_count(scene, slow.slow),
               nl_say_ns(scene, slow.worst_excess), nl_say_ns(scene, slow.median));
    longest.threshold = "all such calls > 5 % of wall";
    longest.query = nl_say(scene, "SELECT sum(k.dur - %lld) %s AND k.dur / %d > %lld",
                           (long long)slow.median, from, MIN_MEDIANS, (long long)slow.median);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)slow.worst_excess;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "calls_of_kernel",
                    .says = nl_say(scene,
                                   "of %s calls with the same grid and block, in steps that "
                                   "mostly have none that is slow",
                                   nl_say_count(scene, slow.count)),
                    .threshold = "nine of ten within twice the median",
                    .query = nl_say(scene, "SELECT count(*) %s", from),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)slow.count});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_slow_instances = {
    .id = "slow_instances",
    .doc = "Among kernels of one name, grid and block (at least 20, nine of ten within twice the "
           "median), some take more than five times the median, in at most half of the steps. "
           "Cost: the time beyond the median, over 5 % of wall. Needs four steps.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = slow_instances_evaluate,
    .not_this_if = "the slow calls have other sizes or data (sparse, variable length), or are the "
                   "first work after a pause",
};

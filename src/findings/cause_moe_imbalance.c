/*
 * moe_imbalance — the experts of one rank get more tokens than those of the
 * others, which wait for it.
 *
 * Signal, from two sides: of ranks that run as many expert kernels (within a tenth), one takes 1.2
 * times the median or more for them (TraceLens' agents warn at 1.3 of sent bytes), while its other
 * products take at most 1.1 times the median (else its device is slow); and it spends less time in
 * communication than the median rank, because it comes last and the others wait for it there. Cost:
 * the smaller of both differences, over 5 % of wall.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/median.h"
#include "derive/kernelcategory.h"
#include "findings/cause.h"

#define MIN_SHARE      0.05
#define CRITICAL_SHARE 0.20
#define MIN_TIMES      1.2
#define DENSE_TIMES    1.1
#define COUNT_TIMES    1.1
#define MIN_WALL_SHARE 0.05 /* expert kernels, that the question arises */

static struct nl_expert_sums sums_of(const struct nl_scene *scene)
{
    const struct nl_kernel_table *kernel = &scene->trace->kernel;
    struct nl_expert_sums sums = {0};
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t row = scene->kernels[i];
        int64_t ns = scene->trace->slice.dur[kernel->slice[row]];
        if (kernel->class[row] == NL_CLASS_COMMUNICATION) {
            nl_sum_add(&sums.comm_ns, ns);
        } else if (kernel->category[row] == NL_CATEGORY_MOE) {
            nl_sum_add(&sums.moe_ns, ns);
            sums.moe++;
        } else if (nl_category_is_matrix(kernel->category[row])) {
            nl_sum_add(&sums.dense_ns, ns);
        }
    }
    return sums;
}

/* Of all scenes, made once. */
static const struct nl_expert_sums *all_sums(struct nl_scene *scene)
{
    struct nl_experts_found *found = scene->experts;
    if (!found->sums) {
        found->sums = nl_alloc(scene->peer_count * sizeof *found->sums);
        for (size_t i = 0; i < scene->peer_count; i++)
            found->sums[i] = sums_of(&scene->peers[i]);
    }
    return found->sums;
}

static bool is_alike(uint64_t a, uint64_t b)
{
    return (double)a <= COUNT_TIMES * (double)b && (double)b <= COUNT_TIMES * (double)a;
}

/* Of the devices that run as many expert kernels as the scene's; of the next scenes,
 * too, if they run as many. */
static void find_medians(struct nl_scene *scene, const struct nl_expert_sums *all, uint64_t kernels)
{
    struct nl_experts_found *found = scene->experts;
    if (found->of_moe == kernels)
        return;
    found->of_moe = kernels;
    found->ranks = 0;
    int64_t *values = nl_alloc(3 * scene->peer_count * sizeof *values);
    int64_t *dense = values + scene->peer_count, *comm = dense + scene->peer_count;
    for (size_t i = 0; i < scene->peer_count; i++) {
        if (!all[i].moe || !is_alike(all[i].moe, kernels))
            continue;
        values[found->ranks] = all[i].moe_ns;
        dense[found->ranks] = all[i].dense_ns;
        comm[found->ranks++] = all[i].comm_ns;
    }
    double sum = 0;
    for (size_t i = 0; i < found->ranks; i++)
        sum += (double)values[i];
    found->mean_moe_ns = sum / (double)found->ranks;
    /* As SQL below. */
    found->medians.moe_ns = nl_median_lower(values, found->ranks);
    found->medians.dense_ns = nl_median_lower(dense, found->ranks);
    found->medians.comm_ns = nl_median_lower(comm, found->ranks);
    nl_free(values);
}

static const char *median_sql(const struct nl_scene *scene, const char *condition, uint64_t kernels)
{
    const char *experts = "sum(category = 'moe')";
    return nl_say(scene,
                  "SELECT t FROM (SELECT sum(iif(%s, dur, 0)) AS t FROM kernels WHERE 1%s GROUP BY "
                  "rank, device HAVING %s <= 1.1 * %llu AND %llu <= 1.1 * %s ORDER BY t) "
                  "LIMIT 1 OFFSET %zu",
                  condition, nl_scene_during(scene, ""), experts, (unsigned long long)kernels,
                  (unsigned long long)kernels, experts, (scene->experts->ranks - 1) / 2);
}

static void describe_imbalance(struct nl_scene *scene, struct nl_finding *finding,
                               const struct nl_expert_sums *own)
{
    const struct nl_expert_sums *medians = &scene->experts->medians;
    size_t ranks = scene->experts->ranks;
    const char *on = nl_scene_on(scene, "");
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "expert_ns",
                    .says = nl_say(scene, "%s kernels of experts take %s",
                                   nl_say_count(scene, own->moe), nl_say_ns(scene, own->moe_ns)),
                    .threshold = ">= 1.2 times the median of ranks",
                    .query = nl_say(
                        scene, "SELECT sum(dur) FROM kernels WHERE category = 'moe' AND %s", on),
                    .meaning = NL_MEANS_NS,
                    .value = (double)own->moe_ns});
    nl_evidence(finding,
                (struct nl_evidence){.metric = "median_expert_ns",
                                     .says = nl_say(scene, "the median of %zu ranks takes %s",
                                                    ranks, nl_say_ns(scene, medians->moe_ns)),
                                     .query = median_sql(scene, "category = 'moe'", own->moe),
                                     .meaning = NL_MEANS_NS,
                                     .value = (double)medians->moe_ns});
    nl_evidence(
        finding,
        (struct nl_evidence){
            .metric = "median_communication_ns",
            .says = nl_say(
                scene, "the median rank is in communication for %s, this one for %s: it comes last",
                nl_say_ns(scene, medians->comm_ns), nl_say_ns(scene, own->comm_ns)),
            .query = median_sql(scene, "class = 'communication'", own->moe),
            .meaning = NL_MEANS_NS,
            .value = (double)medians->comm_ns});
}

static void claim_moe_kernels(const struct nl_scene *scene, struct nl_intervals *where)
{
    const struct nl_kernel_table *kernel = &scene->trace->kernel;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t row = scene->kernels[i], slice = kernel->slice[row];
        if (kernel->category[row] == NL_CATEGORY_MOE)
            nl_intervals_add(where, scene->trace->slice.ts[slice],
                             nl_slice_end(scene->trace, slice));
    }
}

static enum nl_verdict moe_imbalance_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_expert_sums *all = all_sums(scene), *own = &all[scene - scene->peers];
    if (!own->moe || nl_scene_share(scene, own->moe_ns) < MIN_WALL_SHARE || !own->comm_ns)
        return NL_CAUSE_ABSENT;
    if (scene->peer_count < 2)
        return nl_abstain(finding,
                          "one rank does not tell how its experts compare: give the profiles "
                          "of all ranks");
    find_medians(scene, all, own->moe);
    const struct nl_expert_sums medians = scene->experts->medians;
    size_t ranks = scene->experts->ranks;
    int64_t more = own->moe_ns - medians.moe_ns, waits = medians.comm_ns - own->comm_ns;
    int64_t cost = more < waits ? more : waits;
    if (ranks < 2 || (double)own->moe_ns < MIN_TIMES * (double)medians.moe_ns ||
        (double)own->dense_ns > DENSE_TIMES * (double)medians.dense_ns || cost <= 0 ||
        nl_scene_share(scene, cost) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    claim_moe_kernels(scene, &finding->where);
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = 0;
    /* Balanced, every rank takes the mean: the others get what this one has too much. */
    int64_t balanced = nl_sum_near((double)own->moe_ns - scene->experts->mean_moe_ns);
    if (balanced < finding->saving_ns[1])
        finding->saving_ns[1] = balanced > 0 ? balanced : 0;
    nl_title(scene, finding,
             "Experts on %s take %.1f times the median of %zu ranks; the others wait",
             nl_scene_name(scene), (double)own->moe_ns / (double)medians.moe_ns, ranks);
    describe_imbalance(scene, finding, own);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_moe_imbalance = {
    .id = "moe_imbalance",
    .doc = "Of ranks that run equally many expert kernels, one takes at least 1.2 times the median "
           "for them, at most 1.1 times for other products, and less time than the median in "
           "communication, because the others wait for it. Cost: the smaller of both differences, "
           "over 5 % of wall. Saving: no more than down to the mean of the ranks. Needs the "
           "profiles of several ranks.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .saves = NL_SAVES_WAITS,
    .evaluate = moe_imbalance_evaluate,
    .not_this_if = "all products of the rank are slow (a slow device), or no rank waits for it in "
                   "communication",
};

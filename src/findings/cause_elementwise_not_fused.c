/*
 * elementwise_not_fused — chains of operators that each read and write all of memory for
 * one operation per element.
 *
 * Signal: elementwise operators that follow each other on the device directly take over 5 % of wall
 * more than the longest of each chain would (one kernel that reads and writes once). Two sides:
 * they are bound by memory (a few operations per element), and they come in chains.
 *
 * If sizes or launches were not recorded, names of kernels decide: those of the category
 * elementwise have over 25 % of busy time, in 100 kernels or more, and a third of their time
 * follows another one directly (one that stands alone has nothing to be fused with; book of causes,
 * entry 27). What is promised is the same as with sizes.
 */
#include "base/sum.h"
#include "findings/kernelkinds.h"
#include "findings/workcause.h"

#define MIN_SHARE        0.05
#define CRITICAL_SHARE   0.20
#define OF_BUSY          0.25 /* by names alone */
#define MIN_KERNELS      100
#define MIN_LINKED       0.95 /* else work between two operators may not be seen */
#define MIN_CHAINED_PART 3 /* at least the third part of their time follows another one directly */

struct chains {
    int64_t all, chained, spare; /* time: of elementwise operators, in chains, won by fusing */
    uint64_t count;
};

static bool is_elementwise(const struct nl_op_work *work)
{
    return work->family == WORK_ELEMENTWISE;
}

static struct chains find_chains(struct nl_scene *scene, struct nl_intervals *where,
                                 struct nl_evidence *longest)
{
    struct chains chains = {0};
    size_t count;
    const struct nl_op_work *const *rows = nl_work_rows(scene, &count);
    for (size_t first = 0, next; first < count; first = next) {
        next = first + 1;
        if (!is_elementwise(rows[first]))
            continue;
        int64_t sum = rows[first]->kernel_ns, most = sum;
        for (; next < count && is_elementwise(rows[next]); next++) {
            nl_sum_add(&sum, rows[next]->kernel_ns);
            most = rows[next]->kernel_ns > most ? rows[next]->kernel_ns : most;
        }
        nl_sum_add(&chains.all, sum);
        if (next - first < 2)
            continue;
        chains.count++;
        nl_sum_add(&chains.chained, sum);
        nl_sum_add(&chains.spare, sum - most);
        for (size_t i = first; i < next; i++) {
            nl_work_claim(rows[i], where);
            nl_example_slice(scene, longest, rows[i]->first);
        }
    }
    return chains;
}

static enum nl_verdict evaluate_names(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_kind_facts facts = nl_kind_facts(scene, NL_CATEGORY_ELEMENTWISE);
    int64_t busy = nl_kind_busy(scene);
    if (busy <= 0 || facts.count < MIN_KERNELS ||
        (double)facts.total_ns <= OF_BUSY * (double)busy ||
        facts.chained_ns < facts.total_ns / MIN_CHAINED_PART)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, facts.total_ns, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = facts.spare_ns / 2;
    finding->saving_ns[1] = facts.spare_ns;
    nl_kind_claim(scene, NL_CATEGORY_ELEMENTWISE, &finding->where);
    nl_title(scene, finding, "Elementwise kernels take %s of the busy time of %s: fuse them",
             nl_say_share(scene, (double)facts.total_ns / (double)busy), nl_scene_name(scene));
    nl_kind_tell(scene, finding, &facts, "elementwise", "> 25 % of busy time");
    return NL_CAUSE_FOUND;
}

static enum nl_verdict elementwise_not_fused_evaluate(struct nl_scene *scene,
                                                      struct nl_finding *finding)
{
    if (nl_work_lacks(scene, false) || scene->linked < MIN_LINKED)
        return evaluate_names(scene, finding);
    struct nl_evidence longest = {0};
    struct chains chains = find_chains(scene, &finding->where, &longest);
    if (nl_scene_share(scene, chains.spare) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, chains.spare, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Elementwise operators on %s are not fused: %s in %s chains",
             nl_scene_name(scene), nl_say_ns(scene, chains.chained),
             nl_say_count(scene, chains.count));
    longest.metric = "elementwise_chain_ns";
    longest.says = nl_say(scene, "%s in elementwise operators that follow each other directly",
                          nl_say_ns(scene, chains.chained));
    longest.threshold = "> 5 % of wall beyond the longest of each chain";
    longest.query =
        nl_say(scene,
               "SELECT sum(kernel_ns) FROM (SELECT kernel_ns, model, lag(model) OVER w AS before, "
               "lead(model) "
               "OVER w AS after FROM op_work%s WHERE op IS NOT NULL AND %s WINDOW w AS (ORDER BY "
               "ts, op)) WHERE "
               "model = 'elementwise' AND (before = 'elementwise' OR after = 'elementwise')",
               nl_scene_args(scene), nl_scene_place(scene, ""));
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)chains.chained;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "elementwise_ns",
                    .says = nl_say(scene,
                                   "of %s in all elementwise operators, a few operations per "
                                   "element read or written",
                                   nl_say_ns(scene, chains.all)),
                    .query = nl_work_sql(scene, "sum(kernel_ns)", "model = 'elementwise'"),
                    .meaning = NL_MEANS_NS,
                    .value = (double)chains.all});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_elementwise_not_fused = {
    .id = "elementwise_not_fused",
    .doc = "In chains of elementwise operators that follow each other on the device, everything "
           "but the longest kernel of each chain (one fused kernel reads and writes once) takes "
           "more than 5 % of wall. That is the cost; saving half to all of it. If shapes, or "
           "launches of more than 5 % of the work, are missing: elementwise kernels take more than "
           "25 % of busy time, in 100 kernels or more, of which a third by time directly follow "
           "another; saving half to all of the time beyond the longest of each run.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = elementwise_not_fused_evaluate,
    .not_this_if = "other kernels run between them (nothing to fuse), or a compiler has fused them "
                   "already (triton_poi, fusion)",
};

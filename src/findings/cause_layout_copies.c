/*
 * layout_copies — kernels that only move data: casts, contiguous copies, concatenation.
 *
 * Signal: operators of the family copy (copy_, cat, stack) take over 5 % of wall in kernels. Two
 * sides: their kernels' time, and the bytes that they move without computing anything.
 */
#include "findings/workcause.h"
#include "base/sum.h"

#define MIN_SHARE      0.05
#define CRITICAL_SHARE 0.20

static bool is_copy(const struct nl_op_work *work, struct nl_least_time least)
{
    (void)least;
    return work->family == WORK_COPY;
}

static enum nl_verdict layout_copies_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const char *lacks = nl_work_lacks(scene, false);
    if (lacks)
        return nl_abstain(finding, lacks);
    struct nl_evidence longest = {0};
    struct nl_work_sum sum = nl_work_add_up(scene, is_copy, &finding->where, &longest);
    if (nl_scene_share(scene, sum.ns) < MIN_SHARE || !(sum.bytes > 0))
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, sum.ns, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = sum.ns / 4;
    nl_title(scene, finding, "Casts and layout copies on %s take %s", nl_scene_name(scene),
             nl_say_ns(scene, sum.ns));
    longest.metric = "copy_operator_ns";
    longest.says = nl_say(scene, "%s in %s kernels of copies, casts and concatenations",
                          nl_say_ns(scene, sum.ns), nl_say_count(scene, sum.calls));
    longest.threshold = "> 5 % of wall";
    longest.query = nl_work_sql(scene, "sum(kernel_ns)", "model = 'copy'");
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)sum.ns;
    nl_evidence(finding, longest);
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "copy_operator_bytes",
                             .says = nl_say(scene, "they read and write %s and compute nothing",
                                            nl_say_bytes(scene, nl_whole_u64(sum.bytes))),
                             .query = nl_work_sql(scene, "sum(bytes)", "model = 'copy'"),
                             .meaning = NL_MEANS_BYTES,
                             .value = (double)nl_whole_u64(sum.bytes)});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_layout_copies = {
    .id = "layout_copies",
    .doc = "Kernels of operators that only move data (copy_, including casts and contiguous "
           "copies, cat, stack) take more than 5 % of wall. Cost: their time; saving a quarter to "
           "all of it. Needs shapes.",
    .needs = {{NL_T_op, "shapes"}},
    .need_count = 1,
    .evaluate = layout_copies_evaluate,
    .not_this_if = "the copies are the program's purpose (filling a cache, assembling a batch)",
};

/*
 * d2d_copy_or_cast_excess — kernels that only copy, cast or change layout take
 * much of the device's time.
 *
 * Signal: kernels of the category copy_like (direct_copy, transposes, layout changes,
 * concatenation) have over 10 % of busy time; critical over 30 % (book of causes, entry 25). They
 * can go as far as types and layouts can be kept: at most all of them, at least a third.
 */
#include "findings/kernelkinds.h"

#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.30
#define MIN_KERNELS    20 /* kernels: fewer are no pattern */

static enum nl_verdict d2d_copy_or_cast_excess_evaluate(struct nl_scene *scene,
                                                        struct nl_finding *finding)
{
    struct nl_kind_facts facts = nl_kind_facts(scene, NL_CATEGORY_COPY_LIKE);
    int64_t busy = nl_kind_busy(scene);
    if (busy <= 0 || facts.count < MIN_KERNELS ||
        (double)facts.total_ns <= WARN_SHARE * (double)busy)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, facts.total_ns, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = facts.total_ns / 3;
    finding->saving_ns[1] = facts.total_ns;
    nl_title(scene, finding, "Casts, copies and layout changes take %s of the busy time of %s",
             nl_say_share(scene, (double)facts.total_ns / (double)busy), nl_scene_name(scene));
    nl_kind_claim(scene, NL_CATEGORY_COPY_LIKE, &finding->where);
    nl_kind_tell(scene, finding, &facts, "copy_like", "> 10 % of busy time");
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_d2d_copy_or_cast_excess = {
    .id = "d2d_copy_or_cast_excess",
    .doc = "Kernels that only copy, cast or change the layout (category copy_like) take more than "
           "10 % of the device's busy time, in 20 kernels or more.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = d2d_copy_or_cast_excess_evaluate,
    .not_this_if = "the copies are the purpose (gathers from a cache, concatenation of results)",
};

/*
 * non_fused_elementwise — elementwise kernels take much of the device's time, each reading and writing memory.
 *
 * Signal: kernels of the category elementwise have over 25 % of busy time and are short (average under 30 µs) or many
 * (100 and more); critical over 50 % (book of causes, entry 27). One that stands alone between
 * other kernels has nothing to be fused with: a third of their time follows another one directly. A chain of n that is
 * fused reads and writes once: at most half of their time is promised.
 */
#include "findings/kernelkinds.h"

#define WARN_SHARE     0.25
#define CRITICAL_SHARE 0.50
#define MANY           100
#define CHAINED        3 /* at least the third part of their time follows another one directly */

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_kind_facts facts = nl_kind_facts(scene, NL_CATEGORY_ELEMENTWISE);
    int64_t busy = nl_kind_busy(scene);
    if (busy <= 0 || facts.count < MANY || (double)facts.total_ns <= WARN_SHARE * (double)busy ||
        facts.chained_ns < facts.total_ns / CHAINED)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, facts.total_ns, WARN_SHARE / 2, CRITICAL_SHARE, 1);
    finding->saving_ns[0] = facts.total_ns / 5;
    finding->saving_ns[1] = facts.total_ns / 2;
    nl_title(scene, finding, "Elementwise kernels take %s of the busy time of %s: fuse them",
             nl_say_share(scene, (double)facts.total_ns / (double)busy), nl_scene_name(scene));
    nl_kind_tell(scene, finding, &facts, "elementwise", "> 25 % of busy time");
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_non_fused_elementwise = {
    .id = "non_fused_elementwise",
    .doc = "Elementwise kernels have over 25 % of the device's busy time, in 100 kernels or more, "
           "of which a third by time follow another directly; "
           "critical over 50 %. Fused, "
           "a chain of them reads and writes memory once.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = evaluate,
    .not_this_if = "the kernels are fused already (names of compilers: triton_poi, fusion), or "
                   "each is a program's whole work",
};

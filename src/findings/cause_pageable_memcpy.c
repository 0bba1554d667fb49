/*
 * pageable_memcpy — copies from or to ordinary (pageable) host memory.
 *
 * They go through a staging buffer and block the CPU (CUDA runtime API, "API synchronization
 * behavior"). Signal: kind of memory as recorded; ranked by exposed time, not by count: pageable
 * copies were present in 9 of 22 public traces and cost over 5 % in one.
 * Warning over 1 % of wall exposed (nsys expert rule cuda_memcpy_async).
 */
#include "findings/copycause.h"

#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.10

static bool is_upload(const struct nl_trace *trace, uint32_t copy)
{
    return nl_copy_is_pageable(trace, copy) && nl_copy_is_htod(trace, copy);
}

static enum nl_verdict pageable_memcpy_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t exposed = nl_scene_exposed(scene, nl_copy_is_pageable, &finding->where);
    if (nl_scene_share(scene, exposed) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    struct nl_copy_sums sums = nl_copy_sum(scene, nl_copy_is_pageable);
    double rate = sums.timed_ns ? (double)sums.bytes * 1e9 / (double)sums.timed_ns : 0;
    const char *pageable =
        "kind IN ('HtoD', 'DtoH') AND (src_memory = 'pageable' OR dst_memory = 'pageable')";
    nl_find(scene, finding, exposed, CRITICAL_SHARE, 1);
    const char *once = nl_copy_promise(scene, finding, nl_copy_once(scene, nl_copy_is_pageable));
    if (*once)
        finding->remedies = 2 * nl_copy_once(scene, is_upload) > exposed
                                ? "h2d_in_critical_path:once"
                                : "d2h_in_critical_path:once";
    nl_title(scene, finding, "Copies from pageable memory hold up %s for %s%s",
             nl_scene_name(scene), nl_say_ns(scene, exposed), once);
    struct nl_evidence *evidence = nl_evidence(
        finding,
        (struct nl_evidence){.metric = "exposed_pageable_ns",
                             .says = nl_say(scene,
                                            "%s (%s of the time) pass with pageable copies and "
                                            "nothing else running",
                                            nl_say_ns(scene, exposed),
                                            nl_say_share(scene, finding->cost_share)),
                             .threshold = "> 1 % of wall",
                             .query = nl_scene_exposed_sql(scene, pageable),
                             .meaning = NL_MEANS_NS,
                             .value = (double)exposed});
    for (size_t i = 0; i < scene->copy_count; i++)
        if (nl_copy_is_pageable(scene->trace, scene->copies[i]))
            nl_example_slice(scene, evidence, scene->trace->copy.slice[scene->copies[i]]);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "pageable_bytes",
                    .says = nl_say(scene, "%s in %s pageable copies, at %s",
                                   nl_say_bytes(scene, sums.bytes), nl_say_count(scene, sums.count),
                                   nl_say_rate(scene, rate)),
                    .query = nl_say(scene, "SELECT sum(bytes) FROM copies WHERE %s AND %s",
                                    pageable, nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_BYTES,
                    .value = (double)sums.bytes});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_pageable_memcpy = {
    .id = "pageable_memcpy",
    .doc = "Host-device copies with pageable host memory: the time that is not overlapped. Warning "
           "over 1 % of wall. If most of it is in start-up, that part is paid once and not counted "
           "as a saving.",
    .needs = {{NL_T_copy, NULL}, {NL_T_copy, "src_memory"}},
    .need_count = 2,
    .evaluate = pageable_memcpy_evaluate,
    .not_this_if =
        "the copies are from pinned memory (kind of memory as recorded), or few and tiny",
};

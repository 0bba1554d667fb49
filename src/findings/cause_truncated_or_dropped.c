/*
 * truncated_or_dropped — the recording lacks what other judgements rest on.
 *
 * Signal: device work whose launch is not in the recording, over 1 %, or input that was cut short.
 * About the measurement: costs nothing, lowers the confidence of causes that need what is missing.
 */
#include "findings/cause.h"
#include "timeline/foreigncalls.h"

#define MAX_UNLINKED 0.05

/* Some tools leave out what joins work to its launch; then nothing was dropped. */
static bool tells_launches(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->kernel_count; i++)
        if (trace->kernel.correlation[scene->kernels[i]] != NL_NULL_U64)
            return true;
    return !scene->kernel_count || scene->linked > 0;
}

static enum nl_verdict truncated_or_dropped_evaluate(struct nl_scene *scene,
                                                     struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    double missing = 1 - scene->linked;
    bool many = scene->linked < 1 - MAX_UNLINKED; /* 1 - 0.95 is over 0.05 */
    bool cut = nl_trace_is_cut(trace);
    if (!cut && (!trace->api.rows || nl_calls_are_foreign(trace)))
        return nl_abstain(finding, "no calls were recorded");
    if (!cut && !tells_launches(scene))
        return nl_abstain(finding, "the file does not say which call launched which kernel");
    if (!many && !cut)
        return NL_CAUSE_ABSENT;
    finding->validity = true;
    finding->severity = NL_SEVERITY_WARNING;
    finding->confidence = 1;
    int64_t unknown = scene->device->class_ns[NL_IDLE_UNKNOWN];
    nl_title(
        scene, finding,
        many ? "The recording is incomplete: %s of the work on %s has no launch"
             : "The recording is incomplete: it was cut short (%s of the work on %s has no launch)",
        nl_say_share(scene, missing), nl_scene_name(scene));
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "unlinked_share",
                    .says = nl_say(scene,
                                   "%s of %s kernels and copies were launched by a call that is "
                                   "not in the recording (before it began, or dropped)",
                                   nl_say_share(scene, missing),
                                   nl_say_count(scene, scene->kernel_count + scene->copy_count)),
                    .threshold = "> 5 % of device work",
                    .query = nl_say(scene,
                                    "SELECT avg(launch IS NULL) FROM (SELECT launch FROM kernels "
                                    "WHERE %s UNION ALL SELECT launch FROM copies WHERE %s)",
                                    nl_scene_on(scene, ""), nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_SHARE,
                    .value = missing});
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "idle_unknown_ns",
                    .says = nl_say(scene, "%s of idle time cannot be explained because of it",
                                   nl_say_ns(scene, unknown)),
                    .query = nl_say(scene,
                                    "SELECT coalesce(sum(total_ns), 0) FROM idle_causes%s WHERE "
                                    "class = 'unknown' AND %s",
                                    nl_scene_args(scene), nl_scene_place(scene, "")),
                    .meaning = NL_MEANS_NS,
                    .value = (double)unknown});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_truncated_or_dropped = {
    .id = "truncated_or_dropped",
    .doc = "About the recording, not the program: more than 5 % of a device's kernels and copies "
           "have no recorded launch, or the input is cut short. It has no cost of its own, but the "
           "more is missing, the less certain are the causes about dispatch and launches.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = truncated_or_dropped_evaluate,
    .not_this_if =
        "the profiler does not record launches at all (then causes that need them abstain)",
};

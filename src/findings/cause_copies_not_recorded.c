/*
 * copies_not_recorded — the recording has calls that copy, and not one copy: time that looks idle
 * next to them may be copying.
 *
 * Signal: calls that copy (hipMemcpy…, cudaMemcpy…), no row of copies on any device, and over 1
 * % of wall idle while the launching thread is inside such a call. On AMD kernels copy, too
 * (__amd_rocclr_copyBuffer): where they are as many as the calls, these are the copies. About
 * the measurement: costs nothing. rocprofv3 --kernel-trace --hip-trace without
 * --memory-copy-trace records so.
 */
#include "findings/bookcause.h"
#include "base/sum.h"

#define MIN_SHARE 0.01
#define MIN_IDLE  0.10

static bool is_copying(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->part == NL_BOOKED_IDLE && row->inside && row->activity == NL_ACTIVITY_COPY;
}

static enum nl_verdict judge_kernels(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t idle = scene->parts->idle_ns;
    if (nl_scene_share(scene, idle) <= MIN_IDLE || scene->parts->starts_unknown ||
        nl_scene_was_counted(scene)) /* counting runs kernels one by one: the pauses are its own */
        return NL_CAUSE_ABSENT;
    finding->validity = true;
    finding->severity = NL_SEVERITY_WARNING;
    finding->confidence = 1;
    nl_title(
        scene, finding,
        "Only kernels were recorded: whether %s copies or idles in %s between them is not known",
        nl_scene_name(scene), nl_say_ns(scene, idle));
    nl_prove(
        scene, finding,
        (struct nl_evidence){.metric = "unknown_ns",
                             .threshold = "> 10 % of wall",
                             .query = nl_say(scene, "SELECT idle_ns FROM time_breakdown%s WHERE %s",
                                             nl_scene_args(scene), nl_scene_place(scene, "")),
                             .meaning = NL_MEANS_NS,
                             .value = (double)idle},
        "%s without a kernel between the first and the last", nl_say_ns(scene, idle));
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "copies_and_calls",
                 .query = "SELECT (SELECT count(*) FROM copies) + (SELECT count(*) FROM api)",
                 .meaning = NL_MEANS_COUNT,
                 .value = 0},
             "no copy and no call was recorded");
    return NL_CAUSE_FOUND;
}

static enum nl_verdict copies_not_recorded_evaluate(struct nl_scene *scene,
                                                    struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint64_t calls = 0, copied = 0;
    if (trace->copy.rows || trace->graph.rows)
        return NL_CAUSE_ABSENT;
    if (nl_scene_only_kernels(scene))
        return judge_kernels(scene, finding);
    for (uint32_t row = 0; row < trace->api.rows; row++)
        calls += nl_api_slice_role(scene->roles, trace, trace->api.slice[row]) == NL_API_COPY;
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        copied += trace->kernel.class[row] == NL_CLASS_COPY;
    if (copied >= calls) /* or nothing copies */
        return NL_CAUSE_ABSENT;
    struct nl_booked idle = nl_booked_sum(scene, is_copying);
    if (nl_scene_share(scene, idle.ns) <= MIN_SHARE)
        return NL_CAUSE_ABSENT;
    finding->validity = true;
    finding->severity = NL_SEVERITY_WARNING;
    finding->confidence = 1;
    nl_title(scene, finding,
             "Copies were not recorded: %s of what looks idle on %s passes inside calls that copy",
             nl_say_ns(scene, idle.ns), nl_scene_name(scene));
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "copy_calls_idle_ns",
                 .threshold = "> 1 % of wall",
                 .query = nl_booked_sql(scene, "sum(ns)",
                                        "part = 'idle' AND inside = 1 AND kind = 'copy call'"),
                 .meaning = NL_MEANS_NS,
                 .value = (double)idle.ns},
             "%s in which the device has no recorded work and the CPU is inside a call that copies",
             nl_say_ns(scene, idle.ns));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "copy_calls",
                                  .query = "SELECT count(*) FROM api WHERE api_role(name) = 'copy'",
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)calls},
             copied ? "%s calls copy, and the recording has only the copies that kernels make"
                    : "%s calls copy, and the recording has no copy",
             nl_say_count(scene, calls));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_copies_not_recorded = {
    .id = "copies_not_recorded",
    .doc = "About the recording, not the program: calls that copy were recorded, but neither "
           "copies nor as many copying kernels, and the device is idle for more than 1 % of wall "
           "while the launching thread is inside such a call; or a ROCm tool recorded kernels "
           "only, and more than 10 % of wall is idle. It has no cost of its own: what the device "
           "did in that time is unknown.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = copies_not_recorded_evaluate,
    .not_this_if = "copies were recorded (then their time does not count as idle), or the program "
                   "copies nothing",
};

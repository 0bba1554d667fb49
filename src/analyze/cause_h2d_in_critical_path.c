/*
 * h2d_in_critical_path — data that the device waits for.
 *
 * Signal: |HtoD copies \ (compute ∪ communication)| / wall > 5 % (TraceLens GPUEventAnalyser,
 * nsys-ai book of root causes), critical over 20 % (XProf input-pipeline analyser: infeed 5 / 20 %).
 */
#include "analyze/copycause.h"

static enum nl_verdict evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    return nl_copy_in_critical_path(scene, finding, "HtoD", nl_copy_is_htod);
}

const struct nl_cause nl_cause_h2d_in_critical_path = {
    .id = "h2d_in_critical_path",
    .doc = "Time with host-to-device copies and neither computation nor communication on the "
           "device. Warning over 5 % of wall (TraceLens, nsys-ai), critical over 20 % (XProf).",
    .needs = {{NL_T_copy, NULL}, {NL_T_copy, "kind"}},
    .need_count = 2,
    .evaluate = evaluate,
    .not_this_if = "copies run beside kernels (hidden time is not counted), or the copies are few "
                   "and tiny (cost under 0.5 % of wall)",
    .suggestions = {
        {"Keep the data on the device: load weights or batches once instead of in every step, and "
         "look whether CPU offload (FSDP CPUOffload, accelerate device_map, DeepSpeed offload) is "
         "really needed",
         "bytes that are not copied cost nothing; this beats any overlap",
         "neurolens sql PROFILE \"SELECT sum(bytes) FROM copies WHERE kind = 'HtoD'\""},
        {"Copy ahead on a side stream: issue the next batch's or layer's copy (pinned memory, "
         "non_blocking=True) before the current one computes, with an event between them",
         "copies and kernels use different engines and can run at the same time",
         "neurolens analyze PROFILE: exposed copies shrink, copied bytes stay"},
        {"Copy fewer bytes: send uint8 or bf16 and convert on the device, decode or augment on the "
         "GPU, batch small copies",
         "the link's rate is the limit here, so half the bytes take half the time",
         "neurolens analyze BEFORE, then AFTER: the step or wall is shorter"},
        {0}}};

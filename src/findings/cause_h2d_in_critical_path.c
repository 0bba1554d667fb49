/*
 * h2d_in_critical_path — data that the device waits for.
 *
 * Signal: |HtoD copies \ (compute ∪ communication)| / wall > 5 % (TraceLens
 * GPUEventAnalyser, nsys-ai book of root causes), critical over 20 % (XProf input-pipeline
 * analyser: infeed 5 / 20 %).
 */
#include "findings/copycause.h"

static enum nl_verdict h2d_in_critical_path_evaluate(struct nl_scene *scene,
                                                     struct nl_finding *finding)
{
    return nl_copy_in_critical_path(scene, finding, "HtoD", nl_copy_is_htod);
}

const struct nl_cause nl_cause_h2d_in_critical_path = {
    .id = "h2d_in_critical_path",
    .doc = "Time with host-to-device copies while neither computation nor communication runs on "
           "the device. Warning over 5 % of wall (TraceLens, nsys-ai). If most of it is in "
           "start-up, that part is paid once and not counted as a saving.",
    .needs = {{NL_T_copy, NULL}, {NL_T_copy, "kind"}},
    .need_count = 2,
    .evaluate = h2d_in_critical_path_evaluate,
    .not_this_if = "the copies run beside kernels (overlapped time does not count), or they are "
                   "few and tiny (cost under 0.5 % of wall)",
};

/*
 * d2h_in_critical_path — results that are fetched while the device waits.
 *
 * Signal: |DtoH copies \ (compute ∪ communication)| / wall > 5 % (the mirror of
 * h2d_in_critical_path; thresholds of TraceLens and XProf).
 */
#include "findings/copycause.h"

static enum nl_verdict d2h_in_critical_path_evaluate(struct nl_scene *scene,
                                                     struct nl_finding *finding)
{
    return nl_copy_in_critical_path(scene, finding, "DtoH", nl_copy_is_dtoh);
}

const struct nl_cause nl_cause_d2h_in_critical_path = {
    .id = "d2h_in_critical_path",
    .doc = "Time with device-to-host copies while neither computation nor communication runs on "
           "the device. Warning over 5 % of wall. If most of it is in start-up, that part is paid "
           "once and not counted as a saving.",
    .needs = {{NL_T_copy, NULL}, {NL_T_copy, "kind"}},
    .need_count = 2,
    .evaluate = d2h_in_critical_path_evaluate,
    .not_this_if = "the copies run beside kernels (overlapped time does not count)",
};

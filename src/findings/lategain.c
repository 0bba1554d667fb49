/* lategain — see lategain.h. */
#include "findings/lategain.h"

#include "base/sum.h"
#include "findings/bound.h"

/* What the program gains, and what of it the others wait now. */
static int64_t find_gain(const struct nl_scenes *scenes, const struct nl_account *account,
                         const int64_t *savings, int64_t *shared)
{
    const struct nl_account_late *late = &scenes->late;
    int64_t gain = INT64_MAX, least = INT64_MAX;
    for (size_t i = 0; i < scenes->count; i++) {
        const struct nl_account_device *device = nl_scene_account(account, &scenes->items[i]);
        size_t at = device ? (size_t)(device - account->devices) : SIZE_MAX;
        int64_t most = savings[i];
        least = most < least ? most : least;
        if (device && at != late->device)
            nl_sum_add(&most, nl_account_late_wait(account, NL_PHASES, late->member, at));
        gain = most < gain ? most : gain;
    }
    *shared = gain - least;
    return gain;
}

void nl_late_cap(struct nl_finding *finding, enum nl_cause_saves saves,
                 const struct nl_scenes *scenes, const struct nl_account *account,
                 const int64_t *savings)
{
    if (!scenes->late.others || finding->saving_ns[1] <= 0)
        return;
    if (saves != NL_SAVES_DEVICE) {
        if (saves == NL_SAVES_WAITS)
            finding->shared_ns = finding->saving_ns[1];
        return;
    }
    int64_t gain = find_gain(scenes, account, savings, &finding->shared_ns);
    finding->alone_ns = finding->saving_ns[1];
    for (size_t end = 0; end < 2; end++)
        finding->saving_ns[end] = finding->saving_ns[end] < gain ? finding->saving_ns[end] : gain;
    if (finding->shared_ns > finding->saving_ns[1])
        finding->shared_ns = finding->saving_ns[1];
}

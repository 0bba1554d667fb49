/* bound — see bound.h. One row per cause; those that are not listed are about computing. */
#include "findings/bound.h"

#include <string.h>

#include "base/sum.h"
#include "findings/bookcause.h"
#include "tables/memo.h"
#include "timeline/hostbusy.h"

/* Parts of the device's time that a change can take away at most. */
enum part { PART_IDLE, PART_COPIES, PART_COMM, PART_COMPUTE };

static const struct {
    const char *cause;
    enum part part;
    bool keeps_cpu; /* the CPU has as much to do afterwards */
} rows[] = {
    {"h2d_in_critical_path", PART_COPIES, true},
    {"d2h_in_critical_path", PART_COPIES, true},
    {"exposed_communication", PART_COMM, true},
    {"comm_on_compute_stream", PART_COMM, true},
    {"sync_calls", PART_IDLE, true},
    {"cpu_dispatch_overhead", PART_IDLE, false},
    {"launch_bound_small_kernels", PART_IDLE, false},
    {"cuda_graph_absent", PART_IDLE, false},
    {"allocator_churn", PART_IDLE, false},
    {"jit_compile_in_loop", PART_IDLE, false},
    {"launch_api_slow", PART_IDLE, false},
    {"launch_latency_gap", PART_IDLE, true},
    {"gpu_idle", PART_IDLE, false},
    {"dataloader_stall", PART_IDLE, false},
};

static int64_t part_ns(const struct nl_scene *scene, enum part part)
{
    switch (part) {
    case PART_IDLE: return scene->parts->idle_ns;
    case PART_COPIES: return scene->parts->exposed_copy_ns;
    /* Who waits for a late rank waits elsewhere where the collective is hidden. */
    case PART_COMM: return scene->parts->exposed_comm_ns - nl_booked_late(scene);
    case PART_COMPUTE: break;
    }
    return scene->wall_ns;
}

static int64_t cpu_busy(struct nl_scene *scene, const struct nl_account_device *device)
{
    int64_t start = scene->parts->start_ns, end = start;
    nl_sum_add(&end, scene->wall_ns);
    pthread_mutex_lock(&scene->locks->kept);
    if (scene->cpu_busy == NL_NULL_I64)
        scene->cpu_busy = nl_host_busy(scene->trace, scene->roles, device->feeder, start, end);
    pthread_mutex_unlock(&scene->locks->kept);
    return scene->cpu_busy;
}

const struct nl_account_device *nl_scene_account(const struct nl_account *account,
                                                 const struct nl_scene *scene)
{
    for (size_t i = 0; i < account->device_count; i++)
        if (account->devices[i].device == scene->device->device &&
            account->devices[i].rank == scene->device->rank &&
            account->devices[i].ordinal == scene->device->ordinal)
            return &account->devices[i];
    return NULL;
}

void nl_bound_saving(struct nl_finding *finding, struct nl_scene *scene,
                     const struct nl_account *account)
{
    const struct nl_account_device *device = nl_scene_account(account, scene);
    size_t i = 0;
    while (i < sizeof rows / sizeof rows[0] && strcmp(rows[i].cause, finding->cause) != 0)
        i++;
    if (i == sizeof rows / sizeof rows[0] || !device || scene->parts->starts_unknown)
        return;
    int64_t most = part_ns(scene, rows[i].part);
    if (rows[i].keeps_cpu && finding->saving_ns[1] > 0) {
        int64_t rest = scene->wall_ns - cpu_busy(scene, device);
        most = rest < most ? rest : most;
    }
    for (size_t end = 0; end < 2; end++)
        if (finding->saving_ns[end] > most)
            finding->saving_ns[end] = most > 0 ? most : 0;
}

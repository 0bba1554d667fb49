/* A machine's GPUs as `top` keeps them; processes and the system are in machineproc.c. */
#include "capture/recorder/machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "capture/shared/ticks.h"

#define VALUES_PER_TAKE 512u

struct machine *machine_start(const char *root)
{
    struct machine *machine = nl_zalloc(sizeof *machine);
    (void)snprintf(machine->root, sizeof machine->root, "%s", root);
    machine->watch = gpuwatch_start(root, NL_REC_CLOCK_MONOTONIC);
    return machine;
}

static void read_gpus(struct machine *machine)
{
    struct gpu_value values[VALUES_PER_TAKE];
    size_t count;
    gpuwatch_state(machine->watch, &machine->gpu_state);
    if (!machine->gpu_state.opened)
        return;
    if (!machine->gpus) {
        machine->gpu_count = machine->gpu_state.devices;
        machine->gpus = nl_zalloc((machine->gpu_count + 1) * sizeof *machine->gpus);
    }
    for (unsigned i = 0; i < machine->gpu_count; i++)
        gpuwatch_info(machine->watch, i, &machine->gpus[i].info, &machine->gpus[i].absent);
    while ((count = gpuwatch_take(machine->watch, values, VALUES_PER_TAKE)) > 0)
        for (size_t i = 0; i < count; i++)
            (void)gpu_latest_see(&machine->gpus[values[i].device].latest, values[i].metric,
                                 values[i].value);
}

static float share(const struct gpu_latest *latest, enum gpu_metric part, enum gpu_metric whole)
{
    double most = gpu_latest(latest, whole);
    if (!(latest->have & GPU_BIT(part)) || most <= 0)
        return -1;
    return (float)(latest->value[part] / most);
}

static void keep_history(struct machine *machine)
{
    size_t at = machine->refreshes % MACHINE_HISTORY;
    const struct machine_system *system = &machine->system;
    machine->busy_history[at] = system->busy < 0 || system->processors <= 0
                                    ? -1
                                    : (float)(system->busy / system->processors);
    for (unsigned i = 0; i < machine->gpu_count; i++) {
        struct machine_gpu *gpu = &machine->gpus[i];
        const struct gpu_latest *latest = &gpu->latest;
        gpu->history[PLOT_UTILISATION][at] = latest->have & GPU_BIT(GPU_UTILISATION)
                                                 ? (float)(latest->value[GPU_UTILISATION] / 100)
                                                 : -1;
        gpu->history[PLOT_MEMORY][at] = share(latest, GPU_MEMORY_USED, GPU_MEMORY_TOTAL);
        gpu->history[PLOT_POWER][at] = share(latest, GPU_POWER, GPU_POWER_LIMIT);
    }
}

void machine_refresh(struct machine *machine)
{
    machine->last_ns = machine->now_ns;
    machine->now_ns = ticks_clock_ns(CLOCK_MONOTONIC);
    read_gpus(machine);
    machine_read_system(machine);
    machine_read_processes(machine);
    keep_history(machine);
    machine->refreshes++;
}

static bool is_settled(struct machine *machine)
{
    struct gpu_process list[GPU_MAX_PROCESSES];
    uint64_t all = GPU_BIT(GPU_METRICS) - 1, rounds;
    read_gpus(machine);
    if (!machine->gpu_state.opened)
        return false;
    for (unsigned i = 0; i < machine->gpu_count; i++) {
        const struct machine_gpu *gpu = &machine->gpus[i];
        (void)gpuwatch_processes(machine->watch, i, list, &rounds);
        if ((gpu->latest.have | gpu->absent) != all)
            return false;
    }
    return true;
}

void machine_settle(struct machine *machine, int64_t patience_ns)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    int64_t until = ticks_clock_ns(CLOCK_MONOTONIC) + patience_ns;
    while (!is_settled(machine) && ticks_clock_ns(CLOCK_MONOTONIC) < until)
        (void)nanosleep(&pause, NULL);
}

void machine_stop(struct machine *machine)
{
    gpuwatch_stop(machine->watch, NULL);
    nl_free(machine->gpus);
    nl_free(machine->processes);
    for (unsigned i = 0; i < machine->folder_count; i++)
        nl_free(machine->folders[i]);
    nl_free(machine);
}

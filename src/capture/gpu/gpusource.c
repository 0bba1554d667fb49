/*
 * GPUs as their drivers show them, read in parallel with the program by the thread of gpuwatch.
 * Values of a device go to the recording of the first process there is, on a lane of the device;
 * the memory that a process has on GPUs goes to its own. What crosses a threshold becomes a mark
 * there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capture/shared/control.h"
#include "capture/recorder/gpualerts.h"
#include "capture/recorder/gpuwatch.h"
#include "capture/recorder/source.h"
#include "capture/shared/ticks.h"
#include "capture/recorder/partvalues.h"

#define VALUES_PER_TAKE 512u

struct gpus {
    struct gpuwatch *watch;
    struct gpu_latest latest[GPU_MAX_DEVICES];
    struct gpu_info info[GPU_MAX_DEVICES];
    uint64_t lists[GPU_MAX_DEVICES]; /* readings of the processes already recorded */
    unsigned known;                  /* devices whose info is there */
    int64_t begun_ns;                /* samples from before are not of the recording */
    uint64_t homeless;               /* values that came while no process was recorded */
    uint32_t moves;                  /* of the window, as of the last poll */
    uint64_t drops, drops_seen;      /* of the ring: while the window was open; in all */
};

static bool start(struct source_run *run)
{
    const char *root = getenv("NEUROLENS_ROOT");
    struct gpus *gpus = run->state = nl_zalloc(sizeof *gpus);
    gpus->begun_ns = ticks_clock_ns(CLOCK_MONOTONIC);
    gpus->watch = gpuwatch_start(root ? root : "", parts_control(run->parts)->clock);
    return true;
}

static struct part_device device_of(const struct gpus *gpus, unsigned number)
{
    const struct gpu_info *info = &gpus->info[number];
    return (struct part_device){number, info->name, info->uuid, info->bus, info->vendor};
}

static void record(struct source_run *run, struct part *part, const struct gpu_value *value)
{
    struct gpus *gpus = run->state;
    const struct gpu_metric_row *row = &gpu_metrics[value->metric];
    /* What drivers sample comes later than it was. */
    if (value->ns < gpus->begun_ns || !control_was_open(parts_control(run->parts), value->ns))
        return;
    struct part_device device = device_of(gpus, value->device);
    part_device_counter(part, &device, value->time, row->name, row->unit, value->value);
    uint32_t crossed = gpu_latest_see(&gpus->latest[value->device], value->metric, value->value);
    for (unsigned i = 0; i < ALERT_ROWS; i++)
        if (crossed >> i & 1u)
            part_alert(part, &device, value->time, alert_rows[i].text, value->value);
}

static void take_values(struct source_run *run, struct part *part)
{
    struct gpus *gpus = run->state;
    struct gpu_value values[VALUES_PER_TAKE];
    size_t count;
    while ((count = gpuwatch_take(gpus->watch, values, VALUES_PER_TAKE)) > 0) {
        if (!part)
            gpus->homeless += count;
        for (size_t i = 0; part && i < count; i++)
            record(run, part, &values[i]);
    }
}

/* Memory of the recorded processes, of all GPUs together as each was last read; reported when any
 * was read anew. */
static void take_processes(struct source_run *run, unsigned devices)
{
    struct gpus *gpus = run->state;
    struct gpu_process list[GPU_MAX_PROCESSES];
    uint64_t rounds = 0;
    size_t parts;
    struct part *part = parts_first(run->parts, &parts);
    uint64_t *sums = nl_zalloc((parts + 1) * sizeof *sums);
    bool fresh = false;
    for (unsigned d = 0; d < devices; d++) {
        size_t count = gpuwatch_processes(gpus->watch, d, list, &rounds);
        fresh = fresh || rounds != gpus->lists[d];
        gpus->lists[d] = rounds;
        for (size_t i = 0; i < count; i++)
            for (size_t p = 0; p < parts; p++)
                if (part[p].pid == list[i].pid && list[i].bytes != UINT64_MAX)
                    sums[p] += list[i].bytes;
    }
    for (size_t p = 0; fresh && p < parts; p++)
        if (sums[p])
            part_counter(run->parts, &part[p], 0, "GPU memory of the process", "bytes",
                         (double)sums[p]);
    nl_free(sums);
}

/* Sources are not polled while the window is closed: what was read meanwhile
 * is not of the recording. */
static void heed_window(struct source_run *run, const struct gpuwatch_state *state)
{
    struct gpus *gpus = run->state;
    struct gpu_value values[VALUES_PER_TAKE];
    uint32_t moves = __atomic_load_n(&parts_control(run->parts)->gate_changes, __ATOMIC_RELAXED);
    if (moves == gpus->moves)
        gpus->drops += state->losses.dropped - gpus->drops_seen;
    else
        while (gpuwatch_take(gpus->watch, values, VALUES_PER_TAKE) > 0)
            ;
    gpus->moves = moves;
    gpus->drops_seen = state->losses.dropped;
}

static void poll_gpus(struct source_run *run)
{
    struct gpus *gpus = run->state;
    struct gpuwatch_state state;
    uint64_t absent;
    size_t parts;
    struct part *part = parts_first(run->parts, &parts);
    gpuwatch_state(gpus->watch, &state);
    if (!state.opened)
        return;
    heed_window(run, &state);
    for (; gpus->known < state.devices; gpus->known++)
        gpuwatch_info(gpus->watch, gpus->known, &gpus->info[gpus->known], &absent);
    take_values(run, parts ? part : NULL);
    if (state.devices)
        take_processes(run, state.devices);
}

static void note_in_parts(struct source_run *run, struct part *part, const char *item,
                          uint64_t count, const char *detail)
{
    run->lost += count;
    if (part && count)
        part_note(run->parts, part, item, count, detail);
}

/* What the devices do not have, by name; once per device. */
static void tell_absent(struct source_run *run, struct part *part, unsigned devices)
{
    const struct gpus *gpus = run->state;
    for (unsigned d = 0; d < devices && part; d++) {
        char text[1024];
        struct gpu_info info;
        uint64_t absent, count = 0;
        gpuwatch_info(gpus->watch, d, &info, &absent);
        int at = snprintf(text, sizeof text, "GPU %u:", d);
        for (unsigned i = 0; i < GPU_METRICS && at > 0 && (size_t)at < sizeof text; i++)
            if (absent >> i & 1u) {
                at += snprintf(text + at, sizeof text - (size_t)at, "%s %s", count ? "," : "",
                               gpu_metrics[i].name);
                count++;
            }
        if (count)
            part_note(run->parts, part, "GPU values that the device or its driver does not have",
                      count, text);
    }
}

static void stop(struct source_run *run)
{
    struct gpus *gpus = run->state;
    struct gpuwatch_state state;
    size_t parts;
    struct part *part = parts_first(run->parts, &parts);
    part = parts ? part : NULL;
    if (__atomic_load_n(&parts_control(run->parts)->gate, __ATOMIC_RELAXED))
        poll_gpus(run);
    gpuwatch_state(gpus->watch, &state);
    if (state.opened)
        tell_absent(run, part, state.devices);
    gpuwatch_stop(gpus->watch, &state);
    if (!state.devices) {
        run->available = false;
        (void)snprintf(run->why, sizeof run->why, "%s",
                       state.opened ? state.why : "the driver had not answered when the run ended");
    }
    const struct gpu_losses *losses = &state.losses;
    note_in_parts(run, part, "dropped: GPU values", gpus->drops, "read faster than recorded");
    if (part && gpus->homeless)
        part_note(run->parts, part, "skipped: GPU values while no process was recorded",
                  gpus->homeless, NULL);
    note_in_parts(run, part, "lost: GPU readings", losses->missed,
                  "a call of the driver took longer than the 100 ms between readings");
    note_in_parts(run, part, "lost: calls of the GPU driver that failed", losses->errors,
                  "made again a second later");
    note_in_parts(run, part, "lost: processes on GPUs", losses->unlisted, "more than are listed");
    note_in_parts(run, part, "lost: samples of the GPU driver", losses->unsampled,
                  "their times cannot be, the clock was set, or there were more than fit");
    note_in_parts(run, part, "lost: calls of the GPU driver that never came back", losses->hung,
                  NULL);
    if (part && losses->slow)
        part_note(run->parts, part, "slow calls of the GPU driver", losses->slow,
                  "over 50 ms; made less often then");
    nl_free(gpus);
}

const struct nl_source nl_source_gpus = {
    .name = "GPUs",
    .doc = "utilisation, memory, power, clocks, temperature, throttling of GPUs",
    .period_ns = 100000000,
    .start = start,
    .poll = poll_gpus,
    .stop = stop};

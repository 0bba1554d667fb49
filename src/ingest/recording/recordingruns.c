/* Times at which threads had a processor, as the kernel reported them to the recorder. */
#include <stdio.h>

#include "ingest/recording/recording.h"

#define MAX_CPUS 4096u /* names; further ones share one */

static uint32_t cpu_name(struct rec_load *load, uint32_t cpu)
{
    char text[32] = "running";
    if (cpu < MAX_CPUS)
        (void)snprintf(text, sizeof text, "CPU %u", cpu);
    return nl_stage_name(load->stage, nl_str(text));
}

static uint32_t sched_lane(struct rec_load *load, uint32_t thread)
{
    struct nl_builder *builder = load->builder;
    uint32_t lane = nl_idmap_get(&load->run_lanes, thread);
    if (lane != NL_NO_ROW)
        return lane;
    uint32_t process = nl_builder_process(builder, load->source, load->head.pid);
    struct nl_lane_key key = {.kind = NL_LANE_SCHED,
                              .process = process,
                              .thread = nl_builder_thread(builder, process, thread),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    lane = nl_builder_lane(builder, &key);
    nl_idmap_put(&load->run_lanes, thread, lane);
    return lane;
}

bool rec_run_take(struct rec_load *load, const struct nl_rec_cell *cell,
                  const struct nl_rec_more *more)
{
    const uint64_t most = (uint64_t)INT64_MAX / 4;
    if (cell->cells < 2 || cell->time > more->value || more->value > most)
        return false;
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = (int64_t)cell->time;
    slice.dur = (int64_t)(more->value - cell->time);
    slice.kind = NL_KIND_SCHED;
    slice.lane = sched_lane(load, cell->id);
    slice.name = cpu_name(load, more->a);
    if (cell->depth == NL_REC_RAN_READY)
        slice.flags = NL_SLICE_READY;
    if (cell->depth == NL_REC_RAN_WAITS)
        slice.flags = NL_SLICE_WAITS;
    (void)nl_stage_slice(load->stage, &slice);
    return true;
}

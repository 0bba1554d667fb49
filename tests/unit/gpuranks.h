/*
 * gpuranks — more than one rank in a hand-made profile (gputrace.h).
 */
#ifndef GPURANKS_H
#define GPURANKS_H

#include <inttypes.h>

#include "gputrace.h"

/* What follows is of another rank: a file, process, thread and device of its own, and steps counted
 * from 0. */
static inline void gputrace_rank(struct gputrace *make, int64_t rank)
{
    char file[32];
    snprintf(file, sizeof file, "rank%" PRId64 ".json", rank);
    make->source = nl_builder_source(make->builder, file, "kineto");
    nl_builder_rank(make->builder, make->source, rank);
    make->process = nl_builder_process(make->builder, make->source, 1 + rank);
    make->thread = nl_builder_thread(make->builder, make->process, 10);
    make->device = nl_builder_device(make->builder, make->source, rank, rank);
    make->calls = gputrace_lane(make, NL_LANE_THREAD, -1);
    make->step = 0;
    nl_stage_begin(make->stage, make->source, 0);
}

#endif

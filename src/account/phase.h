/*
 * phase — which part of a run a moment belongs to, per rank: start-up, warm-up, steady, tail, or a
 * single step unlike the others. Built from the steps (account/devicesteps.h) where there are some:
 *
 *   startup   before the first step
 *   warmup    steps at the beginning that stepfind calls warm-up or compile
 *   steady    the other steps, each with the time until the next one begins
 *   outlier   a later step that compiles or takes unusually long, and a long pause between two steps
 *   tail      after the last step
 *
 * Steps after which more than half of the device work's span comes are not used. Without steps
 * account/startup.h says when start-up is over, and tail begins where the rank's device work ends.
 * A rank without device work is then steady throughout.
 *
 * Phases belong to the whole trace, whatever the window.
 */
#ifndef NL_PHASE_H
#define NL_PHASE_H

#include "timeline/apirole.h"
#include "timeline/stepfind.h"

enum nl_phase { NL_STARTUP, NL_WARMUP, NL_STEADY, NL_TAIL, NL_OUTLIER, NL_PHASES };

struct nl_phase_cut {
    int64_t start; /* store time; of the first cut INT64_MIN */
    enum nl_phase phase;
};

struct nl_phase_group {
    int64_t rank;                  /* NL_NULL_I64 unknown */
    size_t first, count;           /* in cuts, ascending, at least one */
    uint64_t steps[NL_PHASES];     /* steps in each phase; 0 in all: there are no steps */
    size_t step_first, step_count; /* in steps: the group's steps, where there are some */
};

struct nl_phases {
    const struct nl_found_steps *steps; /* borrowed */
    struct nl_phase_cut *cuts;
    size_t cut_count, cut_cap;
    struct nl_phase_group *groups; /* ascending by rank */
    size_t group_count, group_cap;
};

/* "startup", "warmup", "steady", "tail", "outlier". */
const char *nl_phase_name(enum nl_phase phase);

/* Borrows the trace and the steps. `steps` are those that the devices ran (account/devicesteps.h),
 * not those that the CPU queued. */
void nl_phases_init(struct nl_phases *phases, const struct nl_trace *trace,
                    const struct nl_found_steps *steps, const struct nl_api_roles *roles);
void nl_phases_release(struct nl_phases *phases);

/* The group of a rank; never NULL. Of a rank without a group, and of an unknown rank whose group
 * has no steps: the first group that has steps; where none has any, the first group. */
const struct nl_phase_group *nl_phases_of(const struct nl_phases *phases, int64_t rank);

/* Index of the cut of the group that holds `ts`; `hint` is the last answer
 * or any index of the group. */
size_t nl_phase_find(const struct nl_phases *phases, const struct nl_phase_group *group, int64_t ts,
                     size_t hint);

/* Where the cut's phase ends: INT64_MAX for the last. */
static inline int64_t nl_phase_end(const struct nl_phases *phases,
                                   const struct nl_phase_group *group, size_t cut)
{
    return cut + 1 < group->first + group->count ? phases->cuts[cut + 1].start : INT64_MAX;
}

/* Where start-up is over; INT64_MIN without one. */
static inline int64_t nl_phase_startup_end(const struct nl_phases *phases,
                                           const struct nl_phase_group *group)
{
    return phases->cuts[group->first].phase == NL_STARTUP
               ? nl_phase_end(phases, group, group->first)
               : INT64_MIN;
}

#endif

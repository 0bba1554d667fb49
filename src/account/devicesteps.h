/*
 * devicesteps — steps as the devices of a rank ran them. Steps are marked on the CPU, which may run ahead
 * of a device by whole steps; a step's work then runs after the step's mark has ended.
 */
#ifndef NL_DEVICESTEPS_H
#define NL_DEVICESTEPS_H

#include "timeline/stepfind.h"

/* Moves starts and ends of the steps of a rank, in order of time, to where their work ran: where work
 * launched before a step begins is still running, the step begins with its own first work, or when the
 * other ends; the last step ends when its work ends. Steps keep their order and do not overlap. False when
 * nothing was moved. Relies on streams running their work in the order of launches. */
bool nl_steps_move(const struct nl_trace *trace, int64_t rank, struct nl_found_step *steps,
                   size_t count);

/* Writes the steps of a group, of which `found` are all, as the devices ran them to `steps`, which has room for
 * group->count. Where any was moved their phases are judged again: what stepfind took for warm-up by its length on
 * the CPU may be a CPU that fills a queue first. Periods of launches stay as they are. False when nothing was moved. */
bool nl_steps_as_run(const struct nl_trace *trace, const struct nl_found_steps *found,
                     const struct nl_step_group *group, struct nl_found_step *steps);

#endif

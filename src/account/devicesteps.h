/*
 * devicesteps — steps as the devices of a rank ran them. Steps are marked on the CPU, which may run
 * ahead of a device by whole steps; a step's work then runs after the step's mark has ended.
 */
#ifndef NL_DEVICESTEPS_H
#define NL_DEVICESTEPS_H

#include "timeline/stepfind.h"

/* Moves starts and ends of the steps of a rank, in order of time, to where their work ran:
 * where work launched before a step begins is still running, the step begins with its own
 * first work, or when the other ends; the last step ends when its work ends. Steps keep their
 * order and do not overlap. False when nothing was moved. Relies on streams running their work
 * in the order of launches. */
bool nl_steps_move(const struct nl_trace *trace, int64_t rank, struct nl_found_step *steps,
                   size_t count);

/* nl_steps_find, and the steps moved to where the devices ran them: the steps that all code uses
 * which reports, sums or compares step durations. Where any of a rank was moved the phases of its
 * steps are judged again: what stepfind took for warm-up by its length on the CPU may be a CPU that
 * fills a queue first. Periods of launches and steps that the device's own lanes mark stay as they
 * are. marked_start and marked_end keep the marks. */
void nl_steps_find_run(const struct nl_trace *trace, struct nl_found_steps *found);

/* The same of steps that were found. */
void nl_steps_as_run(const struct nl_trace *trace, struct nl_found_steps *found);

#endif

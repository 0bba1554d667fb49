/*
 * runreport — what `neurolens run` says when the program has ended: where the recording is, events per
 * source, what was dropped and why, what recording cost, how good the clock is, what was not to be had.
 */
#ifndef NL_RUNREPORT_H
#define NL_RUNREPORT_H

#include "capture/recorder.h"
#include "cli/command.h"
#include "store/trace.h"

/* On stderr, unless --quiet; losses are told even then. */
void nl_run_report(const struct nl_call *call, const struct nl_recorder_report *report,
                   const struct nl_trace *trace, const char *path);

#endif

/*
 * runreport — what `neurolens run` says when the program has ended: where the recording
 * is, events per source, what was dropped and why, what recording cost, how good the clock
 * is, what was not available.
 */
#ifndef NL_RUNREPORT_H
#define NL_RUNREPORT_H

#include "capture/recorder/recorder.h"
#include "cli/command.h"
#include "store/trace.h"

#define NL_RUN_EVENTS_KEY "recorded events: " /* a source of events follows */

/* Sum over the parts of the recording of what they say under `key`. */
uint64_t nl_run_sum_of(const struct nl_trace *trace, struct nl_str key);
/* Is this row of the metadata the first with its key? */
bool nl_run_is_first_key(const struct nl_trace *trace, uint32_t row);
uint64_t nl_run_clock_error_ns(const struct nl_trace *trace);
uint64_t nl_run_alert_marks(const struct nl_trace *trace, const char *text);
/* That recorded, or of which the recorder saw something. */
uint64_t nl_run_threads(const struct nl_recorder_report *report, const struct nl_trace *trace);
/* Time that the program spent on writing events. */
int64_t nl_run_cost_ns(const struct nl_recorder_report *report, const struct nl_trace *trace);

/* Time that the kernel's samples took of the program, at least; 0 = not
 * known, or there are none. */
uint64_t nl_run_samples_ns(const struct nl_recorder_report *report);

/* Intervals at which a thread had a processor. */
uint64_t nl_run_processor_times(const struct nl_trace *trace);
/* Work and calls of GPUs. */
uint64_t nl_run_gpu_records(const struct nl_trace *trace);

/* On stderr, unless --quiet; losses are reported even then. */
void nl_run_report(const struct nl_call *call, const struct nl_recorder_report *report,
                   const struct nl_trace *trace, const char *path);

/* The last lines: how the program ended when that was not in order, and the next command. */
void nl_run_end(const struct nl_call *call, const struct nl_recorder_report *report,
                const char *path);

#endif

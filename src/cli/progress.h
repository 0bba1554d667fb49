/*
 * progress — a small thread that watches a job: it draws the bar, and it makes sure that Ctrl-C
 * ends the program in time.
 *
 * The bar (on stderr, when that is a terminal and the work has lasted half a second) shows the
 * phase, how far it is, the rate and the time left. With --progress json it writes lines instead:
 * {"progress": {"phase", "done", "total", "elapsed_ns"}}. Once the job is cancelled the worker has
 * GRACE to wind up; then the thread removes the named temporary file and ends the process with 130.
 */
#ifndef NL_PROGRESS_H
#define NL_PROGRESS_H

#include "cli/command.h"

struct nl_progress;

struct nl_progress *nl_progress_start(const struct nl_call *call);

/* Stops drawing and clears the line; the rest of the output may begin. Guarding goes on. */
void nl_progress_quiet(struct nl_progress *progress);

/* Clears the line for a message; drawing goes on behind it. */
void nl_progress_clear(struct nl_progress *progress);

/* File to remove when the process has to be ended (borrowed), or NULL. */
void nl_progress_temporary(struct nl_progress *progress, const char *path);

/* false: a cancelled job is the caller's own affair (the SQL shell). */
void nl_progress_guard(struct nl_progress *progress, bool on);

/* Ends the thread. NULL is fine. */
void nl_progress_stop(struct nl_progress *progress);

#endif

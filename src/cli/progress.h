/*
 * progress — a small thread that watches a job: it draws the bar, makes sure that Ctrl-C ends the
 * program in time, and looks at the memory (memguard.h).
 *
 * The bar (on stderr, when that is a terminal and the work has lasted half a second) shows the
 * phase, how far it is, the rate and the time left. With --progress json it writes lines instead:
 * {"progress": {"phase", "done", "total", "elapsed_ns"}}. Once the job is cancelled the worker has
 * GRACE to wind up; then the thread removes the named temporary file and ends the process with 130;
 * with 5 when a statement is past its deadline and hangs inside a function.
 */
#ifndef NL_PROGRESS_H
#define NL_PROGRESS_H

#include "cli/command.h"

struct nl_progress;

struct nl_progress *nl_progress_start(const struct nl_call *call);

/* Stops drawing and clears the line; the rest of the output may begin. Guarding goes on. */
void nl_progress_quiet(struct nl_progress *progress);

/* Clears the line for a message; drawing goes on after it. */
void nl_progress_clear(struct nl_progress *progress);

/* File or folder of files to remove when the process has to be ended (borrowed), or NULL. */
void nl_progress_temporary(struct nl_progress *progress, const char *path);

/* The profile that is worked on, for messages. */
void nl_progress_profile(struct nl_progress *progress, const char *name);

/* Makes an error of a job that was stopped because its memory budget is spent say so; one of memory
 * names the profile. */
void nl_progress_explain(const struct nl_progress *progress, struct nl_err *err);

/* false: a cancelled job is the caller's own affair (the SQL shell). */
void nl_progress_guard(struct nl_progress *progress, bool on);

/* Ends the thread. NULL is fine. */
void nl_progress_stop(struct nl_progress *progress);

#endif

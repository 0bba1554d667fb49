/*
 * stopwatch — interrupts a statement that is late.
 *
 * SQLite calls the handler of guard.c every few thousand steps; a step may be a function that fills
 * 80 MB, so between two calls minutes may pass. A thread that sleeps until the deadline interrupts
 * the statement instead, which then ends with the step it is in. What hangs inside one step is for
 * who owns the process: the deadline stands in the job, too (base/job.h).
 *
 * One stopwatch serves one connection, statement by statement; it costs a thread, which is started
 * with the first statement that has a limit. Without threads the handler is all there is.
 */
#ifndef NL_STOPWATCH_H
#define NL_STOPWATCH_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/job.h"

struct nl_stopwatch;

/* From now on statements of `sqlite` may be timed. `job` may be NULL. */
struct nl_stopwatch *nl_stopwatch_new(sqlite3 *sqlite, struct nl_job *job);
/* Before the connection is closed. */
void nl_stopwatch_free(struct nl_stopwatch *watch);

/* The statement that begins has to be done by `deadline_ns` (CLOCK_MONOTONIC); 0: it
 * has no limit, or it ended. */
void nl_stopwatch_set(struct nl_stopwatch *watch, int64_t deadline_ns);

#endif

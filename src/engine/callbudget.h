/*
 * callbudget — holds one call of the library to its budget of memory.
 *
 * What counts is what the process takes beyond what it had when the call began, as the kernel
 * counts it: a reader, an analysis, SQLite. Other threads of the program also count, because they
 * cannot be distinguished. A thread looks again and again, as often as the room that is left asks
 * for; when the budget is spent the call's job is cancelled, and its error becomes NL_MEMORY.
 *
 *     struct engine_budget budget;
 *     engine_budget_begin(&budget, &job);
 *     bool done = work(&job, err);
 *     engine_budget_end(&budget, done ? NULL : err);
 */
#ifndef NL_CALLBUDGET_H
#define NL_CALLBUDGET_H

#include <pthread.h>

#include "base/err.h"
#include "base/job.h"

struct engine_budget {
    struct nl_job *job;
    uint64_t held_before;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool watched, over; /* over: under the lock */
};

/* The budget is job->memory_bytes; 0 is none. Where no thread can be had the call runs without. */
void engine_budget_begin(struct engine_budget *budget, struct nl_job *job);

/* Stops looking. When the budget was the reason that the call failed, err (NULL: it
 * did not fail) becomes that. */
void engine_budget_end(struct engine_budget *budget, struct nl_err *err);

#endif

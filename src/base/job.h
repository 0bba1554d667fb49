/*
 * job — a long task as seen by the person who waits: progress, cancel, limits.
 *
 * cli/ owns one struct nl_job per command and passes it down; everything long calls nl_job_add now
 * and then (every few MiB or 100,000 rows) and stops when nl_job_cancelled says so, returning
 * NL_INTERRUPTED. All members may be read and bumped from several threads.
 */
#ifndef NL_JOB_H
#define NL_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct nl_job;
struct nl_spill;
typedef void nl_job_look_fn(struct nl_job *job);

/* Which foreign files are read in a separate process (ingest/sandbox.h). */
enum nl_job_sandbox { NL_SANDBOX_RISKY, NL_SANDBOX_NEVER, NL_SANDBOX_ALL };

struct nl_job {
    _Atomic uint64_t done, total;   /* in `unit`s; total 0 = not known */
    _Atomic(const char *) phase;    /* static text such as "reading" */
    atomic_bool cancelled;          /* set by a signal handler or another thread */
    atomic_bool out_of_memory;      /* it was cancelled because the budget is spent */
    unsigned threads;               /* workers to use, at least 1 */
    uint64_t memory_bytes;          /* budget for the whole command */
    struct nl_spill *spill;         /* where what exceeds it goes (spill.h); NULL: nowhere */
    _Atomic(nl_job_look_fn *) look; /* memory-pressure callback, run by worker threads; or NULL */
    /* instead of `look` in a separate process, which has no watching thread; or NULL */
    nl_job_look_fn *guard;
    enum nl_job_sandbox sandbox;
    _Atomic int64_t deadline_ns; /* of the statement that runs (CLOCK_MONOTONIC); 0 = none */
    struct nl_job *parent;       /* the job this one is a part of, cancelled with it; or NULL */
};

static inline bool nl_job_cancelled(struct nl_job *job)
{
    for (; job; job = job->parent)
        if (atomic_load_explicit(&job->cancelled, memory_order_relaxed))
            return true;
    return false;
}

static inline void nl_job_add(struct nl_job *job, uint64_t units)
{
    if (!job)
        return;
    atomic_fetch_add_explicit(&job->done, units, memory_order_relaxed);
    nl_job_look_fn *look = atomic_load_explicit(&job->look, memory_order_relaxed);
    if (look)
        look(job);
}

static inline void nl_job_phase(struct nl_job *job, const char *phase, uint64_t total)
{
    if (!job)
        return;
    atomic_store(&job->done, 0);
    atomic_store(&job->total, total);
    atomic_store(&job->phase, phase);
}

static inline unsigned nl_job_threads(const struct nl_job *job)
{
    return job && job->threads ? job->threads : 1;
}

#endif

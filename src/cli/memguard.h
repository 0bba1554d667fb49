/*
 * memguard — holds the process to the memory budget of its job (--memory).
 *
 * What counts is what the kernel counts as the process's own, whoever took it: a reader, the store,
 * an analysis, SQLite, a decompressor. Pages of mapped files do not: the kernel takes them back
 * when it needs them. Readers stop by themselves when they see that the store will not fit
 * (builder.h); the guard is for all the rest. The thread that shows progress looks again and again,
 * as often as the room that is left asks for, and those who work do when there is little; when the
 * budget is spent the job is cancelled, and its error becomes NL_MEMORY.
 */
#ifndef NL_MEMGUARD_H
#define NL_MEMGUARD_H

#include "base/err.h"
#include "base/job.h"

enum nl_memguard_says {
    NL_MEMGUARD_FITS,
    NL_MEMGUARD_STOP, /* the job was cancelled for it */
    NL_MEMGUARD_LEAVE /* it still grows: end the process */
};

/* Looks once. *wait_ns is lowered to the time in which the room that is left cannot fill. */
enum nl_memguard_says nl_memguard_look(struct nl_job *job, int64_t *wait_ns);

/* Looks, and goes on looking: nl_job.guard of a process in which no thread watches. */
void nl_memguard_alone(struct nl_job *job);

/* When the job was stopped by the guard, fills err, about `profile` when err names no file. */
void nl_memguard_explain(const struct nl_job *job, const char *profile, struct nl_err *err);

#endif

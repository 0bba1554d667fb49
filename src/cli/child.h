/*
 * child — work in a separate process, so that a crash or an endless loop in somebody else's library
 * is an error message and not ours.
 *
 * The child is a fork: it sees all memory as it was, and what it writes is lost, except in
 * memory from nl_child_share. Its output goes to a log file. It dies with its parent and
 * when the job is cancelled.
 */
#ifndef NL_CHILD_H
#define NL_CHILD_H

#include <stddef.h>

#include "base/err.h"
#include "base/job.h"

struct nl_child {
    bool (*work)(void *context, struct nl_err *err); /* runs in the child */
    void *context;
    bool program;         /* work becomes another program (exec); its exit status 0 is success */
    const char *mark;     /* of the lines that are printed, the last with this in it tells what went
                             wrong, from behind the mark on; NULL, or none: the last line */
    const char *what;     /* for messages: "ONNX Runtime" */
    const char *log;      /* file for what it prints; NULL = nowhere */
    int64_t timeout_ns;   /* 0 = none; then it is killed: NL_TIMEOUT */
    const char *doing;    /* in shared memory: what it was doing when it crashed; may be NULL */
    _Atomic uint32_t *at; /* in shared memory, shown as progress; may be NULL */
};

/* Zeroed memory that parent and child both see; whole pages. */
void *nl_child_share(size_t bytes);
void nl_child_unshare(void *memory, size_t bytes);

/* True when work returned true, or its program ended with 0. Otherwise err is the work's own, or
 * says how the child ended (NL_ENVIRONMENT). */
NL_MUST_CHECK bool nl_child_run(const struct nl_child *child, struct nl_job *job,
                                struct nl_err *err);

#endif

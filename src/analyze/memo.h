/*
 * memo — what several analyses of one report need and should be computed once. A report owns one
 * and hands it down in nl_analyze_options; without it, each analysis computes its own. A memo is for
 * one trace and one window. Thread-safe: who comes second waits for the first.
 */
#ifndef NL_MEMO_H
#define NL_MEMO_H

#include <pthread.h>

#include "analyze/analyze.h"
#include "query/idletime.h"

struct nl_memo {
    pthread_mutex_t lock;
    struct nl_idle *idle;
};

void nl_memo_init(struct nl_memo *memo);
void nl_memo_release(struct nl_memo *memo);

/* Idle time under options->window. Kept in options->memo when there is one; else *own gets it and
 * the caller frees it (nl_idle_free; NULL is fine). */
const struct nl_idle *nl_memo_idle(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_idle **own);

#endif

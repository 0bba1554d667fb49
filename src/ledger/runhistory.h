/*
 * runhistory — which earlier runs are the history of a run: those of the same
 * workload on the same host.
 *
 * The same workload: equal name, command, model, phase, precision, batch size, sequence length,
 * backend, devices and host, as far as the ledger knows them (what neither has is equal, too).
 * Where no name, command or model is known, the name of the file without its digits stands for
 * them. Runs in the trash are no history.
 *
 *     nl_runhistory_of(ledger, run, &who, &arena, &err)            who a run of the ledger is, or
 *     nl_runhistory_take(&who, "workload.model", "bert")           … said fact by fact
 *     nl_runhistory_find(ledger, &who, INT64_MAX, &history, &err)
 */
#ifndef NL_RUNHISTORY_H
#define NL_RUNHISTORY_H

#include "ledger/ledger.h"

#define NL_MAX_HISTORY   30  /* runs; the newest */
#define NL_HISTORY_WIDE  120 /* that are looked at for seasons (runseason.h) */
#define NL_MIN_HISTORY   8   /* so many make a history */
#define NL_HISTORY_FACTS 11

struct nl_history_who {
    const char *facts[NL_HISTORY_FACTS]; /* texts; NULL not known */
    const char *file;                    /* its name without digits; NULL = does not matter */
};

struct nl_history {
    int64_t runs[NL_HISTORY_WIDE]; /* the newest first */
    size_t count;
};

/* Takes a fact by its dotted name, if it is one of those that decide; borrows the value. */
void nl_runhistory_take(struct nl_history_who *who, const char *name, const char *value);

/* Lets the file's name decide where nothing else says what the workload is. */
void nl_runhistory_name(struct nl_history_who *who, const char *file, struct nl_arena *arena);

NL_MUST_CHECK bool nl_runhistory_of(struct nl_ledger *ledger, int64_t run,
                                    struct nl_history_who *who, struct nl_arena *arena,
                                    struct nl_err *err);

/* The newest `most` runs before `before` that are the same. At most 1000
 * candidates are looked at. */
NL_MUST_CHECK bool nl_runhistory_find(struct nl_ledger *ledger, const struct nl_history_who *who,
                                      int64_t before, size_t most, struct nl_history *history,
                                      struct nl_err *err);

/* What people call the workload: its name, model or command; and its host. NULL not known. */
const char *nl_runhistory_workload(const struct nl_history_who *who);
const char *nl_runhistory_host(const struct nl_history_who *who);

#endif

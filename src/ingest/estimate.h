/*
 * estimate — how many rows a profile has and what memory it needs, before it is loaded.
 *
 *     nl_ingest_estimate(&inputs, options, job, &estimate, err)     in some hundredths of a second
 *
 * Of a database the numbers of its rows are read (the highest rowid of each table). Of other files
 * the first part is loaded as it would be, and what came of it is multiplied; if the file is not
 * packed, places in its middle show how dense it is there. A file that is no larger than that part
 * is counted, not estimated.
 *
 * Of more than eight files eight are looked at, among them one of each ending of a name; the others
 * are as many rows a byte as those of their ending.
 *
 * With NL_SANDBOX_ALL no part is loaded here, outside the confined process: files
 * are judged by their size.
 *
 * Rows are those of slices, samples, counters, memory, calls, nodes and metrics. Memory is the most
 * that loading takes besides mapped files, as --memory counts it. Both come with a range that holds
 * the truth of every format in tests/membudget.py.
 */
#ifndef NL_ESTIMATE_H
#define NL_ESTIMATE_H

#include "ingest/ingest.h"

enum nl_estimate_how {
    NL_ESTIMATE_COUNTED,  /* all of it was read */
    NL_ESTIMATE_DATABASE, /* from the numbers of rows of its tables */
    NL_ESTIMATE_SAMPLED,  /* from its first part */
    NL_ESTIMATE_SIZE,     /* from its size alone: a part of it cannot be read */
    NL_ESTIMATE_LIKE      /* from its size and files of its ending that were looked at */
};

struct nl_amount {
    double low, likely, high;
};

struct nl_file_estimate {
    const char *name, *format; /* format NULL: it is none, and is left out */
    uint64_t bytes;            /* on disk */
    enum nl_estimate_how how;
    struct nl_amount rows, memory;
};

struct nl_estimate {
    struct nl_file_estimate *files;
    size_t count;
    uint64_t bytes;
    struct nl_amount rows, memory; /* sums */
    struct nl_arena arena;
};

/* False with err when a named file that is looked at cannot be read or is of no format. Archives
 * are not opened: what they hold counts as JSON of eight times their size (an unpacked tar: of its
 * size), their format is "archive". Release in any case. */
NL_MUST_CHECK bool nl_ingest_estimate(struct nl_estimate *estimate, const struct nl_inputs *inputs,
                                      struct nl_job *job, struct nl_err *err);
void nl_estimate_release(struct nl_estimate *estimate);

const char *nl_estimate_how_text(enum nl_estimate_how how);

/* NL_MEMORY before anything is loaded, when even the least that the profile can need
 * is over the job's budget. */
NL_MUST_CHECK bool nl_estimate_check(const struct nl_inputs *inputs, struct nl_job *job,
                                     struct nl_err *err);

#endif

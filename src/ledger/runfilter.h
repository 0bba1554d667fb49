/*
 * runfilter — filters of `ls` and `similar` (runlist.h says how they are written) as one SQL
 * condition on `runs r` with values bound to it. Private to ledger/.
 *
 *     nl_runfilter_init(&filter, ledger)
 *     nl_runfilter_add(&filter, words, count, trash, &err)
 *     nl_runfilter_prepare(&filter, "SELECT … WHERE " + filter.where, 0, &err)
 *     nl_runfilter_release(&filter)
 */
#ifndef NL_RUNFILTER_H
#define NL_RUNFILTER_H

#include "ledger/runfield.h"

#define NL_FILTER_SQL    ((size_t)64 << 10)
#define NL_MAX_FILTERS   32
#define NL_FILTER_VALUES 256 /* of all filters: alternatives and ends of ranges are values, too */

struct nl_filter_value {
    enum nl_cell_type type;
    int64_t i64;
    double f64;
    const char *text;
};

/* A condition on rows of another table than runs. */
struct nl_filter_inner {
    const char *table, *sql;
    bool without;  /* the run has no such row */
    size_t mark;   /* where it belongs in the whole */
    int64_t count; /* rows that match, at most MIN_WALKED_ROWS */
};

struct nl_runfilter {
    struct nl_ledger *ledger;
    struct nl_buf where; /* conditions, "… AND …" */
    struct nl_filter_value values[NL_FILTER_VALUES];
    size_t value_count;
    struct nl_filter_inner inners[NL_MAX_FILTERS];
    size_t inner_count;
    struct nl_arena arena;
};

void nl_runfilter_init(struct nl_runfilter *filter, struct nl_ledger *ledger);
void nl_runfilter_release(struct nl_runfilter *filter);

/* All of them hold together; `trash`: of the runs in the trash instead.
 * NL_USAGE for what is no filter. */
NL_MUST_CHECK bool nl_runfilter_add(struct nl_runfilter *filter, const char *const *words,
                                    size_t count, bool trash, struct nl_err *err);

/* Compiles a statement with the values from `first` on. */
sqlite3_stmt *nl_runfilter_prepare(struct nl_runfilter *filter, const char *sql, size_t first,
                                   struct nl_err *err);

#endif

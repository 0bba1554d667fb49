/*
 * runlist — the runs as a table: which ones, in what order, with which columns.
 *
 * Filters are KEY OP VALUE with = != > >= < <= and ~ (contains), and hold together. VALUE may be
 * several, a|b, of which one must hold, or a range of numbers or dates, 16..64. A text with * or ?
 * is a pattern as of file names, whatever the case of its letters; numbers take the units of their
 * field ("2ms", "4GiB", "40%", a date of `added`). A run that does not have KEY matches no filter
 * on it. runfield.h says what KEY may be.
 */
#ifndef NL_RUNLIST_H
#define NL_RUNLIST_H

#include "ledger/ledger.h"
#include "tables/result.h"

struct nl_ledger_fingerprint_row; /* ledger/runfingerprint.h */

/* Zeroed = all runs but those in the trash, the newest first, with the usual columns. */
struct nl_list_options {
    const char *const *filters;
    size_t filter_count;
    const char *sort;    /* name of a field, "-NAME" = the largest first; NULL = the newest first */
    const char *columns; /* names joined with commas; "+NAME,…" beside the usual ones; or NULL */
    uint64_t limit;      /* rows; 0 = all. The note says how many there are besides */
    bool trash;          /* those in the trash instead */
    bool short_texts;    /* ids and dates for eyes */
};

/* NL_USAGE for a filter, column or order that cannot be understood. */
struct nl_result *nl_ledger_list(struct nl_ledger *ledger, const struct nl_list_options *options,
                                 struct nl_err *err);

/* Calls `see` for every run that the filters let through, the newest first,
 * until it says false with err. */
typedef bool nl_ledger_fingerprint_see(void *context, const struct nl_ledger_fingerprint_row *row,
                                       struct nl_err *err);
NL_MUST_CHECK bool nl_ledger_fingerprints(struct nl_ledger *ledger, const char *const *filters,
                                          size_t count, int64_t form,
                                          nl_ledger_fingerprint_see *see, void *context,
                                          struct nl_err *err);

#endif

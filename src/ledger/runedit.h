/*
 * runedit — what people do with a run that is there: tags, notes, the bin. Each is one transaction,
 * with a line of provenance. `command` is the command line; secrets are taken out here, as they are of
 * notes.
 */
#ifndef NL_RUNEDIT_H
#define NL_RUNEDIT_H

#include "ledger/ledger.h"

/* Is it fit to be a tag: 1 to 64 letters, digits and ._+:- , beginning with a letter, and nothing that
 * could be an id? NL_USAGE says what is wrong. */
NL_MUST_CHECK bool nl_ledger_tag_check(const char *tag, struct nl_err *err);

/* Adds the tags, or takes them away. *changed counts those that made a difference. */
NL_MUST_CHECK bool nl_ledger_tag(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                 const char *const *tags, size_t count, bool remove,
                                 const char *command, size_t *changed, struct nl_err *err);

/* A note, on the time [start_ns, end_ns) of the run when they are not NL_NULL_I64 (from the first
 * event). */
NL_MUST_CHECK bool nl_ledger_note(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                  const char *text, int64_t start_ns, int64_t end_ns,
                                  const char *command, struct nl_err *err);

/* Into the bin, or back from it. Runs that are there already are left as they are. */
NL_MUST_CHECK bool nl_ledger_bin(struct nl_ledger *ledger, const struct nl_ledger_run *runs,
                                 size_t count, bool restore, const char *command,
                                 struct nl_err *err);

#endif

/*
 * trust — may a ledger that was found in or above the current folder be used?
 *
 * It may when the folder and every folder above it belong to the user (or to root), and no other
 * user may write to them: then no other user has put it there. It also may when the user said so
 * once, with `neurolens trust`, as git's safe.directory. A ledger that is named (--ledger,
 * $NEUROLENS_LEDGER) is not asked about.
 *
 * The list is $XDG_CONFIG_HOME/neurolens/trusted (~/.config/neurolens/trusted): a line for
 * each folder, "UID PATH", the owner it had when it was trusted. Should it belong to another
 * one since, it is not trusted any more. The list is ignored unless it belongs to the user and
 * only they may write to it.
 */
#ifndef NL_TRUST_H
#define NL_TRUST_H

#include "base/err.h"
#include "base/str.h"

/* True when it may be used; else NL_ENVIRONMENT with why, and what to do. */
NL_MUST_CHECK bool nl_trust_folder(const char *folder, struct nl_err *err);

/* Adds a folder to the list, or takes it away; *changed: it was not as wanted before. `real` gets
 * the folder without links; nl_free'd by the caller. */
NL_MUST_CHECK bool nl_trust_change(const char *folder, bool remove, char **real, bool *changed,
                                   struct nl_err *err);

/* The trusted folders, a line each, added to `out`. */
NL_MUST_CHECK bool nl_trust_list(struct nl_buf *out, struct nl_err *err);

#endif

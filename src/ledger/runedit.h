/*
 * runedit — what people do with a run that is there: tags, notes, the trash. Each is one
 * transaction, with a line of provenance. `command` is the command line; secrets are taken out
 * here, as they are of notes.
 */
#ifndef NL_RUNEDIT_H
#define NL_RUNEDIT_H

#include "ledger/ledger.h"

/* Is it fit to be a tag: up to 100 bytes of letters (of any script), digits and ._+:/#- , beginning
 * with a letter or digit, and nothing that could be an id? NL_USAGE says what is wrong. */
NL_MUST_CHECK bool nl_ledger_tag_check(const char *tag, struct nl_err *err);

/* Several runs may have one tag (`ls tag=nightly`); as a name it means the run that was given it
 * last. MOVE takes it from all others. */
enum nl_tag_how { NL_TAG_ADD, NL_TAG_MOVE, NL_TAG_REMOVE };

/* What became of one tag; ids are "" where it means no run. */
struct nl_tag_change {
    bool changed, means_other; /* it meant a run before and now means another one, or none */
    char before[NL_RUNDOC_ID], now[NL_RUNDOC_ID];
};

/* Gives the tags, or takes them away. `changes` has room for one per tag. */
NL_MUST_CHECK bool nl_ledger_tag(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                 const char *const *tags, size_t count, enum nl_tag_how how,
                                 const char *command, struct nl_tag_change *changes,
                                 struct nl_err *err);

/* A note, on the time [start_ns, end_ns) of the run when they are not NL_NULL_I64 (from the first
 * event). */
NL_MUST_CHECK bool nl_ledger_note(struct nl_ledger *ledger, const struct nl_ledger_run *run,
                                  const char *text, int64_t start_ns, int64_t end_ns,
                                  const char *command, struct nl_err *err);

/* Into the trash, or back from it. Runs that are there already are left as they are. */
NL_MUST_CHECK bool nl_ledger_trash(struct nl_ledger *ledger, const struct nl_ledger_run *runs,
                                   size_t count, bool restore, const char *command,
                                   struct nl_err *err);

#endif

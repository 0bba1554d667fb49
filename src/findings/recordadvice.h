/*
 * recordadvice — how to record what a profile lacks, by the tool that wrote it. For the table of
 * what is missing, and for findings that could be surer.
 */
#ifndef NL_RECORDADVICE_H
#define NL_RECORDADVICE_H

#include "tables/analyze.h"

/* In the order of needs, a row per tool. A tool has no row where it has no such thing or where its
 * absence says nothing (a single-process program has no collectives). */
struct nl_advice {
    struct nl_need need;
    const char *formats; /* what the tool writes, names between blanks */
    const char *record;
};

extern const struct nl_advice nl_advices[]; /* ends with formats of NULL */

bool nl_advice_is_for(const struct nl_advice *advice, struct nl_str format);

/* What fills this need in a profile like `trace`: the option of the tool of its first
 * source that has one; where no tool is known, what it is in general. NULL when the
 * tools have no such thing. */
const char *nl_advice_record(const struct nl_trace *trace, const struct nl_need *need);

/* "no copies in this profile", "copies.bytes not recorded". Lives in the arena. */
const char *nl_advice_lack(const struct nl_trace *trace, const struct nl_need *need,
                           struct nl_arena *arena);

#endif

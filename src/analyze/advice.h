/*
 * advice — how to record what a profile lacks, by the tool that wrote it. For the table of what is
 * missing, and for findings that could be surer.
 */
#ifndef NL_ADVICE_H
#define NL_ADVICE_H

#include "analyze/analyze.h"

/* A tool's text is NULL where the tool has no such thing or where its absence says nothing (a
 * single-process program has no collectives). */
struct nl_advice {
    struct nl_need need;
    const char *nsys, *torch;
    const char *general; /* for other formats: what it is */
};

extern const struct nl_advice nl_advices[]; /* ends with a general of NULL */

/* What the tool that wrote this format does to record it; NULL when there is no such thing, or the
 * tool is not known. */
const char *nl_advice_tool(const struct nl_advice *advice, struct nl_str format);

/* What fills this need in a profile like `trace`: the option of the tool of its first source that has
 * one; where no tool is known, what it is in general. NULL when the tools have no such thing. */
const char *nl_advice_record(const struct nl_trace *trace, const struct nl_need *need);

/* "no copies in this profile", "copies.bytes not recorded". Lives in the arena. */
const char *nl_advice_lack(const struct nl_trace *trace, const struct nl_need *need,
                           struct nl_arena *arena);

#endif

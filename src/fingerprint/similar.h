/*
 * similar — the runs that are nearest to a profile, as tables: how alike they are and on what that
 * rests, what agrees and what differs most. Who has the runs brings them; this room opens none.
 */
#ifndef NL_SIMILAR_H
#define NL_SIMILAR_H

#include "fingerprint/likeness.h"

#define NL_SIMILAR_ITEMS 5 /* agreements and differences shown of a run */

struct nl_similar_run {
    const char *id; /* as it is to be shown; borrowed, like the others; NULL = not known */
    const char *name, *added, *tags, *model;
    struct nl_likeness likeness;
    struct nl_fingerprint_view view;
    struct nl_fingerprint_texts texts;
};

struct nl_similar_count {
    uint64_t compared, without,
        apart; /* runs: with a likeness; no fingerprint; no part in common */
    uint64_t damaged;
    bool itself;   /* the profile is one of the runs, and left out */
    bool filtered; /* filters chose them */
    bool updated;  /* what could be made was made */
};

/* The report of `neurolens similar`; runs in the order in which they are to be shown. */
struct nl_report *nl_similar_report(const struct nl_fingerprint_view *view,
                                    const struct nl_fingerprint_texts *texts,
                                    const struct nl_similar_run *runs, size_t count,
                                    const struct nl_similar_count *counts);

#endif

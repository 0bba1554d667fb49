/*
 * arrows — launch → device work, forward → backward, async and other flows as pairs of slices with
 * one id, asked for slice by slice.
 *
 *     nl_arrows_make(&arrows, &export);
 *     if (nl_arrows_own(&arrows, slice, &end)) ...     // end.id, end.incoming
 *     count = nl_arrows_more(&arrows, slice, &ends);   // ends[0 .. count)
 *
 * Only arrows between two slices that are both written, and that do not end before they start, are
 * there; nl_arrows_make counts the others as lost. May be asked from several threads.
 */
#ifndef NL_ARROWS_H
#define NL_ARROWS_H

#include "export/export.h"

struct nl_arrow_end {
    uint32_t slice;
    bool incoming;
    uint64_t id; /* over 0 */
};

struct nl_arrows {
    const struct nl_export *export; /* borrowed */
    const struct nl_trace *trace;
    uint8_t *many;             /* bit per slice: it has rows in `ends` */
    struct nl_arrow_end *ends; /* sorted by slice */
    size_t count, cap;
    uint64_t written; /* arrows */
};

void nl_arrows_make(struct nl_arrows *arrows, struct nl_export *export);
void nl_arrows_release(struct nl_arrows *arrows);

/* The arrow between a launch and its first device work, at either of them;
 * false when there is none. */
bool nl_arrows_own(const struct nl_arrows *arrows, uint32_t slice, struct nl_arrow_end *end);

/* All other arrows at a slice. */
size_t nl_arrows_more(const struct nl_arrows *arrows, uint32_t slice,
                      const struct nl_arrow_end **ends);

#endif

/*
 * diffpace — work per time, for two sides without steps to compare by.
 *
 * Times of whole recordings are the program's only when both sides did the same work. Of
 * recordings that were cut at a fixed length it is the recording's: then a slower program shows
 * as fewer operations, not as a longer time. Counted is what both sides have by name. When that
 * is most of either side, and most of it is of names that became fewer (or more) alike, one side
 * did less of the same work.
 */
#ifndef NL_COMPARE_DIFFPACE_H
#define NL_COMPARE_DIFFPACE_H

#include "compare/diffpair.h"

#define DIFF_PACE_APART 0.02 /* least change of the work that counts as one */
#define DIFF_PACE_ALIKE 0.8  /* share of the pieces that both must have, and must change alike */
#define DIFF_MIN_PACE   8    /* fewer pieces on a side say nothing */
#define DIFF_PACE_LONG  0.01 /* lengths of recordings this near are the same */

struct diff_pace {
    double base_pieces, changed_pieces;     /* of names that both have, per unit; NaN not known */
    double base_piece_ns, changed_piece_ns; /* time of the side for each; NaN not known */
    bool other_work;                        /* one side did clearly less of the same work */
    bool same_length;                       /* and from first to last work takes as long */
};

/* Of measured sides and their paired parts, by name; nothing is known of sides with steps. */
void diff_pace_find(struct diff_pace *pace, const struct diff_side *base,
                    const struct diff_side *changed, const struct diff_rows *rows);

#endif

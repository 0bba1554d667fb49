/*
 * alikerows — rows that look alike once columns are left out. Where the numbers of a table are
 * sums, such rows are put together: "queued" stands once, not once for each class of gap.
 */
#ifndef NL_ALIKEROWS_H
#define NL_ALIKEROWS_H

#include "tables/result.h"

struct nl_alikerows {
    struct nl_result shown; /* cells are copies, texts borrowed */
    bool made;              /* else `shown` is the table itself */
};

/* `skip`: columns that are left out. Largest sums first. */
void nl_alikerows_init(struct nl_alikerows *alike, const struct nl_result *result,
                       const bool *skip);
/* Shares of rows of several devices that have one label, as captures of one device have: of the
 * times of all of them. `devices`: the breakdown, a row a device. */
void nl_alikerows_share(struct nl_alikerows *alike, const struct nl_result *devices);
/* Takes in columns of words, so that no two of the first rows read alike if such a column
 * distinguishes them. */
void nl_alikerows_tell(const struct nl_result *result, size_t rows, bool *skip);
void nl_alikerows_release(struct nl_alikerows *alike);

#endif

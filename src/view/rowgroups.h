/*
 * rowgroups — tables whose rows come in groups that must not be compared with each other, such as
 * samples of different events: when a table is cut, every group keeps its first rows.
 */
#ifndef NL_ROWGROUPS_H
#define NL_ROWGROUPS_H

#include "tables/result.h"

struct nl_rowgroups {
    struct nl_result shown; /* rows that are kept; cells are copies, texts borrowed */
    size_t column;          /* that names the group */
    size_t count;           /* of groups; 0 or 1: `shown` is the whole table */
};

/* Keeps about `rows` rows of `result`, shared among its groups, three of each at least. */
void nl_rowgroups_init(struct nl_rowgroups *groups, const struct nl_result *result, size_t rows);
void nl_rowgroups_release(struct nl_rowgroups *groups);

/* Whether a group begins with this row of `shown`. */
bool nl_rowgroups_begins(const struct nl_rowgroups *groups, size_t row);

#endif

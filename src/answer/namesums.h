/*
 * namesums — rows of a table added up by a name: layers that occur several times, kinds of kernels
 * over all devices. Private to the room.
 */
#ifndef NL_NAMESUMS_H
#define NL_NAMESUMS_H

#include "tables/result.h"

struct nl_name_sum {
    struct nl_str name; /* borrowed from the table */
    int64_t ns;
    size_t count, first; /* rows; the first of them */
};

/* Among the first `most` names (the table's order), most time first; the number of
 * names. There are some dozens. */
size_t nl_sum_by_name(const struct nl_result *rows, const char *name, const char *ns,
                      struct nl_name_sum *sums, size_t most);

#endif

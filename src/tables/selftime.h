/*
 * selftime — what remains of nested slices when their children are taken out: the answer that
 * operators, modules, ranges and Python functions share. Children are all slices inside on the same
 * lane (an operator's API calls too), as in SQL's self_time; for modules, whose direct children are
 * the Python functions of their code, only modules.
 */
#ifndef NL_SELFTIME_H
#define NL_SELFTIME_H

#include "tables/analyze.h"
#include "tables/groups.h"

/* One kind of nested slices: its side table's `slice` column. */
struct nl_nest {
    const uint32_t *slices;
    uint32_t rows;
    bool same_kind;        /* only slices of the same kind count as children */
    const uint8_t *bounds; /* by dictionary id (leftout.h), with a separate column; or NULL */
};

/* Name-keyed answer from the nest: columns name, count, total_ns, self_ns, share (of all self
 * time in which a thread works: timeline/nowork.h; null where none does), min_ns, median_ns,
 * p95_ns, max_ns, stddev_ns; sorted by self time. With bounds also bound; what has one has no
 * share. */
struct nl_result *nl_self_answer(const struct nl_trace *trace,
                                 const struct nl_analyze_options *options,
                                 const struct nl_nest *nest);

/* Sorts finished groups by sums[0] (self time) descending, ties as groups do. */
void nl_groups_by_self(struct nl_groups *groups);

/* Fills the nine cells count, total_ns, self_ns, share (null where whole_self
 * is 0), min .. stddev of a group. */
void nl_self_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole_self);

/* Their columns, as rows of a list (NL_COLUMNS): nl_self_cells(cells + AT_count, ...). */
#define NL_SELF_LIST(C)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(self_ns, "self", NS)                                                                         \
    C(share, NULL, SHARE)                                                                          \
    C(min_ns, "min", NS)                                                                           \
    C(median_ns, "median", NS)                                                                     \
    C(p95_ns, "p95", NS)                                                                           \
    C(max_ns, "max", NS)                                                                           \
    C(stddev_ns, "stddev", NS)

#endif

/*
 * selftime — what remains of nested slices when their children are taken out: the answer that
 * operators, modules, ranges and Python functions share.
 */
#ifndef NL_SELFTIME_H
#define NL_SELFTIME_H

#include "analyze/groups.h"
#include "analyze/scope.h"

/* One kind of nested slices: its side table's `slice` column, and which kinds of slices below one
 * take time away from it (bits 1 << NL_KIND_...). */
struct nl_nest {
    unsigned kind;
    const uint32_t *slices;
    uint32_t rows;
    uint32_t children;
};

/*
 * Self time of every row, ns: length minus the lengths of the nearest slices below it whose kind is
 * among `children`. Rows that the scope does not count have -1. The caller nl_frees it.
 */
int64_t *nl_self_times(const struct nl_scope *scope, const struct nl_nest *nest);

/* Name-keyed answer from the nest: columns name, count, total_ns, self_ns, share (of all self
 * time), min_ns, median_ns, p95_ns, max_ns, stddev_ns; sorted by self time. */
struct nl_result *nl_self_answer(const struct nl_trace *trace,
                                 const struct nl_analyze_options *options,
                                 const struct nl_nest *nest);

/* Sorts finished groups by sums[0] (self time) descending, ties as groups do. */
void nl_groups_by_self(struct nl_groups *groups);

/* Fills the ten cells count, total_ns, self_ns, share, min .. stddev of a group. */
void nl_self_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole_self);

#define NL_SELF_COLUMNS                                                                            \
    {"count", NULL, NL_MEANS_COUNT}, {"total_ns", "total", NL_MEANS_NS},                           \
        {"self_ns", "self", NL_MEANS_NS}, {"share", NULL, NL_MEANS_SHARE},                         \
        {"min_ns", "min", NL_MEANS_NS}, {"median_ns", "median", NL_MEANS_NS},                      \
        {"p95_ns", "p95", NL_MEANS_NS}, {"max_ns", "max", NL_MEANS_NS},                            \
    {                                                                                              \
        "stddev_ns", "stddev", NL_MEANS_NS                                                         \
    }

#endif

/*
 * groupstats — statistics of groups of durations.
 */
#ifndef NL_GROUPSTATS_H
#define NL_GROUPSTATS_H

#include "timeline/breakdown.h"

/* Statistics per name over the slices of one kind (enum nl_kind), or of all with `kind` 0, sorted
 * by total descending, ties by name id. nl_free the array. */
struct nl_group_stats *nl_name_stats(const struct nl_trace *trace, const struct nl_window *window,
                                     unsigned kind, size_t *count);

/* Statistics per name over a list of slices, as nl_name_stats. */
struct nl_group_stats *nl_list_stats(const struct nl_trace *trace, const struct nl_slice_list *list,
                                     size_t *count);
/* Statistics of one array of durations (reordered by the call). */
struct nl_group_stats nl_stats_of(int64_t *durations, size_t count);

#endif

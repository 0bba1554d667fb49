/*
 * calltree — GPU time by path of ranges.
 */
#ifndef NL_CALLTREE_H
#define NL_CALLTREE_H

#include "tables/analyze.h"

/* The answer by path of folded names from the outermost range in: path, gpu_ns (inclusive), share,
 * gpu_self_ns (exclusive), gpu_ops, count, cpu_ns, depth, id, parent (an id). Sorted by
 * gpu_ns; after 10,000 paths the others are one row. */
struct nl_result *nl_gputime_by_path(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, enum nl_kind kind);

#endif

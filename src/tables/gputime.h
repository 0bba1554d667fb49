/*
 * gputime — the device time that ranges of one kind (operators, modules, NVTX) have launched.
 *
 * Work belongs to the innermost range around its launch (timeline/owner.h): that range's exclusive
 * time. A range's inclusive time is its own and that of all ranges inside. Sums add lengths; unions
 * count a moment of a device once. Exclusive times of all names, of work launched outside any range
 * and of work whose launch is not recorded add up to all device work of the window.
 *
 * A window limits ranges by where they start, work by where it starts.
 */
#ifndef NL_GPUTIME_H
#define NL_GPUTIME_H

#include "timeline/fold.h"
#include "tables/scope.h"
#include "timeline/owner.h"

struct nl_gputime {
    const struct nl_trace *trace; /* borrowed */
    struct nl_scope device, host;
    const struct nl_owners *owners; /* these are the memo's */
    const struct nl_rangetree *tree;
    const uint32_t *owner; /* per work: index in tree, NL_NULL_ROW none */
};

void nl_gputime_init(struct nl_gputime *gpu, const struct nl_trace *trace,
                     const struct nl_analyze_options *options, enum nl_kind kind);
void nl_gputime_release(struct nl_gputime *gpu);

/* Whose is work that no range owns: rows with these names. */
enum nl_unowned { NL_OUTSIDE, NL_NOT_LAUNCHED, NL_UNOWNED };
enum nl_unowned nl_gputime_unowned(const struct nl_gputime *gpu, uint32_t work);
const char *nl_gputime_unowned_name(enum nl_unowned which);

/* The answer by name: count, cpu_ns, cpu_self_ns, gpu_ops, gpu_ns (exclusive), share, gpu_total_ns
 * (inclusive), gpu_union_ns (inclusive). Sorted by gpu_ns. */
struct nl_result *nl_gputime_by_name(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, enum nl_kind kind);

#endif

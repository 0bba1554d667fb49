/*
 * profiletorchops — operators of a model under PyTorch, from the trace of the profiled runs.
 *
 * Operators nest (aten::linear calls aten::addmm), so a row has the time in the operator itself and
 * the time with what it called. Both are sums over one run, and the medians of these sums over the
 * runs that count; the self times of a run add up to the time of its outermost operators.
 */
#ifndef NL_PROFILETORCHOPS_H
#define NL_PROFILETORCHOPS_H

#include "base/medianrange.h"
#include "tables/result.h"
#include "store/trace.h"

/* A row per name, the one with the most self time first. *inside gets the sums of self times of the
 * runs, count 0 when the trace has no marked runs or no operators. Times are CPU times of calls: on
 * a GPU they are those of launching work. */
struct nl_result *nl_profile_torch_operators(const struct nl_trace *trace,
                                             struct nl_median_range *inside);

#endif

/*
 * attribution — whose time is it: the part of a slice that its children do not cover, and the
 * range of the program (NVTX, operator, module, …) that a device operation was launched from.
 */
#ifndef NL_ATTRIBUTION_H
#define NL_ATTRIBUTION_H

#include "store/trace.h"

/* Self time of the slices first .. last - 1: length minus what direct children cover of it, never
 * below 0; NL_NULL_I64 where the length is unknown. Children outside the rows are not seen, so give
 * whole lanes (or everything: 0, trace->slice.rows). nl_free the array. */
int64_t *nl_self_times(const struct nl_trace *trace, uint32_t first, uint32_t last);

struct nl_launch_range {
    uint32_t slice; /* device work: kernel, memcpy, memset, graph launch */
    uint32_t range; /* innermost slice of the wanted kind, on the launching thread, that was open
                       when the launch began; NL_NULL_ROW when none or the launch is unknown */
};

/* One row per device operation, ascending by slice. `kind`: the ranges' enum nl_kind. Of ranges
 * that cross each other the one that began last is the innermost. By containment alone; owner.h
 * also knows ids and forward operators. nl_free the array. */
struct nl_launch_range *nl_launch_ranges(const struct nl_trace *trace, unsigned kind,
                                         size_t *count);

#endif

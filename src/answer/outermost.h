/*
 * outermost — time per name with what is called, in which a name inside itself (recursion)
 * counts once: of nested slices of one name on a lane the outermost alone. The tables'
 * totals are sums of all calls.
 */
#ifndef NL_OUTERMOST_H
#define NL_OUTERMOST_H

#include "store/trace.h"
#include "tables/analyze.h"

#define NL_OUTERMOST_NAMES 32

/* Nanoseconds of each of `count` names (dictionary ids, NL_OUTERMOST_NAMES at most) over slices
 * that start in the window, into `sums`. Linear in slices; 4 bytes for each meanwhile. */
void nl_outermost_sums(const struct nl_trace *trace, const struct nl_window *window,
                       const uint32_t *names, size_t count, int64_t *sums);

#endif

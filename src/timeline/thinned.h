/*
 * thinned — recordings from which most events were taken out afterwards, or of which only a sample
 * was kept: gaps in them are no idle time, and sums are lower bounds.
 */
#ifndef NL_THINNED_H
#define NL_THINNED_H

#include "store/trace.h"

/* Of the numbers that CUPTI gave to CUDA calls of the process with most of them, the share that is
 * in the file, where that is so small that the file must be thinned; NaN if it is not, or if that
 * is unknown. */
double nl_thinned(const struct nl_trace *trace);

#endif

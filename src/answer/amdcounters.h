/*
 * amdcounters — what hardware counters of AMD's profilers say of one kernel: how busy its memory
 * units are, how often the L2 cache has what is asked for, what is read from memory and written,
 * how long its waves wait.
 *
 *     nl_tell_amd_counters(out, trace, kernel);   ": L2 hits 33 %, 24.03 MiB read from memory (551 GB/s)"
 *
 * Formulas: AMD's counter definitions (metrics.xml of rocprofiler: FETCH_SIZE, WRITE_SIZE,
 * L2CacheHit); counters of several passes are those of different runs of the dispatch.
 */
#ifndef NL_AMDCOUNTERS_H
#define NL_AMDCOUNTERS_H

#include "base/str.h"
#include "store/trace.h"

/* Of all dispatches of kernels with that name (an id of the dictionary). False, nothing written,
 * where none of the counters was recorded. */
bool nl_tell_amd_counters(struct nl_buf *out, const struct nl_trace *trace, uint32_t kernel);

#endif

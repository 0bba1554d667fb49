/*
 * capturedrows — ranges of captures on their way to slices and to table
 * captured_ranges. Not for other rooms.
 *
 * Each range is kept once per process that replays it, below the range around it. In the end all
 * become instants on one lane per process, at the time of its first device work: they have names,
 * parents and inputs, but no length.
 */
#ifndef NL_CAPTUREDROWS_H
#define NL_CAPTUREDROWS_H

#include "base/map.h"
#include "derive/graphcapture.h"
#include "store/columns.h"

struct nl_captured_rows {
    struct nl_captured_range *items;
    size_t count, cap;
    struct nl_lookup by_source;
};

/* Number of the innermost range of the chain, NL_NO_ROW when it is empty. `operators`: without
 * modules and Python functions. */
uint32_t nl_captured_rows_put(struct nl_captured_rows *rows, const struct nl_chain *chain,
                              uint32_t process, bool operators);

/* What the ranges of a chain say: their kinds, names and inputs. */
uint64_t nl_chain_hash(const struct nl_chain *chain, bool operators);

/* Adds the slices and the table, makes kernel.captured of numbers slices, and releases the rows. */
NL_MUST_CHECK bool nl_captured_rows_finish(struct nl_captured_rows *rows, struct nl_finish *finish,
                                           struct nl_err *err);

#endif

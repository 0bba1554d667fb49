/*
 * scope — which slices, and which part of each, a window lets an analysis count.
 *
 * Statistics (counts, totals, percentiles) take the slices that start inside the window, at their
 * whole length; unions of time take the part of each slice that lies inside. Both as SQL's own
 * aggregates do. A window's rank or device is tested on the slice's lane; a device does not exclude
 * lanes without one (threads), a rank excludes lanes whose rank is not known. Ranges of captured
 * graphs have no time and never count.
 */
#ifndef NL_SCOPE_H
#define NL_SCOPE_H

#include "tables/analyze.h"

struct nl_scope {
    const struct nl_trace *trace; /* borrowed */
    int64_t start, end;           /* store time */
    uint8_t *lanes;               /* 1 = its slices may count; NULL = all lanes do */
    bool everything; /* no window: columns that only tell what is outside are not read */
};

void nl_scope_init(struct nl_scope *scope, const struct nl_trace *trace,
                   const struct nl_window *window);
void nl_scope_release(struct nl_scope *scope);

static inline bool nl_scope_lane(const struct nl_scope *scope, uint32_t lane)
{
    return !scope->lanes || scope->lanes[lane];
}

/* The part of a slice inside the window. False when there is none or its length is not known. */
static inline bool nl_scope_slice(const struct nl_scope *scope, uint32_t slice, int64_t *start,
                                  int64_t *end)
{
    const struct nl_slice_table *table = &scope->trace->slice;
    int64_t dur = table->dur[slice];
    if (dur == NL_NULL_I64 || !nl_scope_lane(scope, table->lane[slice]))
        return false;
    int64_t from = table->ts[slice], to = from + dur;
    if (from >= scope->end || to < scope->start || (to == scope->start && dur > 0))
        return false;
    *start = from > scope->start ? from : scope->start;
    *end = to < scope->end ? to : scope->end;
    return true;
}

/* Whether a moment on a lane (NL_NULL_ROW = no lane) counts. */
static inline bool nl_scope_moment(const struct nl_scope *scope, uint32_t lane, int64_t ts)
{
    return ts >= scope->start && ts < scope->end &&
           (lane == NL_NULL_ROW || nl_scope_lane(scope, lane));
}

/* Whole length of a slice that starts inside the window; -1 when it does not, or not known. */
static inline int64_t nl_scope_length(const struct nl_scope *scope, uint32_t slice)
{
    const struct nl_slice_table *table = &scope->trace->slice;
    int64_t dur = table->dur[slice];
    if (scope->everything)
        return dur == NL_NULL_I64 ? -1 : dur;
    bool counts =
        dur != NL_NULL_I64 && nl_scope_moment(scope, table->lane[slice], table->ts[slice]);
    return counts ? dur : -1;
}

/* Number of a lane's device as its processes see it, NL_NULL_I64 unknown. */
int64_t nl_lane_ordinal(const struct nl_trace *trace, uint32_t lane);

#endif

/*
 * scope — windows resolved once per analysis: ranks and devices become one byte per lane, so the
 * test per slice is a load and two comparisons.
 */
#include "tables/scope.h"

int64_t nl_lane_ordinal(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t device = trace->lane.device[lane];
    return device != NL_NULL_ROW ? trace->device.ordinal[device] : NL_NULL_I64;
}

void nl_scope_init(struct nl_scope *scope, const struct nl_trace *trace,
                   const struct nl_window *window)
{
    *scope = (struct nl_scope){.trace = trace, .start = INT64_MIN, .end = INT64_MAX};
    if (window->has_time) {
        scope->start = window->start;
        scope->end = window->end;
    }
    bool whole = !window->has_rank && !window->has_device;
    scope->everything = whole && !window->has_time && !trace->captured.rows;
    if (whole && !trace->captured.rows)
        return;
    scope->lanes = nl_zalloc(trace->lane.rows + 1);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        int64_t ordinal = nl_lane_ordinal(trace, lane);
        bool rank_fits = !window->has_rank || nl_lane_rank(trace, lane) == window->rank;
        bool device_fits =
            !window->has_device || ordinal == NL_NULL_I64 || ordinal == window->device;
        bool timed = trace->lane.kind[lane] != NL_LANE_CAPTURED;
        scope->lanes[lane] = rank_fits && device_fits && timed;
    }
}

void nl_scope_release(struct nl_scope *scope)
{
    nl_free(scope->lanes);
    scope->lanes = NULL;
}

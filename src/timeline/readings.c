/* readings — see readings.h. */
#include "timeline/readings.h"

#include <math.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/median.h"

#define HOLDS 5 /* times the median distance of readings */

/* Readings of one moment do not show how often there is one. */
static int64_t hold_of(const struct nl_readings *r)
{
    int64_t *apart = nl_alloc((r->count + 1) * sizeof *apart), hold = 0;
    size_t count = 0;
    for (size_t i = 1; i < r->count; i++) {
        if (__builtin_sub_overflow(r->items[i].ts, r->items[i - 1].ts, &apart[count]))
            apart[count] = INT64_MAX;
        count += apart[count] > 0;
    }
    if (count && __builtin_mul_overflow(nl_median_upper(apart, count), HOLDS, &hold))
        hold = INT64_MAX;
    nl_free(apart);
    return hold;
}

struct nl_readings nl_readings_new(const struct nl_trace *trace, uint32_t series, double scale)
{
    struct nl_readings r = {0};
    size_t count = 0;
    for (uint32_t row = 0; row < trace->counter.rows; row++)
        count += trace->counter.series[row] == series;
    struct nl_keyed *order = nl_alloc((2 * count + 1) * sizeof *order);
    for (uint32_t row = 0, i = 0; row < trace->counter.rows; row++)
        if (trace->counter.series[row] == series)
            order[i++] = (struct nl_keyed){nl_sort_key(trace->counter.ts[row]), row};
    nl_sort_keyed(order, order + count, count);
    r.items = nl_alloc((count + 1) * sizeof *r.items);
    for (size_t i = 0; i < count; i++) {
        double value = trace->counter.value[order[i].row] * scale;
        if (isfinite(value))
            r.items[r.count++] = (struct nl_reading){trace->counter.ts[order[i].row], value};
    }
    nl_free(order);
    r.hold = hold_of(&r);
    return r;
}

void nl_readings_release(struct nl_readings *readings)
{
    nl_free(readings->items);
    *readings = (struct nl_readings){0};
}

bool nl_series_is_of(const struct nl_trace *trace, uint32_t series, uint32_t device)
{
    uint32_t lane = trace->series.lane[series];
    uint32_t shown = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.device[lane];
    if (shown == NL_NULL_ROW || device == NL_NULL_ROW)
        return false;
    uint32_t uuid = trace->device.uuid[shown];
    return shown == device || (uuid == trace->device.uuid[device] && uuid != NL_NO_NAME &&
                               nl_trace_name(trace, uuid).len);
}

/*
 * Ticks to ns of CLOCK_MONOTONIC, which NTP steers: base/clockmap.h makes a map of the pairs that
 * were taken on the way. Where the recording is in ns of that clock anyway there is nothing to map.
 */
#include "ingest/recording/recording.h"

#include <math.h>

#include "base/sum.h"

#define MAX_NS    ((int64_t)1 << 61)
#define MAX_DRIFT 1e-3 /* the kernel slews by at most half of it */

void rec_clock_add(struct rec_clock *clock, uint64_t ticks, int64_t ns, uint64_t bracket)
{
    if (ns < 0)
        clock->map.odd++;
    else
        (void)nl_clockmap_read(&clock->map, ticks, ns, bracket);
}

void rec_clock_settle(struct rec_clock *clock, uint64_t ticks_per_second)
{
    clock->error_ns = NL_NULL_I64;
    clock->map.counts_per_second = ticks_per_second;
    clock->map.most_drift = MAX_DRIFT;
    nl_clockmap_settle(&clock->map);
    if (isnan(clock->map.bound))
        return;
    if (clock->clock == NL_REC_CLOCK_MONOTONIC)
        clock->error_ns = 0;
    else if (clock->map.bound < (double)MAX_NS)
        clock->error_ns = nl_sum_near(ceil(clock->map.bound)) + 1;
}

int64_t rec_clock_ns(struct rec_clock *clock, uint64_t ticks)
{
    int64_t ns;
    if (clock->clock == NL_REC_CLOCK_MONOTONIC)
        return ticks <= (uint64_t)MAX_NS ? (int64_t)ticks : NL_NULL_I64;
    return nl_clockmap_at(&clock->map, ticks, &ns) ? ns : NL_NULL_I64;
}

void rec_clock_release(struct rec_clock *clock)
{
    nl_clockmap_release(&clock->map);
}

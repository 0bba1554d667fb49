/*
 * readings — what telemetry read of one counter, in order of time. A reading says something of
 * the time up to the next one of its counter, at most five times their median distance: where
 * readings stop, nothing is known.
 *
 *     struct nl_readings r = nl_readings_new(trace, series, 1e-3);
 *     for (size_t i = 0; i < r.count; i++)
 *         … r.items[i].ts, r.items[i].value …
 *     nl_readings_release(&r);
 */
#ifndef NL_READINGS_H
#define NL_READINGS_H

#include "store/trace.h"

struct nl_reading {
    int64_t ts; /* store time, ns */
    double value;
};

struct nl_readings {
    struct nl_reading *items; /* ascending by time; those of one moment as they were read */
    size_t count;
    int64_t hold; /* ns that a reading holds; 0 with fewer than two moments */
};

/* Finite readings of a row of counter_series, times `scale`. */
struct nl_readings nl_readings_new(const struct nl_trace *trace, uint32_t series, double scale);
void nl_readings_release(struct nl_readings *readings);

/* Whether a row of counter_series is about a device; its UUID stands for the device where
 * another process shows it. */
bool nl_series_is_of(const struct nl_trace *trace, uint32_t series, uint32_t device);

#endif

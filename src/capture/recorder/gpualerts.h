/*
 * gpualerts — the values of one GPU as they come, compared with the thresholds of alerts.h. Both
 * who records and who shows live feed it.
 */
#ifndef NL_GPUALERTS_H
#define NL_GPUALERTS_H

#include "capture/recorder/alerts.h"
#include "capture/gpu/gpu.h"

struct gpu_latest {
    uint64_t have; /* GPU_BITs */
    double value[GPU_METRICS];
    struct alerts alerts;
};

static inline double gpu_latest(const struct gpu_latest *latest, enum gpu_metric metric)
{
    return latest->have & GPU_BIT(metric) ? latest->value[metric] : 0;
}

/* Keeps a value; returns the bits of the rows that it crossed. */
uint32_t gpu_latest_see(struct gpu_latest *latest, unsigned metric, double value);

#endif

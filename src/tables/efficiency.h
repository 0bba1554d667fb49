/*
 * efficiency — how much of a device's peak a program uses: MFU, HFU, rates per device.
 *
 *     HFU = Σ over matrix products (FLOPs done / peak of their type) / time
 *     MFU = the same of the FLOPs that the model needs: as given (--flops-per-step), else what was
 *     done less what attention's backward pass computes again
 *
 * The time is that of the steady steps where there are any, else from first to last work.
 */
#ifndef NL_EFFICIENCY_H
#define NL_EFFICIENCY_H

#include "tables/memo.h"

struct nl_efficiency {
    int64_t rank;
    uint32_t device; /* row */
    const struct nl_device_peaks *peaks;
    int64_t wall_ns, kernel_ns; /* kernels: sum of lengths */
    uint64_t steps;             /* steady steps that the figures are over; 0: everything */
    double flops, model_flops;  /* done, needed; NaN unknown */
    double peak_s;              /* FLOPs done over their peaks */
    double mfu, hfu;            /* NaN unknown */
    double tokens_per_s;        /* NaN unless given */
    double peak_flops;          /* of the type with most FLOPs; NaN unknown */
    enum work_type type;        /* that type */
    int64_t matrix_ns;          /* kernels of matrix products */
    double clock_hz;            /* mean of what telemetry read meanwhile; NaN unknown */
    double peak_clock;          /* at which the peaks hold; NaN unknown */
};

/* One row per device that ran kernels, by rank and device; nl_free it. */
struct nl_efficiency *nl_efficiency_new(const struct nl_trace *trace,
                                        const struct nl_analyze_options *options, size_t *count);

/* HFU of what the device can do at the clock that it ran at; NaN unknown. */
double nl_hfu_at_clock(const struct nl_efficiency *row);

#endif

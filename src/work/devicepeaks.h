/*
 * devicepeaks — what each device of a trace can do at most: by its product name (gpupeaks.h), or by its capability,
 * multiprocessors and memory where the name is not told; else
 * estimated from its multiprocessors, clock and compute capability, and marked so; else unknown.
 *
 *     struct nl_device_peaks *peaks = nl_device_peaks_new(trace);     // one per row of trace->device
 *     double most = nl_peak_flops(&peaks[device], WORK_BF16, true);   // NaN: not known
 *     nl_device_peaks_free(peaks);
 */
#ifndef NL_DEVICEPEAKS_H
#define NL_DEVICEPEAKS_H

#include "store/trace.h"
#include "work/gpupeaks.h"
#include "work/worktype.h"

struct nl_device_peaks {
    double figures[GPU_FIGURES]; /* per second; NaN unknown */
    bool known;                  /* some figure is */
    bool estimated;              /* operations by multiprocessors × clock */
    const char *product;         /* its name, or NULL; lives with the peaks */
    const char *source;          /* who says so, or how it was estimated; lives with the peaks */
};

struct nl_device_peaks *nl_device_peaks_new(const struct nl_trace *trace);
void nl_device_peaks_free(struct nl_device_peaks *peaks);

/* Operations per second at most: of products of matrices (`matrix`) in that type, else of ordinary
 * arithmetic, which runs at the FP32 rate for narrower types. */
double nl_peak_flops(const struct nl_device_peaks *peaks, enum work_type type, bool matrix);

#endif

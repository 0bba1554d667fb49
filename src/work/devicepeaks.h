/*
 * devicepeaks — what each device of a trace can do at most: by its product name (gpupeaks.h), or by
 * its capability, multiprocessors and memory if the name is unknown; else estimated from its
 * multiprocessors, clock and compute capability, and marked so; else unknown. What `neurolens roof`
 * measured on the profile's own host is preferred.
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
    double figures[GPU_FIGURES]; /* per second, those measured on its host first; NaN unknown */
    double nominal[GPU_FIGURES]; /* as the maker states, or estimated; NaN unknown */
    bool known;                  /* some figure is */
    bool estimated;              /* operations by multiprocessors × clock */
    bool measured;               /* some figure was measured on its host */
    const char *product;         /* its name, or NULL; lives with the peaks */
    const char *source;          /* who says so, or how it was estimated; lives with the peaks */
};

/* After the devices' stands one more: the processors of the host, known only where they were
 * measured (trace->roofs), of as many threads as did most. */
struct nl_device_peaks *nl_device_peaks_new(const struct nl_trace *trace);
static inline const struct nl_device_peaks *nl_host_peaks(const struct nl_device_peaks *peaks,
                                                          const struct nl_trace *trace)
{
    return &peaks[trace->device.rows];
}
void nl_device_peaks_free(struct nl_device_peaks *peaks);

/* Operations per second at most: of matrix products (`matrix`) in that type, else of ordinary
 * arithmetic, which runs at the FP32 rate for narrower types. */
double nl_peak_flops(const struct nl_device_peaks *peaks, enum work_type type, bool matrix);
/* The same by the maker's figures, which MFU and HFU are defined by. */
double nl_nominal_flops(const struct nl_device_peaks *peaks, enum work_type type, bool matrix);
/* The clock at which the device does its peak in FP16 products (the maker's
 * figure), by its multiprocessors and their operations per clock; NaN unknown.
 * Peaks grow and fall with the clock. */
double nl_clock_of_peak(const struct nl_trace *trace, uint32_t device,
                        const struct nl_device_peaks *peaks);

#endif

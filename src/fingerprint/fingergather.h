/*
 * fingergather — the parts of a fingerprint, each from its tables. Private to compare/.
 */
#ifndef NL_FINGERGATHER_H
#define NL_FINGERGATHER_H

#include "tables/memo.h"
#include "tables/scope.h"
#include "fingerprint/fingersteady.h"
#include "fingerprint/fingertally.h"
#include "work/countedflops.h"
#include "work/gpupeaks.h"

/* What one device can do at most; NaN where that is not known. */
struct fp_peaks {
    double figures[GPU_FIGURES];
};

struct fp_gather {
    const struct nl_trace *trace;
    struct nl_analyze_options options; /* with the memo */
    struct nl_scope device, host;
    struct fp_excluded excluded;
    struct fp_peaks *peaks;                /* per device */
    struct fp_peaks unknown;               /* all NaN */
    const struct fp_peaks *common;         /* of all devices that kernels ran on, or &unknown */
    const char *device_name, *peak_source; /* of all of them, or NULL */
};

void fp_gather_init(struct fp_gather *gather, const struct nl_trace *trace,
                    const struct nl_window *window, struct nl_memo *memo, struct nl_arena *arena);
void fp_gather_release(struct fp_gather *gather);

/* Whole length of a slice that counts; -1 when it does not, or is not known. */
int64_t fp_device_length(const struct fp_gather *gather, uint32_t slice);
int64_t fp_host_length(const struct fp_gather *gather, uint32_t slice);

void fp_gather_device(const struct fp_gather *gather, struct fp_tally *tally);
/* Operators by the device time that they launched, and by their own time on the host. */
void fp_gather_ops(const struct fp_gather *gather, struct fp_tally *launched, struct fp_tally *own);
void fp_gather_layers(const struct fp_gather *gather, struct fp_tally *tally);

/* The signature of a kernel: its function's own name with its template arguments, as far as the name tells
 * them, without what numbers instances. Its family: the same without template arguments. */
void fp_kernel_signature(struct nl_buf *out, struct nl_buf *family, struct nl_str name);

#endif

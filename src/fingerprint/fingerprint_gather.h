/*
 * fingerprint_gather — the parts of a fingerprint, each from its tables. Private to compare/.
 */
#ifndef NL_FINGERPRINT_GATHER_H
#define NL_FINGERPRINT_GATHER_H

#include "tables/memo.h"
#include "tables/scope.h"
#include "fingerprint/fingerprint_steady.h"
#include "fingerprint/fingerprint_tally.h"
#include "work/countedflops.h"
#include "work/gpupeaks.h"

/* What one device can do at most; NaN where that is not known. */
struct fingerprint_peaks {
    double figures[GPU_FIGURES];
};

struct fingerprint_gather {
    const struct nl_trace *trace;
    struct nl_analyze_options options; /* with the memo */
    struct nl_scope device, host;
    struct fingerprint_excluded excluded;
    struct fingerprint_peaks *peaks;        /* per device */
    struct fingerprint_peaks unknown;       /* all NaN */
    const struct fingerprint_peaks *common; /* of all devices that kernels ran on, or &unknown */
    const char *device_name, *peak_source;  /* of all of them, or NULL */
};

void fingerprint_gather_init(struct fingerprint_gather *gather, const struct nl_trace *trace,
                             const struct nl_window *window, struct nl_memo *memo,
                             struct nl_arena *arena);
void fingerprint_gather_release(struct fingerprint_gather *gather);

/* Whole length of a slice that counts; -1 when it does not, or is not known. */
int64_t fingerprint_device_length(const struct fingerprint_gather *gather, uint32_t slice);
int64_t fingerprint_host_length(const struct fingerprint_gather *gather, uint32_t slice);

void fingerprint_gather_device(const struct fingerprint_gather *gather,
                               struct fingerprint_tally *tally);
/* Operators by the device time that they launched, and by their own time on the host. */
void fingerprint_gather_ops(const struct fingerprint_gather *gather,
                            struct fingerprint_tally *launched, struct fingerprint_tally *own);
void fingerprint_gather_layers(const struct fingerprint_gather *gather,
                               struct fingerprint_tally *tally);

/* The signature of a kernel: its function's own name with its template arguments, as far as the
 * name has them, without instance numbers. Its family: the same without template arguments. */
void fingerprint_kernel_signature(struct nl_buf *out, struct nl_buf *family, struct nl_str name);

#endif

/*
 * roofline — how far work is from what its device could do: per operator, family of models,
 * module, step and device.
 *
 * The least time of one operator call is max(FLOPs / peak of its element type, bytes / memory
 * bandwidth); its attainable rate is min(peak, intensity × bandwidth). What it took beyond least /
 * target is headroom: time that a kernel at `target` (0.8) of its roof would save. Communication
 * and work without a model have none.
 */
#ifndef NL_ROOFLINE_H
#define NL_ROOFLINE_H

#include "work/devicepeaks.h"
#include "work/opwork.h"
#include "work/workplaces.h"

#define NL_ROOF_TARGET 0.8
#define NL_ROOF_BROKEN 1.05 /* of the roof: more than this is not possible */

enum nl_bound {
    NL_BOUND_UNKNOWN,
    NL_BOUND_COMPUTE,
    NL_BOUND_MEMORY,
    NL_BOUND_LATENCY, /* kernels too short to get near any roof */
    NL_BOUND_COMMUNICATION,
    NL_BOUNDS
};

enum nl_roof_kind {
    NL_ROOF_OPERATOR,
    NL_ROOF_FAMILY,
    NL_ROOF_LAYER, /* module or range; operators in none have no row */
    NL_ROOF_STEP,
    NL_ROOF_DEVICE,
    NL_ROOF_KINDS
};

struct nl_roof {
    enum nl_roof_kind kind;
    uint32_t device; /* row, NL_NULL_ROW unknown */
    int64_t rank;
    uint32_t name;    /* of an operator or layer: dictionary id */
    uint32_t step;    /* of a step: its index in the found steps */
    const char *text; /* of a family or device: its name; static or the peaks' */
    uint8_t type, family;
    bool matrix;
    uint64_t calls, kernels; /* a kernel in no operator is a call */
    int64_t ns, judged_ns;   /* judged: calls with a roof */
    double flops, bytes;     /* sums over calls with known values; NaN when none does */
    int64_t flops_ns, bytes_ns;
    double compute_s, memory_s, least_s; /* at the roof: by FLOPs, by bytes, the larger per call */
    double peak_s;     /* FLOPs of products over the makers' peaks of their types, all calls */
    double again_s;    /* of peak_s: what the backward pass of attention computes again */
    double attainable; /* FLOPs per second; NaN unknown */
    /* The roofs themselves, per second: arithmetic of an operator's type,
     * and memory; NaN unknown */
    double peak_flops, peak_bytes;
    int64_t headroom_ns; /* NL_NULL_I64 unknown */
    enum nl_bound bound;
    bool over;   /* faster than the device can be: model or measurement is wrong */
    bool cached; /* faster than memory can be: a cache holds the data */
};

/* The least time of one call in seconds: by its FLOPs, by its bytes, and the larger of both, which
 * is its roof; NaN where it is not known. `peaks` may be NULL. */
struct nl_least_time {
    double compute, memory, both;
};
/* The peaks that hold for a row: its device's, or the host's where operators ran on
 * processors; NULL unknown. */
const struct nl_device_peaks *nl_peaks_of(const struct nl_op_works *works,
                                          const struct nl_op_work *work,
                                          const struct nl_device_peaks *peaks);
struct nl_least_time nl_least_time(const struct nl_op_work *work,
                                   const struct nl_device_peaks *peaks);

struct nl_roofs {
    struct nl_roof
        *items; /* by kind, then headroom and time, both descending; steps by rank, device, time */
    size_t count, cap;
    struct nl_device_order order; /* of items */
};

/* `places` NULL: no rows of layers and steps. */
void nl_roofs_init(struct nl_roofs *roofs, const struct nl_op_works *works,
                   const struct nl_device_peaks *peaks, const struct nl_work_places *places,
                   double target);
void nl_roofs_release(struct nl_roofs *roofs);

const char *nl_bound_text(enum nl_bound bound);        /* "compute"; NULL unknown */
const char *nl_roof_kind_text(enum nl_roof_kind kind); /* "operator" */

/* Share of the roof that was reached, 0..; NaN unknown. */
double nl_roof_share(const struct nl_roof *roof);
/* Rates over calls with known values; NaN unknown. */
double nl_roof_flops_per_s(const struct nl_roof *roof);
double nl_roof_bytes_per_s(const struct nl_roof *roof);
/* Operations per byte; NaN unknown. */
double nl_roof_intensity(const struct nl_roof *roof);

#endif

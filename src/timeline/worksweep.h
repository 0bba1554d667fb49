/*
 * worksweep — device work in order of start, over all lanes of a device, without building a list.
 *
 * A lane's slices of one depth are in time order, so a device is a handful of ascending runs; the
 * sweep merges them through a heap and hands out batches. It looks at kernels, copies, memsets and
 * whole-graph records and at nothing else (waits, annotations and overhead are not work).
 *
 *     count = nl_work_lanes(trace, window, &lanes);          groups of equal `device`, sorted
 *     nl_sweep_open(&sweep, trace, window, lanes + i, n);
 *     while ((got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0) ...
 *     nl_sweep_close(&sweep);
 */
#ifndef NL_WORKSWEEP_H
#define NL_WORKSWEEP_H

#include "timeline/breakdown.h"

#define NL_SWEEP_BATCH 256

enum nl_work_class { NL_IS_NO_WORK, NL_IS_COMPUTE, NL_IS_COMM, NL_IS_COPY, NL_WORK_CLASSES };

/* A lane that holds device work; lanes of one device (of one process, when the device is not
 * known) are neighbours in the array of nl_work_lanes. */
struct nl_work_lane {
    uint32_t device, process, lane; /* rows; NL_NULL_ROW unknown */
    int64_t rank;
};

/* Lanes with device work that the window's rank and device allow; nl_free the array. */
size_t nl_work_lanes(const struct nl_trace *trace, const struct nl_window *window,
                     struct nl_work_lane **lanes);

/* The device's work outside a window of time: what ends last of that which begins before it, and
 * what begins first at or after its end; NL_NULL_ROW = none, or no window of time. Between the two
 * the device was there, so that the window's edges are its idle time. */
void nl_work_beyond(const struct nl_trace *trace, const struct nl_window *window,
                    const struct nl_work_lane *lanes, size_t count, uint32_t *before,
                    uint32_t *after);

/* How many of `count` lanes, from the first on, belong to the same device. */
size_t nl_work_device_lanes(const struct nl_work_lane *lanes, size_t count);

/* Slices on the lanes: at least as many as there is work. */
size_t nl_work_slices(const struct nl_trace *trace, const struct nl_work_lane *lanes, size_t count);

/* The device of some lanes, and the process and rank where all lanes have the same. */
struct nl_work_device {
    uint32_t device, process; /* rows; NL_NULL_ROW unknown */
    int64_t rank, ordinal;    /* NL_NULL_I64 unknown */
};
struct nl_work_device nl_work_device(const struct nl_trace *trace, const struct nl_work_lane *lanes,
                                     size_t count);

/* The order of devices in tables, as qsort asks for it: by rank, then ordinal. */
int nl_work_device_order(struct nl_work_device a, struct nl_work_device b);

struct nl_work {
    int64_t start, end; /* clipped to the window; end == start for work of no length */
    enum nl_work_class class;
    uint32_t slice;
};

struct nl_sweep_run {
    int64_t start; /* of the slice in `row` */
    uint32_t row, last;
};

struct nl_sweep {
    const struct nl_trace *trace;
    int64_t window_start, window_end;
    struct nl_sweep_run *runs; /* a heap by start */
    size_t run_count, run_cap;
    uint64_t seen[UINT8_MAX + 1]; /* work per kind so far, that of unknown length too */
};

void nl_sweep_open(struct nl_sweep *sweep, const struct nl_trace *trace,
                   const struct nl_window *window, const struct nl_work_lane *lanes, size_t count);
size_t nl_sweep_next(struct nl_sweep *sweep, struct nl_work *batch, size_t room);
void nl_sweep_close(struct nl_sweep *sweep);

#endif

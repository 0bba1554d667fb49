/*
 * breakdown — the aggregates everybody asks, computed natively: where each device's time goes, and
 * statistics per name. SQL shows them as time_breakdown and kernel_summary; analyses use them as
 * they are.
 */
#ifndef NL_BREAKDOWN_H
#define NL_BREAKDOWN_H

#include "timeline/interval.h"
#include "store/trace.h"

/* Limits what an aggregate looks at. Zeroed = everything. */
struct nl_window {
    bool has_time;
    int64_t start, end; /* absolute store time; a slice counts if it is in [start, end) */
    bool has_rank, has_device;
    int64_t rank, device; /* device = ordinal */
};

/*
 * One device of one rank. wall = last end - first start of its work, as
 * HTA's kernel_time, clipped to
 * the window: where the device worked before the window, wall begins with it, and so at its end. The identity  compute + exposed_comm + exposed_copy + idle = wall  is exact:
 * busy time under compute is compute; else under communication exposed_comm; else under copies or
 * memsets exposed_copy. Graph-level records (kernels inside not recorded) count as compute.
 */
struct nl_device_breakdown {
    uint32_t device, process; /* rows; NL_NULL_ROW unknown */
    int64_t rank, ordinal;    /* NL_NULL_I64 unknown */
    int64_t start_ns, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns;
    int64_t comm_ns, copy_ns,
        overlap_ns; /* unions: communication, copies+memsets, comm ∩ compute */
    uint64_t kernels, copies, memsets;
    /* Start times of kernels are unknown: they are laid end to end, so only the unions compute,
     * comm and copy are valid. nl_breakdown_shown() sets the rest to NULL. */
    bool starts_unknown;
};

/* The row for display: unknown values are NL_NULL_I64. */
struct nl_device_breakdown nl_breakdown_shown(const struct nl_device_breakdown *row);

/* Rows sorted by (rank, device). The array is nl_free'd by the caller; *count rows. */
struct nl_device_breakdown *nl_time_breakdown(const struct nl_trace *trace,
                                              const struct nl_window *window, size_t *count);

/* The row of the device with most of the time at work, the earlier of equals; one whose work is in
 * less than half the time of the others' says more: they were recorded in separate windows. */
size_t nl_breakdown_busiest(const struct nl_device_breakdown *rows, size_t count);

/* When one device (a row; NL_NULL_ROW unknown) computes, communicates, and copies or fills, under a
 * window (NULL = always): normal sets, which may overlap. `lanes` is what nl_work_lanes gave for
 * the same window, once for all devices. Initialises `sets`. */
struct nl_work_lane;
struct nl_device_sets {
    struct nl_intervals compute, comm, copy;
};
void nl_device_intervals_of(const struct nl_trace *trace, const struct nl_window *window,
                            const struct nl_work_lane *lanes, size_t count, uint32_t device,
                            struct nl_device_sets *sets);
/* The same for one device alone, which looks for the lanes itself. */
void nl_device_intervals(const struct nl_trace *trace, const struct nl_window *window,
                         uint32_t device, struct nl_device_sets *sets);
void nl_device_sets_release(struct nl_device_sets *sets);

/* Statistics of a group of durations. median and p95: linear interpolation between closest ranks
 * (as numpy's default and as `nsys stats` medians); stddev: sample standard deviation (n - 1), NULL
 * (NaN) for one. */
struct nl_group_stats {
    uint32_t name; /* dictionary id */
    uint64_t count;
    int64_t total_ns, min_ns, max_ns;
    double median_ns, p95_ns, mean_ns, stddev_ns;
};

/* Slices of which those count whose length is known and that start in [start, end) on a lane with a
 * 1 in `lanes` (NULL = on any). */
struct nl_slice_list {
    const uint32_t *slices;
    uint32_t rows;
    int64_t start, end;
    const uint8_t *lanes;
    bool everything; /* all of them start there: neither times nor lanes are read */
};

static inline bool nl_slice_listed(const struct nl_slice_list *list,
                                   const struct nl_slice_table *slice, uint32_t row)
{
    if (slice->dur[row] == NL_NULL_I64)
        return false;
    return list->everything || (slice->ts[row] >= list->start && slice->ts[row] < list->end &&
                                (!list->lanes || list->lanes[slice->lane[row]]));
}

#endif

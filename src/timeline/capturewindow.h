/*
 * capturewindow — files that hold one device of one rank, recorded one after the other, as a
 * profiler writes them that makes a file per cycle: when the devices of a trace worked, and from
 * when to when each stands for its device. Steps are found per rank, over all files: the window of
 * a device says which of them are its own.
 *
 *     struct nl_capture_window *windows = nl_capture_windows(trace); // NULL: no device is there twice
 *     if (nl_capture_holds(windows, device, step)) ...
 *     nl_free(windows);
 */
#ifndef NL_CAPTUREWINDOW_H
#define NL_CAPTUREWINDOW_H

#include "timeline/stepfind.h"

struct nl_device_span {
    int64_t start, end; /* of its streams' work; start > end without any */
    int64_t rank;       /* of the processes that used it, the last's; NL_NULL_I64 unknown */
    uint32_t device;    /* row */
};

/* One per row of trace->device, and one more; nl_free it. */
struct nl_device_span *nl_device_spans(const struct nl_trace *trace);

/* Whether two rows of trace->device, of different files, are one device. */
bool nl_is_same_device(const struct nl_trace *trace, uint32_t a, uint32_t b);

/* [start, end), store time: from halfway to the capture before to halfway to the next. */
struct nl_capture_window {
    int64_t start, end;
};

/* One per row of trace->device, of all times where a device is there once. Devices whose captures
 * overlap were used by several programs at once, and count as there once. */
struct nl_capture_window *nl_capture_windows(const struct nl_trace *trace);

/* Whether the step, by its middle, is of the device's capture. `windows` may be NULL. */
bool nl_capture_holds(const struct nl_capture_window *windows, uint32_t device,
                      const struct nl_found_step *step);

#endif

/*
 * packed — forms in which rows are staged that take less than their own: without what is unknown in most
 * of them. builder.c chooses one per block by its width (staged_width, copy_row), columns.c finds the
 * columns in it (staged_field). Not for other rooms.
 */
#ifndef NL_PACKED_H
#define NL_PACKED_H

#include "store/schema.h"

/* A slice while staged: what finishing does not compute. */
struct nl_slice_packed {
    int64_t ts, dur;
    uint32_t name, lane;
    uint8_t kind, flags;
};

/* A metric that is a number and has no names but its own: the row's beginning. */
struct nl_metric_packed {
    uint32_t slice, name;
    double value;
};
_Static_assert(offsetof(struct nl_metric_row, slice) == 0 &&
                   offsetof(struct nl_metric_row, name) == 4 &&
                   offsetof(struct nl_metric_row, value) == 8 &&
                   offsetof(struct nl_metric_row, unit) == sizeof(struct nl_metric_packed),
               "a packed metric is the beginning of a row");

/* Bytes of a metric's row up to its text, and up to what only joined reports tell. */
#define METRIC_TEXTLESS offsetof(struct nl_metric_row, text)
#define METRIC_OWN      offsetof(struct nl_metric_row, measured)
_Static_assert(offsetof(struct nl_metric_row, section) + 4 == METRIC_TEXTLESS &&
                   METRIC_TEXTLESS == 24 &&
                   offsetof(struct nl_metric_row, measurement) + 4 == METRIC_OWN &&
                   METRIC_OWN == 32,
               "metrics without a text, or of no joined report, are the beginning of a row");

/* A sample of a profile that has no times: without them, and without a processor. */
struct nl_sample_packed {
    int64_t weight;
    uint32_t stack, unit, event, lane;
};

/* Bytes of a kernel's row up to what only some sources tell. */
#define KERNEL_PLAIN offsetof(struct nl_kernel_row, external_id)
_Static_assert(offsetof(struct nl_kernel_row, category) > KERNEL_PLAIN &&
                   offsetof(struct nl_kernel_row, tensor_core) > KERNEL_PLAIN &&
                   offsetof(struct nl_kernel_row, dtype) > KERNEL_PLAIN &&
                   offsetof(struct nl_kernel_row, measurement) > KERNEL_PLAIN &&
                   KERNEL_PLAIN % 8 == 0,
               "a plain kernel is the beginning of a row");

#endif

/*
 * bydevice — rows of a side table of device work (copies, fills, waits, graphs) grouped by rank,
 * device and a key of the analysis: what such an analysis is, but for its key and its columns.
 *
 *     return nl_by_device(trace, options, &(struct nl_by_device){
 *         .name = "syncs", .columns = columns, .column_count = ..., .rows = trace->sync.rows,
 *         .slice = trace->sync.slice, .key = kind_of, .cells = fill});
 *
 * Rows of the result are in order of time, most first. The first two columns are rank and device;
 * the others are the caller's.
 */
#ifndef NL_BYDEVICE_H
#define NL_BYDEVICE_H

#include "tables/resultcells.h"
#include "tables/groups.h"

/* The cells that every such row begins with. */
enum { NL_BY_DEVICE_RANK, NL_BY_DEVICE_DEVICE };

struct nl_by_device {
    const char *name;
    const struct nl_result_column *columns;
    size_t column_count;
    uint32_t rows; /* of the side table */
    const uint32_t *slice;
    const uint64_t *bytes; /* NULL: the table has no sizes */
    uint64_t (*key)(const struct nl_trace *trace, uint32_t row);
    /* Fills the row, but for rank and device; group->a is the key, whole the time of all groups. */
    void (*cells)(struct nl_cell *cells, const struct nl_group *group, int64_t whole);
};

struct nl_result *nl_by_device(const struct nl_trace *trace,
                               const struct nl_analyze_options *options,
                               const struct nl_by_device *grouping);

/* Bytes of the rows whose size is known, and those by their time; NULL when no size is. */
struct nl_cell nl_by_device_bytes(const struct nl_group *group);
struct nl_cell nl_by_device_bandwidth(const struct nl_group *group);

#endif

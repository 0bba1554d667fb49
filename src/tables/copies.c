/*
 * copies — memory copies by direction, kinds of memory, rank and device, with the bandwidth they
 * reached and whether pageable host memory was involved.
 */
#include "tables/bydevice.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(kind, NULL, TEXT)                                                                            \
    C(src_memory, "from", TEXT)                                                                    \
    C(dst_memory, "to", TEXT)                                                                      \
    C(count, NULL, COUNT)                                                                          \
    C(bytes, NULL, BYTES)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(share, NULL, SHARE)                                                                          \
    C(min_ns, "min", NS)                                                                           \
    C(median_ns, "median", NS)                                                                     \
    C(max_ns, "max", NS)                                                                           \
    C(bandwidth_bytes_per_s, "bandwidth", RATE)                                                    \
    C(pageable, NULL, INTEGER)
NL_COLUMNS(COLUMNS);

static uint64_t key(const struct nl_trace *trace, uint32_t row)
{
    const struct nl_copy_table *copy = &trace->copy;
    return (uint64_t)copy->kind[row] << 16 | (uint64_t)copy->src_memory[row] << 8 |
           copy->dst_memory[row];
}

static struct nl_cell pageable(unsigned src, unsigned dst)
{
    if (src == NL_MEMORY_PAGEABLE || dst == NL_MEMORY_PAGEABLE)
        return nl_cell_i64(1);
    return nl_cell_i64(src && dst ? 0 : NL_NULL_I64);
}

static void fill_copy_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole)
{
    unsigned src = group->a >> 8 & 0xff, dst = group->a & 0xff;
    cells[AT_kind] = nl_cell_enum(NL_ENUM_copykind, group->a >> 16 & 0xff);
    cells[AT_src_memory] = nl_cell_enum(NL_ENUM_memory, src);
    cells[AT_dst_memory] = nl_cell_enum(NL_ENUM_memory, dst);
    cells[AT_count] = nl_cell_count(group->stats.count);
    cells[AT_bytes] = nl_by_device_bytes(group);
    cells[AT_total_ns] = nl_cell_i64(group->stats.total_ns);
    cells[AT_share] = nl_cell_share(group->stats.total_ns, whole);
    cells[AT_min_ns] = nl_cell_i64(group->stats.min_ns);
    cells[AT_median_ns] = nl_cell_f64(group->stats.median_ns);
    cells[AT_max_ns] = nl_cell_i64(group->stats.max_ns);
    cells[AT_bandwidth_bytes_per_s] = nl_by_device_bandwidth(group);
    cells[AT_pageable] = pageable(src, dst);
}

static struct nl_result *copies_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    return nl_by_device(trace, options,
                        &(struct nl_by_device){.name = "copies",
                                               .columns = columns,
                                               .column_count = sizeof columns / sizeof columns[0],
                                               .rows = trace->copy.rows,
                                               .slice = trace->copy.slice,
                                               .bytes = trace->copy.bytes,
                                               .key = key,
                                               .cells = fill_copy_cells});
}

const struct nl_analysis nl_analysis_copies = {
    .name = "copies",
    .key = "copies",
    .title = "Memory copies",
    .needs = {{NL_T_copy, NULL}},
    .need_count = 1,
    .run = copies_run,
    .doc = "Per rank, device, direction and kinds of memory: count, bytes, time, and bandwidth = "
           "bytes / time of the copies whose size is known. pageable = 1 if either side is "
           "pageable host memory, NULL if the kinds of memory were not recorded.",
};

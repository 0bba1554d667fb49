/*
 * copies — memory copies by direction, kinds of memory, rank and device, with the bandwidth they
 * reached and whether pageable host memory was involved.
 */
#include "tables/bydevice.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"kind", NULL, NL_MEANS_TEXT},
    {"src_memory", "from", NL_MEANS_TEXT},
    {"dst_memory", "to", NL_MEANS_TEXT},
    {"count", NULL, NL_MEANS_COUNT},
    {"bytes", NULL, NL_MEANS_BYTES},
    {"total_ns", "total", NL_MEANS_NS},
    {"share", NULL, NL_MEANS_SHARE},
    {"min_ns", "min", NL_MEANS_NS},
    {"median_ns", "median", NL_MEANS_NS},
    {"max_ns", "max", NL_MEANS_NS},
    {"bandwidth_bytes_per_s", "bandwidth", NL_MEANS_RATE},
    {"pageable", NULL, NL_MEANS_INTEGER},
};

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

static void fill(struct nl_cell *cells, const struct nl_group *group, int64_t whole)
{
    unsigned src = group->a >> 8 & 0xff, dst = group->a & 0xff;
    cells[0] = nl_answer_enum(NL_ENUM_copykind, group->a >> 16 & 0xff);
    cells[1] = nl_answer_enum(NL_ENUM_memory, src);
    cells[2] = nl_answer_enum(NL_ENUM_memory, dst);
    cells[3] = nl_answer_count(group->stats.count);
    cells[4] = nl_by_device_bytes(group);
    cells[5] = nl_cell_i64(group->stats.total_ns);
    cells[6] = nl_answer_share(group->stats.total_ns, whole);
    cells[7] = nl_cell_i64(group->stats.min_ns);
    cells[8] = nl_cell_f64(group->stats.median_ns);
    cells[9] = nl_cell_i64(group->stats.max_ns);
    cells[10] = nl_by_device_bandwidth(group);
    cells[11] = pageable(src, dst);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
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
                                               .cells = fill});
}

const struct nl_analysis nl_analysis_copies = {
    .name = "copies",
    .key = "copies",
    .title = "Memory copies",
    .needs = {{NL_T_copy, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank, device, direction and kinds of memory: count, bytes, time, and bandwidth = "
           "bytes / time of the copies whose size is known. pageable = 1 where pageable host "
           "memory is on either side, NULL where the kinds of memory were not recorded.",
};

/* op_work — what operators had to do and how fast they did it, by name and element type. */
#include "tables/resultcells.h"
#include "base/sum.h"
#include "tables/workrows.h"

#include <stdlib.h>

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(name, "operator", TEXT)                                                                      \
    C(model, NULL, TEXT)                                                                           \
    C(dtype, "type", TEXT)                                                                         \
    C(count, "calls", COUNT)                                                                       \
    C(total_ns, "time", NS)                                                                        \
    C(share, NULL, SHARE)                                                                          \
    C(flops, "FLOP", COUNT)                                                                        \
    C(bytes, NULL, BYTES)                                                                          \
    C(flops_per_s, "FLOP/s", FLOPS)                                                                \
    C(bytes_per_s, "rate", RATE)                                                                   \
    C(intensity, "FLOP/B", NUMBER)                                                                 \
    C(roof_share, "of roof", SHARE)
NL_COLUMNS(COLUMNS);

static int by_time(const void *a, const void *b)
{
    const struct nl_roof *x = *(const struct nl_roof *const *)a,
                         *y = *(const struct nl_roof *const *)b;
    return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : x < y ? -1 : x > y;
}

static void op_work_add_row(struct nl_result *result, const struct nl_trace *trace,
                            const struct nl_roof *roof, int64_t total)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(roof->rank);
    cells[AT_device] = nl_cell_i64(nl_roof_ordinal(trace, roof));
    cells[AT_name] = nl_roof_name(result, trace, roof);
    cells[AT_model] = nl_cell_static(work_family_name((enum work_family)roof->family));
    cells[AT_dtype] = nl_cell_static(work_type_name((enum work_type)roof->type));
    cells[AT_count] = nl_cell_count(roof->calls);
    cells[AT_total_ns] = nl_cell_i64(roof->ns);
    cells[AT_share] = nl_cell_share(roof->ns, total);
    cells[AT_flops] = nl_cell_whole(roof->flops);
    cells[AT_bytes] = nl_cell_whole(roof->bytes);
    cells[AT_flops_per_s] = nl_cell_f64(nl_roof_flops_per_s(roof));
    cells[AT_bytes_per_s] = nl_cell_f64(nl_roof_bytes_per_s(roof));
    cells[AT_intensity] = nl_cell_f64(nl_roof_intensity(roof));
    cells[AT_roof_share] = nl_cell_f64(nl_roof_share(roof));
}

static struct nl_result *op_work_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_roofs *roofs = nl_memo_roofs(options->memo);
    const struct nl_roof **order = nl_alloc((roofs->count + 1) * sizeof *order);
    size_t count = 0;
    int64_t total = 0;
    for (size_t i = 0; i < roofs->count; i++)
        if (roofs->items[i].kind == NL_ROOF_OPERATOR) {
            order[count++] = &roofs->items[i];
            nl_sum_add(&total, roofs->items[i].ns);
        }
    qsort(order, count, sizeof *order, by_time);
    struct nl_result *result = NL_ANSWER_NEW("op_work", NULL, columns);
    for (size_t i = 0; i < count; i++)
        op_work_add_row(result, trace, order[i], total);
    nl_result_settle(result, "total_ns");
    result->note = nl_work_coverage(result, nl_memo_works(options->memo));
    nl_roof_note(result);
    nl_free(order);
    return result;
}

const struct nl_analysis nl_analysis_op_work = {
    .name = "op_work",
    .key = "op_work",
    .title = "Operator FLOPs and bytes",
    .needs = {{NL_T_slice, NULL}},
    .need_count = 1,
    .run = op_work_run,
    .doc =
        "Per operator and element type: calls, time of the kernels it launched, FLOPs and minimum "
        "bytes (from its recorded shapes, the compiler's figures or counters), with their rates "
        "and ratio, and the share of what the device could do. Unknown if nothing of that was "
        "recorded. Without kernels: time on the host. docs/work.md has the formulas.",
};

/* op_work — what operators had to do and how fast they did it, by name and element type. */
#include "tables/answer.h"
#include "base/sum.h"
#include "tables/workrows.h"

#include <stdlib.h>

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},          {"device", NULL, NL_MEANS_INTEGER},
    {"name", "operator", NL_MEANS_TEXT},       {"model", NULL, NL_MEANS_TEXT},
    {"dtype", "type", NL_MEANS_TEXT},          {"count", "calls", NL_MEANS_COUNT},
    {"total_ns", "time", NL_MEANS_NS},         {"share", NULL, NL_MEANS_SHARE},
    {"flops", "FLOP", NL_MEANS_COUNT},         {"bytes", NULL, NL_MEANS_BYTES},
    {"flops_per_s", "FLOP/s", NL_MEANS_FLOPS}, {"bytes_per_s", "rate", NL_MEANS_RATE},
    {"intensity", "FLOP/B", NL_MEANS_NUMBER},  {"roof_share", "of roof", NL_MEANS_SHARE},
};
enum {
    RANK,
    DEVICE,
    NAME,
    MODEL,
    TYPE,
    COUNT,
    TOTAL,
    SHARE,
    FLOPS,
    BYTES,
    FLOP_RATE,
    BYTE_RATE,
    INTENSITY,
    ROOF_SHARE
};

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
    cells[RANK] = nl_cell_i64(roof->rank);
    cells[DEVICE] = nl_cell_i64(nl_roof_ordinal(trace, roof));
    cells[NAME] = nl_roof_name(result, trace, roof);
    cells[MODEL] = nl_answer_static(work_family_name((enum work_family)roof->family));
    cells[TYPE] = nl_answer_static(work_type_name((enum work_type)roof->type));
    cells[COUNT] = nl_answer_count(roof->calls);
    cells[TOTAL] = nl_cell_i64(roof->ns);
    cells[SHARE] = nl_answer_share(roof->ns, total);
    cells[FLOPS] = nl_cell_whole(roof->flops);
    cells[BYTES] = nl_cell_whole(roof->bytes);
    cells[FLOP_RATE] = nl_cell_f64(nl_roof_flops_per_s(roof));
    cells[BYTE_RATE] = nl_cell_f64(nl_roof_bytes_per_s(roof));
    cells[INTENSITY] = nl_cell_f64(nl_roof_intensity(roof));
    cells[ROOF_SHARE] = nl_cell_f64(nl_roof_share(roof));
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
    nl_answer_settle(result, "total_ns");
    result->note = nl_work_coverage(result, nl_memo_works(options->memo));
    nl_roof_note(result);
    nl_free(order);
    return result;
}

const struct nl_analysis nl_analysis_op_work = {
    .name = "op_work",
    .key = "op_work",
    .title = "What operators had to do",
    .needs = {{NL_T_slice, NULL}},
    .need_count = 1,
    .run = op_work_run,
    .doc = "Per operator and element type: calls, time of the kernels it launched, FLOPs and least "
           "bytes by its recorded shapes, a compiler's figures or counters, with their rates and "
           "ratio, and the share of what the device could do. Unknown where nothing tells. Without "
           "kernels: time on the host. docs/work.md has the formulas.",
};

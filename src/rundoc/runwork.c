/* What the operators of a run had to do and how near to the devices' peaks they came
 * (work/roofline.h, tables/efficiency.h), summed over all devices. */
#include "base/sum.h"
#include "rundoc/runparts.h"
#include "tables/efficiency.h"

static void add_known(double *sum, double value)
{
    if (value == value)
        *sum = *sum == *sum ? *sum + value : value;
}

static void add_roofs(struct run_work *work, const struct nl_roofs *roofs)
{
    for (size_t i = 0; i < roofs->count; i++) {
        const struct nl_roof *roof = &roofs->items[i];
        if (roof->kind != NL_ROOF_DEVICE)
            continue;
        nl_sum_add(&work->ns, roof->ns);
        nl_sum_add(&work->judged_ns, roof->judged_ns);
        nl_sum_add(&work->flops_ns, roof->flops_ns);
        nl_sum_add(&work->bytes_ns, roof->bytes_ns);
        add_known(&work->flops, roof->flops);
        add_known(&work->bytes, roof->bytes);
        if (!roof->judged_ns)
            continue;
        add_known(&work->least_s, roof->least_s);
        nl_sum_add(&work->headroom_ns, roof->headroom_ns);
    }
}

void run_work_find(struct run_work *work, const struct nl_trace *trace)
{
    const struct nl_window everything = {0};
    *work = (struct run_work){
        .flops = NL_NULL_F64, .bytes = NL_NULL_F64, .least_s = NL_NULL_F64, .hfu_s = NL_NULL_F64};
    work->mfu_s = NL_NULL_F64;
    if (!trace->kernel.rows)
        return;
    struct nl_memo *memo = nl_memo_new(trace, &everything);
    struct nl_analyze_options options = {.memo = memo};
    size_t count;
    struct nl_efficiency *rows = nl_efficiency_new(trace, &options, &count);
    for (size_t i = 0; i < count; i++) {
        double seconds = (double)rows[i].wall_ns / 1e9;
        work->wall_s += seconds;
        add_known(&work->hfu_s, rows[i].hfu * seconds);
        add_known(&work->mfu_s, rows[i].mfu * seconds);
    }
    add_roofs(work, nl_memo_roofs(memo));
    nl_free(rows);
    nl_memo_free(memo);
}

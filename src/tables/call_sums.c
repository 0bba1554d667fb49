/*
 * call_sums — functions and kernels of profiles that have sums instead of a timeline: cProfile,
 * summaries of nvprof, statistics of ROCm's profilers.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(name, NULL, TEXT)                                                                            \
    C(place, "in", TEXT)                                                                           \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(self_ns, "self", NS)                                                                         \
    C(share, NULL, SHARE)                                                                          \
    C(mean_ns, "mean", NS)
NL_COLUMNS(COLUMNS);

/* Longest self time first, unknown last; of equal ones the first recorded. */
static int by_self(const void *x, const void *y, void *context)
{
    const struct nl_call_table *call = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (call->self_ns[a] != call->self_ns[b])
        return call->self_ns[a] > call->self_ns[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Sum of self times by module, which is a dictionary id. */
static int64_t *sums_of(const struct nl_trace *trace, const uint32_t *rows, size_t count)
{
    int64_t *sums = nl_zalloc((trace->names.count + (size_t)1) * sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        int64_t self = trace->call.self_ns[rows[i]];
        int64_t *sum = &sums[trace->stack.module[trace->call.stack[rows[i]]]];
        nl_sum_add(sum, self > 0 ? self : 0);
    }
    return sums;
}

static void call_sums_add_row(struct nl_result *result, const struct nl_trace *trace, uint32_t row,
                              const int64_t *sums)
{
    const struct nl_call_table *call = &trace->call;
    uint32_t stack = call->stack[row];
    uint32_t module = trace->stack.module[stack];
    int64_t calls = call->primitive[row] == NL_NULL_I64 ? call->count[row] : call->primitive[row];
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_name] = nl_cell_name(result, trace, trace->stack.name[stack]);
    cells[AT_place] = nl_cell_name(result, trace, module ? module : trace->stack.file[stack]);
    cells[AT_count] = nl_cell_i64(call->count[row]);
    cells[AT_total_ns] = nl_cell_i64(call->total_ns[row]);
    cells[AT_self_ns] = nl_cell_i64(call->self_ns[row]);
    if (call->self_ns[row] != NL_NULL_I64)
        cells[AT_share] = nl_cell_given_share(call->self_ns[row], sums[module]);
    if (calls > 0 && call->total_ns[row] != NL_NULL_I64)
        cells[AT_mean_ns] = nl_cell_f64((double)call->total_ns[row] / (double)calls);
}

static struct nl_result *call_sums_run(const struct nl_trace *trace,
                                       const struct nl_analyze_options *options, struct nl_job *job,
                                       struct nl_err *err)
{
    (void)options; /* sums have no place in time */
    (void)job;
    (void)err;
    uint32_t *rows = nl_alloc((trace->call.rows + (size_t)1) * sizeof *rows);
    size_t count = 0;
    for (uint32_t row = 0; row < trace->call.rows; row++)
        if (trace->call.caller[row] == NL_NULL_ROW && trace->call.stack[row] != NL_NULL_ROW)
            rows[count++] = row;
    qsort_r(rows, count, sizeof *rows, by_self, (void *)(uintptr_t)&trace->call);
    int64_t *sums = sums_of(trace, rows, count);
    struct nl_result *result = NL_ANSWER_NEW("call_sums", NULL, columns);
    for (size_t i = 0; i < count; i++)
        call_sums_add_row(result, trace, rows[i], sums);
    nl_result_settle(result, "self_ns");
    nl_free(sums);
    nl_free(rows);
    return result;
}

const struct nl_analysis nl_analysis_call_sums = {
    .name = "call_sums",
    .key = "call_sums",
    .title = "Functions and kernels by sums, without a timeline",
    .needs = {{NL_T_call, NULL}},
    .need_count = 1,
    .run = call_sums_run,
    .doc = "Per function or kernel of a profile that has sums instead of a timeline (cProfile, "
           "summaries of nvprof, statistics of ROCm's profilers): calls, time with and without "
           "callees, share of the self time of all in the same module (nvprof's GPU activities and "
           "API calls), and time per non-recursive call. Windows do not apply: sums have no place "
           "in time.",
};

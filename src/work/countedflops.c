/*
 * Operations per second from the counters of Nsight Compute's roofline: instructions
 * per cycle, all threads, times cycles per second; a fused multiply-add is two. The
 * counters leave tensor cores out.
 */
#include "work/countedflops.h"

#include <math.h>

#include "base/mem.h"

#define PREFIX "smsp__sass_thread_inst_executed_op_"
#define SUFFIX "_pred_on.sum.per_cycle_elapsed"

enum counter {
    FP64_ADD,
    FP64_MUL,
    FP64_FMA,
    FP32_ADD,
    FP32_MUL,
    FP32_FMA,
    FP16_ADD,
    FP16_MUL,
    FP16_FMA,
    CYCLES,
    TENSOR,
    COUNTERS
};

static const char *const names[COUNTERS] = {
    [FP64_ADD] = PREFIX "dadd" SUFFIX,
    [FP64_MUL] = PREFIX "dmul" SUFFIX,
    [FP64_FMA] = PREFIX "dfma" SUFFIX,
    [FP32_ADD] = PREFIX "fadd" SUFFIX,
    [FP32_MUL] = PREFIX "fmul" SUFFIX,
    [FP32_FMA] = PREFIX "ffma" SUFFIX,
    [FP16_ADD] = PREFIX "hadd" SUFFIX,
    [FP16_MUL] = PREFIX "hmul" SUFFIX,
    [FP16_FMA] = PREFIX "hfma" SUFFIX,
    [CYCLES] = "smsp__cycles_elapsed.avg.per_second",
    [TENSOR] = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
};

struct counts {
    double values[COUNTERS];
};

/* Adds and multiplies are left out of a report where there are none of a width: absent counts as 0,
 * but for fused ones, by which a width is known to have been counted. */
static double rate(const struct counts *counts, enum counter add)
{
    const double *v = &counts->values[add];
    double single = (isnan(v[0]) ? 0 : v[0]) + (isnan(v[1]) ? 0 : v[1]);
    return isnan(v[2]) ? single : single + 2 * v[2];
}

static struct nl_counted_flops flops_of(const struct counts *counts)
{
    const double *v = counts->values;
    struct nl_counted_flops none = {NL_NULL_F64, NL_NULL_F64, NL_NULL_F64};
    if (isnan(v[FP32_FMA]) || isnan(v[FP32_ADD]) || isnan(v[FP32_MUL]) || isnan(v[CYCLES]) ||
        isnan(v[TENSOR]) || v[TENSOR] > 0)
        return none;
    return (struct nl_counted_flops){rate(counts, FP64_ADD) * v[CYCLES],
                                     rate(counts, FP32_ADD) * v[CYCLES],
                                     rate(counts, FP16_ADD) * v[CYCLES]};
}

struct nl_counted_flops *nl_counted_flops_find(const struct nl_trace *trace)
{
    const struct nl_metric_table *metric = &trace->metric;
    size_t rows = trace->measurement.rows;
    struct counts *counts = nl_alloc((rows + 1) * sizeof *counts);
    struct nl_counted_flops *flops = nl_alloc((rows + 1) * sizeof *flops);
    uint32_t ids[COUNTERS];
    for (int c = 0; c < COUNTERS; c++)
        ids[c] = nl_dict_find(&trace->names, nl_str(names[c]));
    for (size_t i = 0; i < rows; i++)
        for (int c = 0; c < COUNTERS; c++)
            counts[i].values[c] = NL_NULL_F64;
    for (uint32_t row = 0; row < metric->rows && rows; row++) {
        uint32_t of = metric->measurement[row];
        for (int c = 0; c < COUNTERS && of != NL_NULL_ROW; c++)
            if (metric->name[row] == ids[c] && metric->value[row] >= 0)
                counts[of].values[c] = metric->value[row];
    }
    for (size_t i = 0; i < rows; i++)
        flops[i] = flops_of(&counts[i]);
    nl_free(counts);
    return flops;
}

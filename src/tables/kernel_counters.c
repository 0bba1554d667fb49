/*
 * kernel_counters — what a kernel profiler measured, per name, grid and block, next to the time
 * that the run spent there. The two lengths of a kernel are not alike by nature: a kernel profiler
 * runs each alone, mostly with locked clocks and cold caches. Their ratio is shown, nothing
 * follows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "derive/signature.h"

/* Thresholds of Nsight Compute's rule SOLBottleneck: under MAX_LATENCY_BOUND of both peaks nothing
 * is busy, within BALANCE_TOLERANCE of each other both are. */
#define MAX_LATENCY_BOUND 0.6
#define BALANCE_TOLERANCE 0.1

enum value { MEASURED_NS, OCCUPANCY, WARPS, L2_HITS, SM, MEMORY, DRAM, DRAM_RATE, VALUES };

#define COLUMNS(C)                                                                                 \
    C(name, "kernel", TEXT)                                                                        \
    C(grid, NULL, TEXT)                                                                            \
    C(block, NULL, TEXT)                                                                           \
    C(launches, NULL, COUNT)                                                                       \
    C(measured, NULL, COUNT)                                                                       \
    C(total_ns, "total", NS)                                                                       \
    C(mean_ns, "mean", NS)                                                                         \
    C(measured_ns, "measured alone", NS)                                                           \
    C(ratio, NULL, NUMBER)                                                                         \
    C(achieved_occupancy, "occupancy", SHARE)                                                      \
    C(warp_efficiency, "warps", SHARE)                                                             \
    C(l2_hit_rate, "L2 hits", SHARE)                                                               \
    C(sm_throughput, "SM", SHARE)                                                                  \
    C(memory_throughput, "memory", SHARE)                                                          \
    C(dram_throughput, "DRAM", SHARE)                                                              \
    C(dram_bytes_per_s, "DRAM rate", RATE)                                                         \
    C(limiter, NULL, TEXT)
NL_COLUMNS(COLUMNS);

/* The launches of a signature inside the window, and their measurements. */
struct tally {
    size_t signature;
    int64_t launches, total_ns, measured;
    uint32_t measurement; /* the last met, NL_NULL_ROW = none */
    double sums[VALUES];
    int64_t counts[VALUES];
};

static double value_of(const struct nl_measurement_table *m, uint32_t row, enum value value)
{
    const double *const arrays[VALUES] = {
        [MEASURED_NS] = m->measured_ns, [OCCUPANCY] = m->achieved_occupancy,
        [WARPS] = m->warp_efficiency,   [L2_HITS] = m->l2_hit_rate,
        [SM] = m->sm_throughput,        [MEMORY] = m->memory_throughput,
        [DRAM] = m->dram_throughput,    [DRAM_RATE] = m->dram_bytes_per_s,
    };
    return arrays[value][row];
}

static void add_measurement(struct tally *tally, const struct nl_trace *trace, uint32_t row)
{
    if (tally->measurement == row)
        return; /* a mean that launches share counts once */
    tally->measurement = row;
    tally->measured += trace->measurement.measured[row];
    for (enum value v = 0; v < VALUES; v++) {
        double value = value_of(&trace->measurement, row, v);
        if (isnan(value))
            continue;
        tally->sums[v] += value;
        tally->counts[v]++;
    }
}

static struct tally tally_signature(const struct nl_scope *scope,
                                    const struct nl_signatures *signatures, size_t signature)
{
    const struct nl_trace *trace = scope->trace;
    struct tally tally = {.signature = signature, .measurement = NL_NULL_ROW};
    const uint32_t *kernels = signatures->members + signatures->items[signature].first;
    for (uint32_t i = 0; i < signatures->items[signature].kernels; i++) {
        uint32_t measurement = trace->kernel.measurement[kernels[i]];
        int64_t length = nl_scope_length(scope, trace->kernel.slice[kernels[i]]);
        if (length < 0)
            continue;
        tally.launches++;
        nl_sum_add(&tally.total_ns, length);
        if (measurement != NL_NULL_ROW)
            add_measurement(&tally, trace, measurement);
    }
    return tally;
}

static const char *limiter(double sm, double memory)
{
    if (isnan(sm) || isnan(memory))
        return NULL;
    if (sm < MAX_LATENCY_BOUND && memory < MAX_LATENCY_BOUND)
        return "latency";
    if (fabs(sm - memory) < BALANCE_TOLERANCE)
        return "balanced";
    return sm > memory ? "compute" : "memory";
}

static struct nl_cell triple(struct nl_result *result, const uint32_t size[3])
{
    char text[48];
    if (size[0] == NL_NULL_U32 || size[1] == NL_NULL_U32 || size[2] == NL_NULL_U32)
        return (struct nl_cell){.type = NL_CELL_NULL};
    int len = snprintf(text, sizeof text, "%ux%ux%u", size[0], size[1], size[2]);
    return nl_cell_text(result, (struct nl_str){text, (size_t)len});
}

static void kernel_counters_add_row(struct nl_result *result, const struct nl_trace *trace,
                                    const struct nl_signature *s, const struct tally *tally)
{
    double values[VALUES], mean = (double)tally->total_ns / (double)tally->launches;
    struct nl_cell *cells = nl_result_row(result);
    for (enum value v = 0; v < VALUES; v++)
        values[v] = tally->counts[v] ? tally->sums[v] / (double)tally->counts[v] : NL_NULL_F64;
    cells[AT_name] = nl_cell_name(result, trace, s->name);
    cells[AT_grid] = triple(result, s->shape);
    cells[AT_block] = triple(result, s->shape + 3);
    cells[AT_launches] = nl_cell_i64(tally->launches);
    cells[AT_measured] = nl_cell_i64(tally->measured);
    cells[AT_total_ns] = nl_cell_i64(tally->total_ns);
    cells[AT_mean_ns] = nl_cell_f64(mean);
    cells[AT_measured_ns] = nl_cell_f64(values[MEASURED_NS]);
    cells[AT_ratio] = nl_cell_f64(mean > 0 ? values[MEASURED_NS] / mean : NL_NULL_F64);
    for (enum value v = OCCUPANCY; v < VALUES; v++)
        cells[8 + v] = nl_cell_f64(values[v]);
    cells[8 + VALUES] = nl_cell_static(limiter(values[SM], values[MEMORY]));
}

static int by_total(const void *x, const void *y)
{
    const struct tally *a = x, *b = y;
    return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

static struct nl_result *kernel_counters_run(const struct nl_trace *trace,
                                             const struct nl_analyze_options *options,
                                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_signatures signatures;
    struct nl_result *result = NL_ANSWER_NEW("kernel_counters", NULL, columns);
    if (!trace->measurement.rows)
        return result;
    nl_scope_init(&scope, trace, &options->window);
    nl_signatures_find(&signatures, trace, false);
    struct tally *tallies = nl_alloc((signatures.count + 1) * sizeof *tallies);
    size_t count = 0;
    for (size_t i = 0; i < signatures.count; i++) {
        tallies[count] = tally_signature(&scope, &signatures, i);
        count += tallies[count].measurement != NL_NULL_ROW;
    }
    if (count)
        qsort(tallies, count, sizeof *tallies, by_total);
    for (size_t i = 0; i < count; i++)
        kernel_counters_add_row(result, trace, &signatures.items[tallies[i].signature],
                                &tallies[i]);
    nl_result_settle(result, "total_ns");
    nl_free(tallies);
    nl_signatures_release(&signatures);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_kernel_counters = {
    .name = "kernel_counters",
    .key = "kernel_counters",
    .title = "Kernel counters",
    .needs = {{NL_T_measurement, NULL}},
    .need_count = 1,
    .run = kernel_counters_run,
    .doc = "Per name, grid and block that a kernel profiler measured (--join, or its report as the "
           "profile): launches and their time in the run, measured launches and their mean "
           "duration (mostly with locked clocks, so the ratio to the run's mean is shown but not "
           "interpreted), achieved occupancy, active threads per warp, L2 hit rate, throughputs as "
           "shares of the peak. Limiter as in Nsight Compute's rule SOLBottleneck: latency if SM "
           "and memory stay under 60 %, balanced within 10 points, else the larger.",
};

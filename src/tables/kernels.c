/*
 * kernels — statistics per kernel name, the rows of the SQL view kernel_summary, plus share and
 * what the name says: class, category, tensor cores, element type; and, where a kernel profiler
 * measured some of them, means over the launches that have a measurement.
 */
#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "base/units.h"
#include "timeline/groupstats.h"

/* Those from with_measurement on are left out where nothing was measured: a new column goes above
 * them. */
#define COLUMNS(C)                                                                                 \
    C(name, "kernel", TEXT)                                                                        \
    C(class, NULL, TEXT)                                                                           \
    C(category, NULL, TEXT)                                                                        \
    NL_STATS_LIST(C)                                                                               \
    C(tensor_core, "tensor core", TEXT)                                                            \
    C(dtype, NULL, TEXT)                                                                           \
    C(with_measurement, "measured", COUNT)                                                         \
    C(achieved_occupancy, "occupancy", SHARE)                                                      \
    C(warp_efficiency, "warps", SHARE)                                                             \
    C(l2_hit_rate, "L2 hits", SHARE)                                                               \
    C(dram_bytes_per_s, "DRAM rate", RATE)
NL_COLUMNS(COLUMNS);

#define VALUES 4
static const int value_cells[VALUES] = {AT_achieved_occupancy, AT_warp_efficiency, AT_l2_hit_rate,
                                        AT_dram_bytes_per_s};
_Static_assert(AT_with_measurement + 1 + VALUES == AT_COUNT,
               "a column that does not come from measurements goes above with_measurement");

struct measured {
    uint64_t launches, counts[VALUES];
    double sums[VALUES];
};

/* By dictionary id; NULL when nothing was measured. */
static struct measured *add_measured(const struct nl_trace *trace, const struct nl_window *window)
{
    const struct nl_measurement_table *m = &trace->measurement;
    const double *const values[VALUES] = {m->achieved_occupancy, m->warp_efficiency, m->l2_hit_rate,
                                          m->dram_bytes_per_s};
    struct nl_scope scope;
    if (!m->rows)
        return NULL;
    struct measured *sums = nl_zalloc((trace->names.count + (size_t)1) * sizeof *sums);
    nl_scope_init(&scope, trace, window);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t measurement = trace->kernel.measurement[row], slice = trace->kernel.slice[row];
        if (measurement == NL_NULL_ROW || nl_scope_length(&scope, slice) < 0)
            continue;
        struct measured *sum = &sums[trace->slice.name[slice]];
        sum->launches++;
        for (int v = 0; v < VALUES; v++) {
            if (isnan(values[v][measurement]))
                continue;
            sum->sums[v] += values[v][measurement];
            sum->counts[v]++;
        }
    }
    nl_scope_release(&scope);
    return sums;
}

static void put_measured(struct nl_cell *cells, const struct measured *sum)
{
    cells[AT_with_measurement] = nl_cell_count(sum->launches);
    for (int v = 0; v < VALUES; v++)
        cells[value_cells[v]] =
            nl_cell_f64(sum->counts[v] ? sum->sums[v] / (double)sum->counts[v] : NL_NULL_F64);
}

/* One kernel of each name, by dictionary id: what a name says is the same for all of them. */
static uint32_t *examples_of(const struct nl_trace *trace)
{
    uint32_t *examples = nl_zalloc((trace->names.count + 1) * sizeof *examples);
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        examples[trace->slice.name[trace->kernel.slice[row]]] = row;
    return examples;
}

/* Statistics are of whole kernels; the note says how much of their time is outside the window. */
static const char *tell_window(struct nl_result *result, const struct nl_trace *trace,
                               const struct nl_window *window)
{
    struct nl_scope scope;
    int64_t start, end, inside = 0, earlier = 0;
    char inside_text[NL_UNIT_TEXT], earlier_text[NL_UNIT_TEXT];
    nl_scope_init(&scope, trace, window);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (!nl_scope_slice(&scope, slice, &start, &end))
            continue;
        nl_sum_add(trace->slice.ts[slice] < scope.start ? &earlier : &inside, end - start);
    }
    nl_scope_release(&scope);
    return nl_arena_format(
        &result->arena,
        "kernels that begin in the window, with their whole duration; %s of it lie "
        "inside, and %s more of kernels that began before",
        nl_format_ns(inside_text, inside), nl_format_ns(earlier_text, earlier));
}

static struct nl_result *kernels_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    struct nl_group_stats *stats = nl_name_stats(trace, &options->window, NL_KIND_KERNEL, &count);
    const struct nl_kernel_table *kernel = &trace->kernel;
    uint32_t *examples = examples_of(trace);
    struct measured *measured = add_measured(trace, &options->window);
    struct nl_result *result =
        nl_result_new("kernels", NULL, columns, measured ? AT_COUNT : AT_with_measurement);
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++)
        nl_sum_add(&whole, stats[i].total_ns);
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_name] = nl_cell_name(result, trace, stats[i].name);
        uint32_t example = examples[stats[i].name];
        cells[AT_class] = nl_cell_enum(NL_ENUM_class, kernel->class[example]);
        cells[AT_category] = nl_cell_enum(NL_ENUM_category, kernel->category[example]);
        nl_cells_stats(&cells[AT_count], &stats[i], whole);
        cells[AT_tensor_core] = nl_cell_enum(NL_ENUM_tensorcore, kernel->tensor_core[example]);
        cells[AT_dtype] = nl_cell_name(result, trace, kernel->dtype[example]);
        if (measured)
            put_measured(cells, &measured[stats[i].name]);
    }
    nl_result_settle(result, "total_ns");
    if (options->window.has_time)
        result->note = tell_window(result, trace, &options->window);
    nl_free(measured);
    nl_free(examples);
    nl_free(stats);
    return result;
}

const struct nl_analysis nl_analysis_kernels = {
    .name = "kernels",
    .key = "kernels",
    .title = "Kernels by total time",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = kernels_run,
    .doc = "Per kernel name: count, total, share of all kernel time, min, median, p95, max and "
           "sample standard deviation, and what the name reveals (docs/kernels.md). Percentiles "
           "interpolate linearly between closest ranks. If kernels have measurements: means over "
           "the launches that have one.",
};

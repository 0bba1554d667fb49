/* efficiency — see efficiency.h. */
#include "tables/efficiency.h"

#include "base/search.h"
#include "base/sum.h"
#include "tables/resultcells.h"
#include "tables/workrows.h"
#include "timeline/readings.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(product, NULL, TEXT)                                                                         \
    C(steps, NULL, COUNT)                                                                          \
    C(wall_ns, "wall", NS)                                                                         \
    C(mfu, "MFU", SHARE)                                                                           \
    C(hfu, "HFU", SHARE)                                                                           \
    C(flops_per_s, "FLOP/s", FLOPS)                                                                \
    C(peak_flops_per_s, "peak", FLOPS)                                                             \
    C(dtype, "type", TEXT)                                                                         \
    C(tokens_per_s, "tokens/s", NUMBER)                                                            \
    C(matrix_ns, "products", NS)                                                                   \
    C(kernel_ns, "kernels", NS)                                                                    \
    C(flops, "FLOP", COUNT)                                                                        \
    C(model_flops, "model FLOP", COUNT)                                                            \
    C(peaks_estimated, NULL, TEXT)                                                                 \
    C(peak_source, NULL, TEXT)                                                                     \
    C(clock_hz, "clock", HERTZ)                                                                    \
    C(hfu_at_clock, "HFU at clock", SHARE)
NL_COLUMNS(COLUMNS);

#define MIN_READINGS 3

/* Steady steps of one rank that begin in the window. */
struct steady {
    const struct nl_found_step *steps;
    size_t count;
    const struct nl_window *window;
};

static struct steady steady_of(const struct nl_found_steps *found, int64_t rank,
                               const struct nl_window *window)
{
    for (size_t g = 0; g < found->group_count; g++)
        if (found->groups[g].rank == rank || found->group_count == 1)
            return (struct steady){&found->items[found->groups[g].first], found->groups[g].count,
                                   window};
    return (struct steady){.window = window};
}

static bool step_counts(const struct steady *steady, const struct nl_found_step *step)
{
    const struct nl_window *window = steady->window;
    return step->phase == NL_STEP_STEADY &&
           (!window->has_time || (step->start >= window->start && step->end <= window->end));
}

static bool in_steady(const struct steady *steady, int64_t ts)
{
    size_t low = NL_FIRST(i, 0, steady->count, steady->steps[i].start > ts);
    return low && ts < steady->steps[low - 1].end && step_counts(steady, &steady->steps[low - 1]);
}

static void add_work(struct nl_efficiency *row, const struct nl_trace *trace,
                     const struct nl_op_work *work, double flops_of[WORK_TYPES])
{
    nl_sum_add(&row->kernel_ns, work->kernel_ns);
    nl_sum_add(&row->matrix_ns, work->matrix_ns);
    if (!work->matrix || isnan(work->flops_needed))
        return;
    double peak = nl_nominal_flops(row->peaks, (enum work_type)work->type, true);
    row->flops = (isnan(row->flops) ? 0 : row->flops) + work->flops_needed;
    row->model_flops = (isnan(row->model_flops) ? 0 : row->model_flops) + work->flops_needed -
                       nl_op_work_again(trace, work);
    flops_of[work->type] += work->flops_needed;
    if (peak > 0)
        row->peak_s += work->flops_needed / peak;
}

static void compute_mfu(struct nl_efficiency *row, const double flops_of[WORK_TYPES],
                        const struct nl_analyze_options *options)
{
    for (int type = 0; type < WORK_TYPES; type++)
        if (flops_of[type] > flops_of[row->type])
            row->type = (enum work_type)type;
    row->peak_flops = nl_nominal_flops(row->peaks, row->type, true);
    double seconds = (double)row->wall_ns / 1e9;
    row->hfu = row->peak_s > 0 && seconds > 0 ? row->peak_s / seconds : NAN;
    row->mfu = row->hfu * row->model_flops / row->flops;
    if (options->flops_per_step > 0 && row->steps) {
        row->model_flops = options->flops_per_step * (double)row->steps;
        row->mfu = row->model_flops / seconds / row->peak_flops;
    }
    row->tokens_per_s = options->tokens_per_step > 0 && row->steps && seconds > 0
                            ? options->tokens_per_step * (double)row->steps / seconds
                            : NAN;
}

/* Mean of the clocks that telemetry read in the time of the figures; NaN:
 * fewer than MIN_READINGS. */
static double read_clock(const struct nl_trace *trace, const struct nl_efficiency *row,
                         const struct steady *steady, int64_t start)
{
    double sum = 0;
    size_t count = 0;
    for (uint32_t series = 0; series < trace->series.rows; series++) {
        if (!nl_series_is_of(trace, series, row->device) ||
            !nl_str_is(nl_trace_name(trace, trace->series.name[series]), "GPU clock"))
            continue;
        struct nl_readings readings = nl_readings_new(trace, series, 1e6);
        for (size_t i = 0; i < readings.count; i++) {
            int64_t ts = readings.items[i].ts, since;
            bool inside = row->steps ? in_steady(steady, ts)
                                     : !__builtin_sub_overflow(ts, start, &since) && since >= 0 &&
                                           since < row->wall_ns;
            sum += inside ? readings.items[i].value : 0;
            count += inside;
        }
        nl_readings_release(&readings);
    }
    return count >= MIN_READINGS ? sum / (double)count : NAN;
}

static void fill_efficiency(struct nl_efficiency *row, const struct nl_trace *trace,
                            const struct nl_analyze_options *options, int64_t start)
{
    const struct nl_op_works *works = nl_memo_works(options->memo);
    struct steady steady = steady_of(nl_memo_steps(options->memo), row->rank, &options->window);
    double flops_of[WORK_TYPES] = {0};
    int64_t length = 0;
    for (size_t i = 0; i < steady.count; i++)
        if (step_counts(&steady, &steady.steps[i])) {
            row->steps++;
            nl_sum_add(&length, steady.steps[i].end - steady.steps[i].start);
        }
    if (row->steps)
        row->wall_ns = length;
    size_t count;
    const uint32_t *order = nl_device_order_of(&works->order, row->device, &count);
    for (size_t i = 0; i < count; i++) {
        const struct nl_op_work *work = &works->items[order[i]];
        if (work->kernel_ns == NL_NULL_I64)
            continue;
        if (!row->steps || in_steady(&steady, work->ts))
            add_work(row, trace, work, flops_of);
    }
    compute_mfu(row, flops_of, options);
    row->clock_hz = read_clock(trace, row, &steady, start);
    row->peak_clock = nl_clock_of_peak(trace, row->device, row->peaks);
}

struct nl_efficiency *nl_efficiency_new(const struct nl_trace *trace,
                                        const struct nl_analyze_options *options, size_t *count)
{
    size_t devices;
    const struct nl_device_breakdown *parts = nl_memo_breakdown(options->memo, &devices);
    const struct nl_device_peaks *peaks = nl_memo_peaks(options->memo);
    struct nl_efficiency *rows = nl_zalloc((devices + 1) * sizeof *rows);
    *count = 0;
    for (size_t i = 0; i < devices; i++) {
        if (parts[i].device == NL_NULL_ROW || !parts[i].kernels || parts[i].starts_unknown)
            continue;
        struct nl_efficiency *row = &rows[(*count)++];
        *row = (struct nl_efficiency){.rank = parts[i].rank,
                                      .device = parts[i].device,
                                      .peaks = &peaks[parts[i].device],
                                      .wall_ns = parts[i].wall_ns,
                                      .flops = NAN,
                                      .model_flops = NAN};
        fill_efficiency(row, trace, options, parts[i].start_ns);
    }
    return rows;
}

double nl_hfu_at_clock(const struct nl_efficiency *row)
{
    return row->clock_hz > 0 ? row->hfu * row->peak_clock / row->clock_hz : NAN;
}

static void efficiency_add_row(struct nl_result *result, const struct nl_trace *trace,
                               const struct nl_efficiency *row)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(row->rank);
    cells[AT_device] = nl_cell_i64(trace->device.ordinal[row->device]);
    if (row->peaks->product)
        cells[AT_product] = nl_cell_text(result, nl_str(row->peaks->product));
    cells[AT_steps] = row->steps ? nl_cell_count(row->steps) : nl_cell_i64(NL_NULL_I64);
    cells[AT_wall_ns] = nl_cell_i64(row->wall_ns);
    cells[AT_mfu] = nl_cell_f64(row->mfu);
    cells[AT_hfu] = nl_cell_f64(row->hfu);
    cells[AT_flops] = nl_cell_whole(row->flops);
    cells[AT_model_flops] = nl_cell_whole(row->model_flops);
    cells[AT_flops_per_s] =
        nl_cell_f64(row->wall_ns > 0 ? row->flops / ((double)row->wall_ns / 1e9) : NAN);
    cells[AT_dtype] = nl_cell_static(work_type_name(row->type));
    cells[AT_peak_flops_per_s] = nl_cell_f64(row->peak_flops);
    cells[AT_matrix_ns] = nl_cell_i64(row->matrix_ns);
    cells[AT_kernel_ns] = nl_cell_i64(row->kernel_ns);
    cells[AT_tokens_per_s] = nl_cell_f64(row->tokens_per_s);
    cells[AT_peaks_estimated] = row->peaks->known
                                    ? nl_cell_static(row->peaks->estimated ? "yes" : "no")
                                    : nl_cell_i64(NL_NULL_I64);
    if (row->peaks->source)
        cells[AT_peak_source] = nl_cell_text(result, nl_str(row->peaks->source));
    cells[AT_clock_hz] = nl_cell_f64(row->clock_hz);
    cells[AT_hfu_at_clock] = nl_cell_f64(nl_hfu_at_clock(row));
}

/* Why a device that multiplied matrices has no AT_mfu, and what tells it; NULL:
 * all have one, or did not. */
static const char *why_unknown(struct nl_result *result, const struct nl_efficiency *rows,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct nl_device_peaks *peaks = rows[i].peaks;
        if (!isnan(rows[i].mfu) || isnan(rows[i].flops))
            continue;
        if (!peaks->product)
            return "MFU unknown: the profile does not name the device, so its peaks are not known";
        if (!peaks->known)
            return nl_arena_format(&result->arena,
                                   "MFU unknown: the peaks of %s are not in the list of devices "
                                   "(data/gpus.yaml)",
                                   peaks->product);
        return nl_arena_format(&result->arena, "MFU unknown: no peak of %s for %s is known",
                               peaks->product, work_type_name(rows[i].type));
    }
    return NULL;
}

static const char *note_of(struct nl_result *result, const struct nl_efficiency *rows, size_t count,
                           struct nl_memo *memo)
{
    const char *known = nl_work_coverage(result, nl_memo_works(memo));
    const char *why = why_unknown(result, rows, count);
    if (!why || !known)
        return why ? why : known;
    return nl_arena_format(&result->arena, "%s; %s", why, known);
}

static struct nl_result *efficiency_run(const struct nl_trace *trace,
                                        const struct nl_analyze_options *options,
                                        struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    struct nl_efficiency *rows = nl_efficiency_new(trace, options, &count);
    struct nl_result *result = NL_ANSWER_NEW("efficiency", NULL, columns);
    bool broken = false;
    for (size_t i = 0; i < count; i++) {
        efficiency_add_row(result, trace, &rows[i]);
        broken |= rows[i].hfu > 1 || rows[i].mfu > 1;
    }
    result->note = broken
                       ? "over 100 % of the peak is not possible: the measurement, the FLOPs told "
                         "or the peak is wrong"
                       : note_of(result, rows, count, options->memo);
    nl_free(rows);
    return result;
}

const struct nl_analysis nl_analysis_efficiency = {
    .name = "efficiency",
    .key = "efficiency",
    .title = "Use of the devices' peaks (MFU, HFU)",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = efficiency_run,
    .doc =
        "Per rank and device, over its steady steps (else over everything). HFU: FLOPs of matrix "
        "products divided by what the peaks of their element types allow in that time. MFU: the "
        "same for the FLOPs that the model needs (as given with --flops-per-step, else without "
        "what attention's backward pass recomputes). Tokens per second with --tokens-per-step. "
        "With telemetry: the mean clock meanwhile, and HFU relative to what the device can do at "
        "that clock. Only work with a known model counts, so both are lower bounds.",
};

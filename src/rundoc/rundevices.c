/* Devices, ranks, steps, memory and telemetry: what the document says per place. */
#include <math.h>
#include <stdlib.h>

#include "base/sum.h"
#include "tables/lookup.h"
#include "tables/plainruns.h"
#include "base/mem.h"
#include "timeline/quantile.h"
#include "rundoc/runstats.h"

void run_write_hardware_devices(struct run_parts *parts)
{
    const struct nl_device_table *device = &parts->trace->device;
    char text[32];
    nl_json_open(&parts->json, '[');
    for (uint32_t row = 0; row < device->rows; row++) {
        bool known =
            device->compute_major[row] != NL_NULL_U32 && device->compute_minor[row] != NL_NULL_U32;
        snprintf(text, sizeof text, "%u.%u", device->compute_major[row],
                 device->compute_minor[row]);
        run_row(parts);
        run_i64(parts, "rank", device->rank[row]);
        run_i64(parts, "ordinal", device->ordinal[row]);
        run_name(parts, "name", device->name[row]);
        run_static(parts, "vendor", run_vendor(nl_trace_name(parts->trace, device->vendor[row])));
        run_u32(parts, "sm_count", device->sm_count[row]);
        run_u64(parts, "memory_bytes", device->memory_bytes[row]);
        run_u64(parts, "memory_bytes_per_s", device->bandwidth_bytes_per_s[row]);
        run_u64(parts, "clock_hz", device->clock_hz[row]);
        run_static(parts, "compute_capability", known ? text : NULL);
        run_u32(parts, "max_warps_per_sm", device->max_warps_per_sm[row]);
        run_u32(parts, "warp_size", device->warp_size[row]);
        run_name(parts, "uuid", device->uuid[row]);
        run_name(parts, "bus", device->bus[row]);
        run_u32(parts, "source", device->source[row]);
        run_row_end(parts);
    }
    nl_json_close(&parts->json, ']');
}

/* The times that devices and ranks share. */
static void write_times(struct run_parts *parts, const struct nl_device_breakdown *device)
{
    run_i64(parts, "wall_ns", device->wall_ns);
    run_i64(parts, "compute_ns", device->compute_ns);
    run_i64(parts, "exposed_comm_ns", device->exposed_comm_ns);
    run_i64(parts, "exposed_copy_ns", device->exposed_copy_ns);
    run_i64(parts, "idle_ns", device->idle_ns);
}

static void write_counts(struct run_parts *parts, const struct nl_device_breakdown *device)
{
    run_u64(parts, "kernel_count", device->kernels);
    run_u64(parts, "copy_count", device->copies);
    run_u64(parts, "memset_count", device->memsets);
}

void run_write_devices(struct run_parts *parts)
{
    nl_json_open(&parts->json, '[');
    for (size_t i = 0; i < parts->device_count; i++) {
        const struct nl_device_breakdown shown = nl_breakdown_shown(&parts->devices[i]);
        const struct nl_device_breakdown *device = &shown;
        run_row(parts);
        run_i64(parts, "rank", device->rank);
        run_i64(parts, "ordinal", device->ordinal);
        run_u32(parts, "device", device->device);
        run_i64(parts, "start_ns", device->start_ns - parts->trace->first_ts);
        write_times(parts, device);
        run_i64(parts, "comm_ns", device->comm_ns);
        run_i64(parts, "copy_ns", device->copy_ns);
        run_i64(parts, "overlap_ns", device->overlap_ns);
        write_counts(parts, device);
        run_row_end(parts);
    }
    nl_json_close(&parts->json, ']');
}

/* Devices come sorted by rank. */
void run_write_ranks(struct run_parts *parts)
{
    nl_json_open(&parts->json, '[');
    for (size_t from = 0, to; from < parts->device_count; from = to) {
        struct nl_device_breakdown sum = {.rank = parts->devices[from].rank};
        for (to = from; to < parts->device_count && parts->devices[to].rank == sum.rank; to++) {
            const struct nl_device_breakdown *device = &parts->devices[to];
            nl_sum_add(&sum.wall_ns, device->wall_ns);
            nl_sum_add(&sum.compute_ns, device->compute_ns);
            nl_sum_add(&sum.exposed_comm_ns, device->exposed_comm_ns);
            nl_sum_add(&sum.exposed_copy_ns, device->exposed_copy_ns);
            nl_sum_add(&sum.idle_ns, device->idle_ns);
            sum.kernels += device->kernels;
            sum.copies += device->copies;
            sum.memsets += device->memsets;
            sum.starts_unknown |= device->starts_unknown;
        }
        sum = nl_breakdown_shown(&sum);
        run_row(parts);
        run_i64(parts, "rank", sum.rank);
        run_u64(parts, "device_count", to - from);
        write_times(parts, &sum);
        write_counts(parts, &sum);
        run_row_end(parts);
    }
    nl_json_close(&parts->json, ']');
}

/* ---- steps ---- */

static struct run_stats step_stats(const struct run_parts *parts, const struct nl_step_group *group,
                                   bool steady)
{
    struct run_stats stats = {0};
    int64_t *lengths = nl_alloc((group->count + 1) * sizeof *lengths);
    size_t count = 0;
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct nl_found_step *step = &parts->steps.items[i];
        if (!steady || nl_step_is_steady(step))
            lengths[count++] = step->end - step->start;
    }
    nl_sort_i64(lengths, count);
    if (count)
        stats = run_stats_sorted(lengths, count);
    nl_free(lengths);
    return stats;
}

static void write_step(struct run_parts *parts, int64_t index, uint32_t name, int64_t start,
                       int64_t dur, const char *phase)
{
    run_row(parts);
    run_i64(parts, "index", index);
    run_name(parts, "name", name);
    run_i64(parts, "start_ns", start - parts->trace->first_ts);
    run_i64(parts, "dur_ns", dur);
    run_static(parts, "phase", phase);
    run_row_end(parts);
}

/* Runs without the profiler are the steady steps of a run of `profile`. */
static void write_plain_runs(struct run_parts *parts, const struct nl_plain_run *runs, size_t count)
{
    int64_t *lengths = nl_alloc((count + 1) * sizeof *lengths);
    for (size_t i = 0; i < count; i++)
        lengths[i] = runs[i].dur;
    nl_sort_i64(lengths, count);
    struct run_stats stats = run_stats_sorted(lengths, count);
    nl_free(lengths);
    nl_json_open(&parts->json, '{');
    run_i64(parts, "rank", nl_slice_rank(parts->trace, runs[0].slice));
    run_static(parts, "method", "unprofiled");
    run_f64(parts, "confidence", 1);
    run_static(parts, "pattern", NULL);
    run_write_stats(parts, "dur_ns", &stats);
    run_write_stats(parts, "steady_dur_ns", &stats);
    run_open(parts, "items", '[');
    for (size_t i = 0; i < count; i++)
        write_step(parts, (int64_t)i, parts->trace->slice.name[runs[i].slice], runs[i].start,
                   runs[i].dur, nl_step_phase_text(NL_STEP_STEADY));
    run_close(parts, ']');
    nl_json_close(&parts->json, '}');
}

void run_write_steps(struct run_parts *parts)
{
    size_t plain;
    struct nl_plain_run *runs = nl_plain_runs(parts->trace, NULL, &plain);
    nl_json_open(&parts->json, '[');
    for (size_t g = 0; g < parts->steps.group_count; g++) {
        const struct nl_step_group *group = &parts->steps.groups[g];
        if (!group->count)
            continue;
        struct run_stats all = step_stats(parts, group, false);
        struct run_stats steady = plain ? (struct run_stats){0} : step_stats(parts, group, true);
        nl_json_open(&parts->json, '{');
        run_i64(parts, "rank", group->rank);
        run_static(parts, "method", nl_step_method_text(group->method));
        run_f64(parts, "confidence", group->confidence);
        run_static(parts, "pattern", group->pattern);
        run_write_stats(parts, "dur_ns", &all);
        run_write_stats(parts, "steady_dur_ns", &steady);
        run_open(parts, "items", '[');
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const struct nl_found_step *step = &parts->steps.items[i];
            bool profiled = plain && step->phase == NL_STEP_STEADY;
            /* A mark without a number, such as ProfilerStep#warmup, follows from its place. */
            write_step(parts,
                       step->index == NL_NULL_I64 ? (int64_t)(i - group->first) : step->index,
                       step->name, step->start, step->end - step->start,
                       profiled ? "profiled" : nl_step_phase_text(step->phase));
        }
        run_close(parts, ']');
        nl_json_close(&parts->json, '}');
    }
    if (plain)
        write_plain_runs(parts, runs, plain);
    nl_json_close(&parts->json, ']');
    nl_free(runs);
}

/* ---- memory ---- */

void run_write_memory(struct run_parts *parts)
{
    static const struct {
        const char *key, *column;
    } members[] = {
        {"allocation_count", "allocations"},
        {"free_count", "frees"},
        {"allocated_bytes", "allocated_bytes"},
        {"freed_bytes", "freed_bytes"},
        {"peak_net_bytes", "peak_net_bytes"},
        {"peak_allocated_bytes", "peak_allocated_bytes"},
        {"peak_reserved_bytes", "peak_reserved_bytes"},
    };
    const struct nl_result *memory = parts->memory;
    nl_json_open(&parts->json, '[');
    for (size_t row = 0; row < memory->rows; row++) {
        run_row(parts);
        run_i64(parts, "rank", nl_lookup_i64(memory, row, "rank"));
        run_i64(parts, "device_type", nl_lookup_i64(memory, row, "device_type"));
        run_i64(parts, "ordinal", nl_lookup_i64(memory, row, "device"));
        run_text(parts, "kind", nl_lookup_text(memory, row, "kind"));
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            run_size(parts, members[i].key, nl_lookup_i64(memory, row, members[i].column));
        run_row_end(parts);
    }
    nl_json_close(&parts->json, ']');
}

/* ---- telemetry ---- */

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double quantile(const double *values, struct nl_quantile at)
{
    double low = values[at.rank];
    if (!(at.fraction > 0))
        return low;
    double high = values[at.rank + 1];
    return isfinite(high - low) ? low + (high - low) * at.fraction
                                : low * (1 - at.fraction) + high * at.fraction;
}

static void write_values(struct run_parts *parts, double *values, size_t count)
{
    static const struct {
        const char *key;
        unsigned percent;
    } quantiles[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}};
    long double sum = 0; /* of values up to the greatest double */
    double squares = 0;
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    double mean = (double)(sum / (long double)count);
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    run_open(parts, "values", '{');
    run_u64(parts, "count", count);
    run_f64(parts, "mean", mean);
    run_f64(parts, "std", count > 1 ? sqrt(squares / (double)(count - 1)) : NL_NULL_F64);
    run_f64(parts, "min", values[0]);
    run_f64(parts, "max", values[count - 1]);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        run_f64(parts, quantiles[i].key,
                quantile(values, nl_quantile_at(count, quantiles[i].percent)));
    run_close(parts, '}');
}

static void write_series(struct run_parts *parts, uint32_t series, double *values, size_t count)
{
    const struct nl_trace *trace = parts->trace;
    uint32_t lane = trace->series.lane[series];
    uint32_t device = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.device[lane];
    run_row(parts);
    run_name(parts, "name", trace->series.name[series]);
    run_name(parts, "unit", trace->series.unit[series]);
    run_i64(parts, "rank", lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane));
    run_i64(parts, "ordinal", device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[device]);
    write_values(parts, values, count);
    run_row_end(parts);
}

/* Finite values put together by series in two walks. */
void run_write_telemetry(struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    const struct nl_counter_table *counter = &trace->counter;
    size_t *ends = nl_zalloc(((size_t)trace->series.rows + 1) * sizeof *ends);
    double *values = nl_alloc(((size_t)counter->rows + 1) * sizeof *values);
    for (uint32_t row = 0; row < counter->rows; row++)
        if (counter->series[row] != NL_NULL_ROW && isfinite(counter->value[row]))
            ends[counter->series[row] + 1]++;
    for (uint32_t i = 0; i < trace->series.rows; i++)
        ends[i + 1] += ends[i];
    for (uint32_t row = 0; row < counter->rows; row++)
        if (counter->series[row] != NL_NULL_ROW && isfinite(counter->value[row]))
            values[ends[counter->series[row]]++] = counter->value[row];
    nl_json_open(&parts->json, '[');
    for (uint32_t i = 0; i < trace->series.rows; i++) {
        size_t from = i ? ends[i - 1] : 0;
        if (ends[i] > from)
            write_series(parts, i, values + from, ends[i] - from);
    }
    nl_json_close(&parts->json, ']');
    nl_free(values);
    nl_free(ends);
}

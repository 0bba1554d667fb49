/*
 * Metrics: where the time of each device went, lengths of steps as a histogram, the kernels with
 * most time, counters as they were recorded. Times are whole ns.
 */
#include "export/otlp.h"
#include "tables/lookup.h"

#define MAX_KERNELS 1000
#define POINTS      4096 /* values of a counter in one message */
#define CUMULATIVE  2

enum { GAUGE = 5, HISTOGRAM = 9, SUMMARY = 11 };

static const double step_bounds[] = {1e6, 2e6, 5e6, 1e7, 2e7, 5e7,  1e8,
                                     2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 6e10};
#define BOUNDS (sizeof step_bounds / sizeof step_bounds[0])

static void open_group(struct otlp_writer *writer, uint32_t process)
{
    struct otlp_out *out = &writer->out;
    otlp_open(out, 1, "resourceMetrics");
    otlp_resource(writer, process);
    otlp_list(out, "scopeMetrics");
    otlp_open(out, 2, NULL);
    otlp_scope(writer);
    otlp_list(out, "metrics");
}

static void close_group(struct otlp_writer *writer)
{
    struct otlp_out *out = &writer->out;
    otlp_list_end(out);
    otlp_close(out);
    otlp_list_end(out);
    otlp_close(out);
    otlp_flush(out, writer->export->out);
}

static void open_metric(struct otlp_out *out, struct nl_str name, const char *doc,
                        struct nl_str unit, uint32_t kind)
{
    otlp_open(out, 2, NULL);
    otlp_text(out, 1, "name", name);
    if (doc)
        otlp_text(out, 2, "description", nl_str(doc));
    otlp_text(out, 3, "unit", unit);
    otlp_open(out, kind, kind == GAUGE ? "gauge" : kind == SUMMARY ? "summary" : "histogram");
    otlp_list(out, "dataPoints");
}

static void close_metric(struct otlp_out *out)
{
    otlp_list_end(out);
    otlp_close(out);
    otlp_close(out);
}

/* Values about the whole profile, or window, are reported for its end. */
static void put_times(struct otlp_writer *writer)
{
    const struct nl_trace *trace = writer->export->trace;
    otlp_fixed(&writer->out, 2, "startTimeUnixNano", otlp_time(writer, trace->first_ts));
    otlp_fixed(&writer->out, 3, "timeUnixNano", otlp_time(writer, trace->last_ts));
}

static void put_known(struct otlp_out *out, uint32_t field, const char *key, int64_t value)
{
    if (value != INT64_MIN)
        otlp_attribute_number(out, field, key, value);
}

/* ---- sums of the profile ---- */

static void put_breakdown(struct otlp_writer *writer, const struct nl_result *result)
{
    static const struct {
        const char *column, *name, *doc;
    } parts[] = {
        {"wall_ns", "neurolens.device.wall", "From first to last work of the device"},
        {"compute_ns", "neurolens.device.compute", "Time under compute kernels"},
        {"exposed_comm_ns", "neurolens.device.exposed_communication",
         "Time under communication and no compute"},
        {"exposed_copy_ns", "neurolens.device.exposed_copy", "Time under copies or memsets alone"},
        {"idle_ns", "neurolens.device.idle", "Time under none of them"}};
    struct otlp_out *out = &writer->out;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && result->rows; i++) {
        open_metric(out, nl_str(parts[i].name), parts[i].doc, nl_str("ns"), GAUGE);
        for (size_t row = 0; row < result->rows; row++) {
            int64_t value = nl_lookup_i64(result, row, parts[i].column);
            if (value == INT64_MIN)
                continue;
            otlp_open(out, 1, NULL);
            otlp_list(out, "attributes");
            put_known(out, 7, "neurolens.rank", nl_lookup_i64(result, row, "rank"));
            put_known(out, 7, "neurolens.device", nl_lookup_i64(result, row, "device"));
            otlp_list_end(out);
            put_times(writer);
            otlp_signed(out, 6, "asInt", value, true);
            otlp_close(out);
        }
        close_metric(out);
    }
}

static void put_steps(struct otlp_writer *writer, const struct nl_result *steps)
{
    struct otlp_out *out = &writer->out;
    uint64_t buckets[BOUNDS + 1] = {0}, count = 0;
    double total = 0, least = 0, most = 0;
    for (size_t row = 0; row < steps->rows; row++) {
        int64_t length = nl_lookup_i64(steps, row, "dur_ns");
        size_t bucket = 0;
        if (length == INT64_MIN)
            continue;
        while (bucket < BOUNDS && (double)length > step_bounds[bucket])
            bucket++;
        buckets[bucket]++;
        total += (double)length;
        least = !count || (double)length < least ? (double)length : least;
        most = !count || (double)length > most ? (double)length : most;
        count++;
    }
    if (!count)
        return;
    open_metric(out, nl_str("neurolens.step.duration"), "Lengths of steps", nl_str("ns"),
                HISTOGRAM);
    otlp_open(out, 1, NULL);
    put_times(writer);
    otlp_fixed(out, 4, "count", count);
    otlp_double(out, 5, "sum", total);
    otlp_fixed_list(out, 6, "bucketCounts", buckets, BOUNDS + 1);
    otlp_double_list(out, 7, "explicitBounds", step_bounds, BOUNDS);
    otlp_double(out, 11, "min", least);
    otlp_double(out, 12, "max", most);
    otlp_close(out);
    otlp_list_end(out);
    otlp_word(out, 2, "aggregationTemporality", CUMULATIVE);
    otlp_close(out);
    otlp_close(out);
}

static void put_quantile(struct otlp_out *out, double quantile, int64_t value)
{
    if (value == INT64_MIN)
        return;
    otlp_open(out, 6, NULL);
    otlp_double(out, 1, "quantile", quantile);
    otlp_double(out, 2, "value", (double)value);
    otlp_close(out);
}

static void put_kernels(struct otlp_writer *writer, const struct nl_result *kernels)
{
    struct otlp_out *out = &writer->out;
    size_t rows = kernels->rows < MAX_KERNELS ? kernels->rows : MAX_KERNELS;
    if (!rows)
        return;
    open_metric(out, nl_str("neurolens.kernel.duration"),
                "Lengths of kernels by name, those with most time first", nl_str("ns"), SUMMARY);
    for (size_t row = 0; row < rows; row++) {
        otlp_open(out, 1, NULL);
        otlp_list(out, "attributes");
        otlp_attribute_text(out, 7, "neurolens.kernel", nl_lookup_text(kernels, row, "name"));
        otlp_list_end(out);
        put_times(writer);
        otlp_fixed(out, 4, "count", (uint64_t)nl_lookup_i64(kernels, row, "count"));
        otlp_double(out, 5, "sum", (double)nl_lookup_i64(kernels, row, "total_ns"));
        otlp_list(out, "quantileValues");
        put_quantile(out, 0, nl_lookup_i64(kernels, row, "min_ns"));
        put_quantile(out, 0.5, nl_lookup_i64(kernels, row, "median_ns"));
        put_quantile(out, 0.95, nl_lookup_i64(kernels, row, "p95_ns"));
        put_quantile(out, 1, nl_lookup_i64(kernels, row, "max_ns"));
        otlp_list_end(out);
        otlp_close(out);
    }
    close_metric(out);
    nl_export_lost(writer->export, kernels->rows - rows, "further names of kernels");
}

/* ---- counters ---- */

/* Rows of the counters in order of their series. */
static uint32_t *rows_by_series(const struct nl_trace *trace, uint32_t *first)
{
    const struct nl_counter_table *table = &trace->counter;
    uint32_t *rows = nl_alloc((table->rows + (size_t)1) * sizeof *rows);
    for (uint32_t i = 0; i < table->rows; i++)
        first[table->series[i] + 1]++;
    for (uint32_t i = 0; i < trace->series.rows; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < table->rows; i++)
        rows[first[table->series[i]]++] = i;
    memmove(first + 1, first, trace->series.rows * sizeof *first);
    first[0] = 0;
    return rows;
}

static void put_point(struct otlp_writer *writer, uint32_t row)
{
    const struct nl_counter_table *table = &writer->export->trace->counter;
    struct otlp_out *out = &writer->out;
    otlp_open(out, 1, NULL);
    otlp_fixed(out, 3, "timeUnixNano", otlp_time(writer, table->ts[row]));
    otlp_double(out, 4, "asDouble", table->value[row]);
    otlp_close(out);
}

static bool is_point(const struct nl_export *export, uint32_t lane, uint32_t row)
{
    const struct nl_counter_table *table = &export->trace->counter;
    return table->ts[row] != NL_NULL_I64 && table->value[row] == table->value[row] &&
           nl_export_picks_moment(export, lane, table->ts[row]);
}

static void put_series(struct otlp_writer *writer, uint32_t series, const uint32_t *rows,
                       uint32_t count)
{
    const struct nl_trace *trace = writer->export->trace;
    uint32_t lane = trace->series.lane[series];
    struct nl_str unit = nl_trace_name(trace, trace->series.unit[series]);
    struct nl_str name = nl_trace_name(trace, trace->series.name[series]);
    for (uint32_t i = 0; i < count;) {
        unsigned points = 0;
        for (; i < count && points < POINTS; i++) {
            if (!is_point(writer->export, lane, rows[i]))
                continue;
            if (!points++) {
                open_group(writer, lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.process[lane]);
                open_metric(&writer->out, name, NULL, unit, GAUGE);
            }
            put_point(writer, rows[i]);
        }
        if (points) {
            close_metric(&writer->out);
            close_group(writer);
        }
    }
}

static bool put_counters(struct otlp_writer *writer, struct nl_err *err)
{
    const struct nl_trace *trace = writer->export->trace;
    uint32_t *first = nl_zalloc((trace->series.rows + (size_t)2) * sizeof *first);
    uint32_t *rows = rows_by_series(trace, first);
    bool done = true;
    for (uint32_t i = 0; done && i < trace->series.rows; i++) {
        put_series(writer, i, rows + first[i], first[i + 1] - first[i]);
        done = nl_export_goes_on(writer->export, err);
    }
    nl_free(first);
    nl_free(rows);
    return done;
}

bool otlp_metrics(struct otlp_writer *writer, struct nl_err *err)
{
    struct nl_result *breakdown = nl_export_ask(writer->export, "time_breakdown", err);
    struct nl_result *steps = breakdown ? nl_export_ask(writer->export, "steps", err) : NULL;
    struct nl_result *kernels = steps ? nl_export_ask(writer->export, "kernels", err) : NULL;
    if (kernels) {
        open_group(writer, NL_NULL_ROW);
        put_breakdown(writer, breakdown);
        put_steps(writer, steps);
        put_kernels(writer, kernels);
        close_group(writer);
    }
    nl_result_free(breakdown);
    nl_result_free(steps);
    nl_result_free(kernels);
    return kernels && put_counters(writer, err);
}

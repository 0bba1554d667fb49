/* What kernel profilers measured: a row per measurement. Metrics of a joined report stand with
 * theirs; what a profile has measured of its own kernels stands at its events. */
#include "base/mem.h"
#include "base/sort.h"
#include "rundoc/runparts.h"

static bool is_joined(const struct nl_trace *trace, uint32_t measurement)
{
    return measurement != NL_NULL_ROW && trace->measurement.source[measurement] != NL_NULL_ROW;
}

bool run_metric_is_joined(const struct nl_trace *trace, uint32_t metric)
{
    return is_joined(trace, trace->metric.measurement[metric]);
}

/* Metrics of joined reports by measurement, in their order. */
static struct nl_keyed *order_metrics(const struct nl_trace *trace, size_t *count)
{
    uint32_t rows = trace->metric.rows;
    struct nl_keyed *order = nl_alloc((2 * (size_t)rows + 1) * sizeof *order);
    *count = 0;
    for (uint32_t row = 0; row < rows; row++)
        if (run_metric_is_joined(trace, row))
            order[(*count)++] = (struct nl_keyed){trace->metric.measurement[row], row};
    nl_sort_keyed(order, order + rows, *count);
    return order;
}

static void write_counter(struct run_parts *parts, uint32_t row)
{
    const struct nl_metric_table *metric = &parts->trace->metric;
    nl_json_open(&parts->json, '{');
    run_name(parts, "name", metric->name[row]);
    run_f64(parts, "value", metric->value[row]);
    run_name(parts, "unit", metric->unit[row]);
    run_name(parts, "text", metric->text[row]);
    run_name(parts, "section", metric->section[row]);
    run_u32(parts, "measured", metric->measured[row]);
    nl_json_close(&parts->json, '}');
}

static void write_values(struct run_parts *parts, uint32_t row)
{
    const struct nl_measurement_table *m = &parts->trace->measurement;
    uint32_t slice = m->slice[row];
    run_name(parts, "name", slice == NL_NULL_ROW ? NL_NO_NAME : parts->trace->slice.name[slice]);
    run_name(parts, "measured_name", m->measured_name[row]);
    run_size(parts, "launches", m->launches[row]);
    run_size(parts, "measured", m->measured[row]);
    run_f64(parts, "measured_ns", m->measured_ns[row]);
    run_f64(parts, "achieved_occupancy_share", m->achieved_occupancy[row]);
    run_f64(parts, "warp_efficiency_share", m->warp_efficiency[row]);
    run_f64(parts, "l2_hit_share", m->l2_hit_rate[row]);
    run_f64(parts, "dram_bytes_per_s", m->dram_bytes_per_s[row]);
    run_f64(parts, "sm_throughput_share", m->sm_throughput[row]);
    run_f64(parts, "memory_throughput_share", m->memory_throughput[row]);
    run_f64(parts, "dram_throughput_share", m->dram_throughput[row]);
    run_u32(parts, "source", m->source[row]);
}

void run_write_measurements(struct run_parts *parts)
{
    size_t count, at = 0;
    struct nl_keyed *metrics = order_metrics(parts->trace, &count);
    run_open(parts, "measurements", '[');
    for (uint32_t row = 0; row < parts->trace->measurement.rows; row++) {
        run_row(parts);
        write_values(parts, row);
        run_open(parts, "counters", '[');
        for (; at < count && metrics[at].key == row; at++)
            write_counter(parts, metrics[at].row);
        run_close(parts, ']');
        run_row_end(parts);
    }
    run_close(parts, ']');
    nl_free(metrics);
}

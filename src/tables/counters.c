/*
 * counters — one row per series of values over time. The processes of which there are most values
 * come first: a run through shells and launchers has dozens with a value or two.
 */
#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sort.h"

#define COLUMNS(C)                                                                                 \
    C(name, "counter", TEXT)                                                                       \
    C(unit, NULL, TEXT)                                                                            \
    C(lane, NULL, TEXT)                                                                            \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(count, NULL, COUNT)                                                                          \
    C(min, NULL, NUMBER)                                                                           \
    C(mean, NULL, NUMBER)                                                                          \
    C(max, NULL, NUMBER)                                                                           \
    C(process, NULL, INTEGER)                                                                      \
    C(program, NULL, TEXT)                                                                         \
    C(thread, NULL, INTEGER)
NL_COLUMNS(COLUMNS);

struct tally {
    uint64_t count;
    double sum, min, max;
    double scaled; /* sum of value / 2^32: stays finite where `sum` does not */
};

#define SCALE 4294967296.0

/* NULL where no finite number is the mean: some value is infinite. */
static struct nl_cell mean_of(const struct tally *tally)
{
    double count = (double)tally->count;
    double mean = isfinite(tally->sum) ? tally->sum / count : tally->scaled / count * SCALE;
    return isfinite(mean) ? nl_cell_f64(mean) : (struct nl_cell){.type = NL_CELL_NULL};
}

static uint32_t process_of(const struct nl_trace *trace, uint32_t series)
{
    uint32_t lane = trace->series.lane[series];
    return lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.process[lane];
}

static void counters_add_row(struct nl_result *result, const struct nl_trace *trace,
                             uint32_t series, const struct tally *tally)
{
    uint32_t lane = trace->series.lane[series];
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_name] = nl_cell_name(result, trace, trace->series.name[series]);
    cells[AT_unit] = nl_cell_name(result, trace, trace->series.unit[series]);
    if (lane != NL_NULL_ROW) {
        cells[AT_lane] = nl_cell_name(result, trace, trace->lane.name[lane]);
        cells[AT_rank] = nl_cell_i64(nl_lane_rank(trace, lane));
        if (trace->lane.thread[lane] != NL_NULL_ROW)
            cells[AT_thread] = nl_cell_i64(trace->thread.tid[trace->lane.thread[lane]]);
    }
    uint32_t process = process_of(trace, series);
    if (process != NL_NULL_ROW) {
        cells[AT_process] = nl_cell_i64(trace->process.pid[process]);
        cells[AT_program] = nl_cell_name(result, trace, trace->process.name[process]);
    }
    if (lane != NL_NULL_ROW && trace->lane.device[lane] != NL_NULL_ROW)
        cells[AT_device] = nl_cell_i64(trace->device.ordinal[trace->lane.device[lane]]);
    cells[AT_count] = nl_cell_count(tally->count);
    cells[AT_min] = nl_cell_f64(tally->min);
    cells[AT_mean] = mean_of(tally);
    cells[AT_max] = nl_cell_f64(tally->max);
}

/* Series of no process first, those of a process together. */
static struct nl_keyed *order_of(const struct nl_trace *trace, const struct tally *tallies)
{
    uint32_t rows = trace->series.rows, processes = trace->process.rows;
    struct nl_keyed *order = nl_zalloc((rows + (size_t)1) * 2 * sizeof *order);
    struct nl_keyed *ranks = nl_zalloc((processes + (size_t)1) * 2 * sizeof *ranks);
    uint64_t *place = nl_zalloc((processes + (size_t)1) * sizeof *place);
    for (uint32_t i = 0; i < processes; i++)
        ranks[i] = (struct nl_keyed){UINT64_MAX, i};
    for (uint32_t i = 0; i < rows; i++)
        if (process_of(trace, i) < processes)
            ranks[process_of(trace, i)].key -= tallies[i].count;
    nl_sort_keyed(ranks, ranks + processes, processes);
    for (uint32_t i = 0; i < processes; i++)
        place[ranks[i].row] = (uint64_t)i + 1;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t process = process_of(trace, i);
        order[i] = (struct nl_keyed){process < processes ? place[process] : 0, i};
    }
    nl_sort_keyed(order, order + rows, rows);
    nl_free(place);
    nl_free(ranks);
    return order;
}

static struct nl_result *counters_run(const struct nl_trace *trace,
                                      const struct nl_analyze_options *options, struct nl_job *job,
                                      struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_counter_table *counter = &trace->counter;
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &options->window);
    struct tally *tallies = nl_zalloc((trace->series.rows + (size_t)1) * sizeof *tallies);
    for (uint32_t row = 0; row < counter->rows; row++) {
        uint32_t series = counter->series[row];
        double value = counter->value[row];
        if (series == NL_NULL_ROW || isnan(value) ||
            !nl_scope_moment(&scope, trace->series.lane[series], counter->ts[row]))
            continue;
        struct tally *tally = &tallies[series];
        tally->min = tally->count && tally->min < value ? tally->min : value;
        tally->max = tally->count && tally->max > value ? tally->max : value;
        tally->sum += value;
        tally->scaled += value / SCALE;
        tally->count++;
    }
    struct nl_result *result = NL_ANSWER_NEW("counters", NULL, columns);
    struct nl_keyed *order = order_of(trace, tallies);
    for (uint32_t i = 0; i < trace->series.rows; i++)
        if (tallies[order[i].row].count)
            counters_add_row(result, trace, order[i].row, &tallies[order[i].row]);
    nl_free(order);
    nl_free(tallies);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_counters = {
    .name = "counters",
    .key = "counters",
    .title = "Counters",
    .needs = {{NL_T_counter, NULL}},
    .need_count = 1,
    .run = counters_run,
    .doc = "Per counter, lane and device: number of values, minimum, mean (of the values, not over "
           "time), maximum. The processes with the most values come first.",
};

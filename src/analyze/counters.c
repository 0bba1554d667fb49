/*
 * counters — one row per series of values over time.
 */
#include "analyze/answer.h"
#include "analyze/scope.h"

static const struct nl_result_column columns[] = {
    {"name", "counter", NL_MEANS_TEXT}, {"unit", NULL, NL_MEANS_TEXT},
    {"lane", NULL, NL_MEANS_TEXT},      {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER}, {"count", NULL, NL_MEANS_COUNT},
    {"min", NULL, NL_MEANS_NUMBER},     {"mean", NULL, NL_MEANS_NUMBER},
    {"max", NULL, NL_MEANS_NUMBER},
};

struct tally {
    uint64_t count;
    double sum, min, max;
};

static void add_row(struct nl_result *result, const struct nl_trace *trace, uint32_t series,
                    const struct tally *tally)
{
    uint32_t lane = trace->series.lane[series];
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_answer_name(result, trace, trace->series.name[series]);
    cells[1] = nl_answer_name(result, trace, trace->series.unit[series]);
    if (lane != NL_NULL_ROW) {
        cells[2] = nl_answer_name(result, trace, trace->lane.name[lane]);
        cells[3] = nl_cell_i64(nl_lane_rank(trace, lane));
    }
    if (lane != NL_NULL_ROW && trace->lane.device[lane] != NL_NULL_ROW)
        cells[4] = nl_cell_i64(trace->device.ordinal[trace->lane.device[lane]]);
    cells[5] = nl_answer_count(tally->count);
    cells[6] = nl_cell_f64(tally->min);
    cells[7] = nl_cell_f64(tally->sum / (double)tally->count);
    cells[8] = nl_cell_f64(tally->max);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
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
        tally->count++;
    }
    struct nl_result *result = NL_ANSWER_NEW("counters", NULL, columns);
    for (uint32_t series = 0; series < trace->series.rows; series++)
        if (tallies[series].count)
            add_row(result, trace, series, &tallies[series]);
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
    .run = run,
    .doc = "Per counter, lane and device: number of values, smallest, mean (of the values, not "
           "over time), largest.",
};

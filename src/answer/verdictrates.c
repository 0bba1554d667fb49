/*
 * verdictrates.c — benchmarks of communication (tables of nccl-tests and rccl-tests): how fast
 * one operation is by the size of its message. The best rate is the link's, the time of the
 * smallest message is the latency: larger ones that take hardly longer are bound by it.
 *
 * Rates are algorithm bandwidth: bytes of the message by the time of one operation, as nccl-tests
 * prints it, and the bus bandwidth, which can be compared with the link whatever the operation and
 * the number of ranks.
 */
#include <math.h>

#include "answer/judge.h"
#include "base/units.h"

#define MAX_LATE_TIMES 2 /* a message that takes less than this times the smallest one's time */
#define MIN_LATE_SIZES 8 /* and is this many times its size: not its bytes take the time */

/* The operations that were measured, one by one; marks of a log have no length. */
struct rates {
    uint32_t count;
    /* Rows. half: the smallest message that reaches half of the best rate; late: the largest
     * that latency bounds */
    uint32_t best, smallest, half, late;
    double best_rate;
};

static double rate_of(const struct nl_trace *trace, uint32_t row)
{
    int64_t ns = trace->slice.dur[trace->collective.slice[row]];
    return (double)trace->collective.bytes[row] * 1e9 / (double)ns;
}

static bool is_measured(const struct nl_trace *trace, uint32_t row)
{
    uint32_t slice = trace->collective.slice[row];
    return slice != NL_NULL_ROW && trace->slice.kind[slice] == NL_KIND_COLLECTIVE &&
           !(trace->slice.flags[slice] & (NL_SLICE_INSTANT | NL_SLICE_CLAMPED)) &&
           trace->slice.dur[slice] > 0 && trace->collective.bytes[row] != NL_NULL_U64 &&
           trace->collective.bytes[row] > 0;
}

static bool is_late(const struct nl_trace *trace, const struct rates *rates, uint32_t row)
{
    const struct nl_collective_table *table = &trace->collective;
    int64_t ns = trace->slice.dur[table->slice[row]];
    return ns / MAX_LATE_TIMES < trace->slice.dur[table->slice[rates->smallest]] &&
           table->bytes[row] / MIN_LATE_SIZES >= table->bytes[rates->smallest];
}

static struct rates measure_rates(const struct nl_trace *trace)
{
    const struct nl_collective_table *table = &trace->collective;
    struct rates rates = {
        .best = NL_NULL_ROW, .smallest = NL_NULL_ROW, .half = NL_NULL_ROW, .late = NL_NULL_ROW};
    for (uint32_t row = 0; row < table->rows; row++) {
        if (!is_measured(trace, row))
            continue;
        rates.count++;
        if (rates.best == NL_NULL_ROW || rate_of(trace, row) > rates.best_rate)
            rates.best = row, rates.best_rate = rate_of(trace, row);
        if (rates.smallest == NL_NULL_ROW || table->bytes[row] < table->bytes[rates.smallest])
            rates.smallest = row;
    }
    for (uint32_t row = 0; row < table->rows; row++) {
        if (!is_measured(trace, row))
            continue;
        if (rate_of(trace, row) >= rates.best_rate / 2 &&
            (rates.half == NL_NULL_ROW || table->bytes[row] < table->bytes[rates.half]))
            rates.half = row;
        if (is_late(trace, &rates, row) &&
            (rates.late == NL_NULL_ROW || table->bytes[row] > table->bytes[rates.late]))
            rates.late = row;
    }
    return rates;
}

/* What the benchmark itself printed for that row; NAN without. */
static double bus_rate_of(const struct nl_trace *trace, uint32_t row)
{
    const struct nl_metric_table *metric = &trace->metric;
    for (uint32_t i = 0; i < metric->rows; i++)
        if (metric->slice[i] == trace->collective.slice[row] &&
            nl_str_is(nl_trace_name(trace, metric->name[i]), "busbw"))
            return metric->value[i];
    return NAN;
}

static void tell_message(struct nl_buf *out, const struct nl_trace *trace, uint32_t row)
{
    nl_tell_size(out, "", trace->collective.bytes[row]);
    nl_tell_time(out, " in ", trace->slice.dur[trace->collective.slice[row]]);
}

bool nl_judge_rates(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    struct rates rates = measure_rates(trace);
    if (!rates.count)
        return false;
    struct nl_str name = nl_trace_name(trace, trace->collective.operation[rates.best]);
    uint32_t ranks = trace->collective.ranks[rates.best];
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_name(out, "Communication benchmark: ",
                 name.len ? name : nl_str("an operation that the log does not name"));
    if (ranks != NL_NULL_U32)
        nl_tell_number(out, " among ", ranks, "rank", "ranks");
    char text[NL_UNIT_TEXT];
    double bus = bus_rate_of(trace, rates.best);
    nl_buf_format(out, " reaches %s (algorithm bandwidth", nl_format_rate(text, rates.best_rate));
    if (bus > 0)
        nl_buf_format(out, "; %s on the bus", nl_format_rate(text, bus));
    nl_buf_text(out, "), ");
    tell_message(out, trace, rates.best);
    if (rates.smallest != rates.best) {
        nl_buf_text(out, "; the smallest message, ");
        tell_message(out, trace, rates.smallest);
    }
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_COMMUNICATION;
    judged->verdict->culprit = name.len ? nl_keep_name(judged, name) : NULL;
    if (rates.half == rates.smallest || rates.half == rates.best)
        return true;
    out = nl_tell_begin(judged);
    nl_tell_size(out, "Messages of ", trace->collective.bytes[rates.half]);
    nl_buf_text(out, " and more reach half of that rate");
    if (rates.late != NL_NULL_ROW) {
        nl_tell_size(out, "; up to ", trace->collective.bytes[rates.late]);
        nl_buf_text(out, " latency is the limit: less than twice the time of the smallest");
    }
    nl_buf_char(out, '.');
    nl_tell_note(judged);
    return true;
}

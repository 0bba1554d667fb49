/*
 * Statistics as aggregates: quantiles with linear interpolation between closest ranks, as
 * everywhere in this tool (breakdown.h), and the sample standard deviation.
 */
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "sql/functions.h"

/* Values seen, all integers until the first real comes; reals are kept as integers in their
 * order. NULLs are left out. */
struct samples {
    int64_t *values;
    size_t count, cap;
    bool real;
    double percent;
};

static int64_t ordered_bits(double value)
{
    int64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static double from_ordered_bits(int64_t bits)
{
    double value;
    if (bits < 0)
        bits ^= INT64_MAX;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void turn_real(struct samples *samples)
{
    for (size_t i = 0; i < samples->count; i++)
        samples->values[i] = ordered_bits((double)samples->values[i]);
    samples->real = true;
}

static void add_sample(sqlite3_context *context, struct samples *samples, sqlite3_value *value)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL)
        return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        sqlite3_result_error(context, "quantiles are of numbers, not of text", -1);
        return;
    }
    if (samples->count == samples->cap &&
        !nl_context_room(context, 2 * samples->cap * sizeof *samples->values))
        return;
    if (type == SQLITE_FLOAT && !samples->real)
        turn_real(samples);
    nl_grow(&samples->values, &samples->cap, samples->count + 1);
    samples->values[samples->count++] =
        samples->real ? ordered_bits(sqlite3_value_double(value)) : sqlite3_value_int64(value);
}

static void quantile_step(sqlite3_context *context, int argc, sqlite3_value **argv, double percent)
{
    (void)argc;
    struct samples *samples = sqlite3_aggregate_context(context, sizeof *samples);
    if (!samples)
        return;
    samples->percent = percent;
    add_sample(context, samples, argv[0]);
}

static void median_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    quantile_step(context, argc, argv, 50);
}

static void p95_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    quantile_step(context, argc, argv, 95);
}

static void p99_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    quantile_step(context, argc, argv, 99);
}

static void percentile_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int type = sqlite3_value_numeric_type(argv[1]);
    double percent = sqlite3_value_double(argv[1]);
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(percent >= 0 && percent <= 100)) {
        sqlite3_result_error(context, "percentile(x, p): p has to be a number from 0 to 100", -1);
        return;
    }
    quantile_step(context, argc, argv, percent);
}

static double sample_at(const struct samples *samples, size_t i)
{
    return samples->real ? from_ordered_bits(samples->values[i]) : (double)samples->values[i];
}

static void quantile_final(sqlite3_context *context)
{
    struct samples *samples = sqlite3_aggregate_context(context, 0);
    if (!samples)
        return;
    if (samples->count) {
        nl_sort_i64(samples->values, samples->count);
        double position = samples->percent * (double)(samples->count - 1) / 100;
        size_t rank = (size_t)position;
        double value = sample_at(samples, rank), fraction = position - (double)rank;
        if (fraction > 0 && rank + 1 < samples->count)
            value += fraction * (sample_at(samples, rank + 1) - value);
        sqlite3_result_double(context, value);
    }
    nl_free(samples->values);
    samples->values = NULL;
}

/* Welford's running mean and sum of squares. */
struct moments {
    uint64_t count;
    double mean, squares;
};

static void stddev_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    struct moments *moments = sqlite3_aggregate_context(context, sizeof *moments);
    int type = sqlite3_value_numeric_type(argv[0]);
    if (!moments || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
        return;
    double value = sqlite3_value_double(argv[0]), off = value - moments->mean;
    moments->count++;
    moments->mean += off / (double)moments->count;
    moments->squares += off * (value - moments->mean);
}

static void stddev_final(sqlite3_context *context)
{
    const struct moments *moments = sqlite3_aggregate_context(context, 0);
    if (moments && moments->count > 1)
        sqlite3_result_double(context, sqrt(moments->squares / (double)(moments->count - 1)));
}

const struct nl_function nl_statistic_functions[] = {
    {"percentile", "percentile(x, p)",
     "Aggregate: the value below which p percent of the values lie, p from 0 to 100; linear "
     "interpolation between closest ranks (numpy's default).",
     "SELECT percentile(dur, 99.9) FROM kernels", 2, NULL, percentile_step, quantile_final},
    {"median", "median(x)", "Aggregate: percentile(x, 50).",
     "SELECT name, median(dur) FROM kernels GROUP BY name", 1, NULL, median_step, quantile_final},
    {"p95", "p95(x)", "Aggregate: percentile(x, 95).", "SELECT p95(dur) FROM api", 1, NULL,
     p95_step, quantile_final},
    {"p99", "p99(x)", "Aggregate: percentile(x, 99).", "SELECT p99(dur) FROM api", 1, NULL,
     p99_step, quantile_final},
    {"stddev", "stddev(x)",
     "Aggregate: sample standard deviation (n - 1); NULL for fewer than two.",
     "SELECT name, avg(dur), stddev(dur) FROM kernels GROUP BY name", 1, NULL, stddev_step,
     stddev_final},
    {0}};

/* Two stable sorts, by value and then by key, leave each group's values together and in order. */
#include "rundoc/runstats.h"

#include <math.h>

#include "base/mem.h"
#include "timeline/quantile.h"

static const unsigned percents[RUN_QUANTILES] = {50, 90, 95, 99};

void run_samples_release(struct run_samples *samples)
{
    nl_free(samples->keys);
    nl_free(samples->values);
}

void run_samples_add(struct run_samples *samples, uint32_t key, int64_t value)
{
    nl_grow(&samples->keys, &samples->key_cap, samples->count + 1);
    nl_grow(&samples->values, &samples->value_cap, samples->count + 1);
    samples->keys[samples->count] = key;
    samples->values[samples->count++] = value;
}

struct run_stats run_stats_sorted(const int64_t *values, size_t count)
{
    struct run_stats stats = {
        .count = count, .least = values[0], .most = values[count - 1], .std = NAN};
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(stats.total, values[i], &stats.total))
            stats.total = values[i] > 0 ? INT64_MAX : INT64_MIN + 1;
    stats.mean = (double)stats.total / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)values[i] - stats.mean) * ((double)values[i] - stats.mean);
    if (count > 1)
        stats.std = sqrt(squares / (double)(count - 1));
    for (size_t i = 0; i < RUN_QUANTILES; i++)
        stats.quantiles[i] = nl_quantile_sorted(values, nl_quantile_at(count, percents[i]));
    return stats;
}

/* Rows in order of (key, value); ties stay in the order they were added. */
static struct nl_keyed *sorted_rows(const struct run_samples *samples)
{
    struct nl_keyed *rows = nl_alloc((samples->count + 1) * 2 * sizeof *rows);
    struct nl_keyed *scratch = rows + samples->count + 1;
    for (size_t i = 0; i < samples->count; i++)
        rows[i] = (struct nl_keyed){nl_sort_key(samples->values[i]), (uint32_t)i};
    nl_sort_keyed(rows, scratch, samples->count);
    for (size_t i = 0; i < samples->count; i++)
        rows[i].key = samples->keys[rows[i].row];
    nl_sort_keyed(rows, scratch, samples->count);
    return rows;
}

struct run_group *run_samples_group(const struct run_samples *samples, size_t *count)
{
    struct nl_keyed *rows = sorted_rows(samples);
    int64_t *values = nl_alloc((samples->count + 1) * sizeof *values);
    struct run_group *groups = NULL;
    size_t cap = 0;
    *count = 0;
    for (size_t i = 0; i < samples->count; i++)
        values[i] = samples->values[rows[i].row];
    nl_grow(&groups, &cap, 1);
    for (size_t from = 0, to; from < samples->count; from = to) {
        struct run_group group = {.key = (uint32_t)rows[from].key, .sample = rows[from].row};
        for (to = from; to < samples->count && rows[to].key == rows[from].key; to++)
            if (rows[to].row < group.sample)
                group.sample = rows[to].row;
        group.stats = run_stats_sorted(values + from, to - from);
        nl_grow(&groups, &cap, *count + 1);
        groups[(*count)++] = group;
    }
    nl_free(values);
    nl_free(rows);
    return groups;
}

void run_write_stats(struct run_parts *parts, const char *key, const struct run_stats *stats)
{
    static const char *const names[RUN_QUANTILES] = {"p50_ns", "p90_ns", "p95_ns", "p99_ns"};
    nl_json_key(&parts->json, key);
    if (stats->count == 0) {
        nl_json_null(&parts->json);
        return;
    }
    nl_json_open(&parts->json, '{');
    run_u64(parts, "count", stats->count);
    run_i64(parts, "total_ns", stats->total);
    run_f64(parts, "mean_ns", stats->mean);
    run_f64(parts, "std_ns", stats->std);
    run_i64(parts, "min_ns", stats->least);
    run_i64(parts, "max_ns", stats->most);
    for (size_t i = 0; i < RUN_QUANTILES; i++)
        run_f64(parts, names[i], stats->quantiles[i]);
    nl_json_close(&parts->json, '}');
}

/*
 * runstats — statistics of many samples under a key, with all the quantiles that the document has.
 *
 *     struct run_samples samples = {0};
 *     per row:  run_samples_add(&samples, key, length);
 *     struct run_group *groups = run_samples_group(&samples, &count);   // by key
 *     run_samples_release(&samples);  nl_free(groups);
 *
 * Quantiles: linear interpolation between closest ranks. std: of a sample (n - 1), NaN for one.
 */
#ifndef NL_RUNSTATS_H
#define NL_RUNSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sort.h"
#include "rundoc/runparts.h"

#define RUN_QUANTILES 4 /* p50 p90 p95 p99 */

struct run_stats {
    uint64_t count;
    int64_t total, least, most;
    double mean, std, quantiles[RUN_QUANTILES];
};

struct run_group {
    uint32_t key;
    uint32_t sample; /* number of the first sample added under the key */
    struct run_stats stats;
};

struct run_samples {
    uint32_t *keys;
    int64_t *values;
    size_t count, key_cap, value_cap;
};

void run_samples_release(struct run_samples *samples);
void run_samples_add(struct run_samples *samples, uint32_t key, int64_t value);

/* Groups in order of key. */
struct run_group *run_samples_group(const struct run_samples *samples, size_t *count);

/* Of values in ascending order, 0 < count. */
struct run_stats run_stats_sorted(const int64_t *values, size_t count);

/* The object "stats" of the schema, or null when count is 0. */
void run_write_stats(struct run_parts *parts, const char *key, const struct run_stats *stats);

#endif

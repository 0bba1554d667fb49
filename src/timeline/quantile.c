/*
 * Order statistics by narrowing: a histogram of 4,096 equal buckets over the range shows which
 * bucket holds the wanted rank; only that bucket's values are looked at again. Outliers can put
 * nearly all values into one bucket, so narrowing repeats (each round divides the range by 4,096,
 * so three rounds end it for 32 bits). What is small enough is selected by partitioning, without
 * branches that depend on the data.
 */
#include "timeline/quantile.h"

#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

#define BUCKET_BITS       12
#define MAX_SORTED_VALUES 256 /* values that are not worth a histogram */

struct nl_quantile nl_quantile_at(size_t count, unsigned hundredths)
{
    size_t position = (count - 1) * hundredths;
    return (struct nl_quantile){position / 100, (double)(position % 100) / 100.0};
}

/* Moves values below `pivot` (or not above it) to the front; returns how many. */
static size_t partition(uint32_t *values, size_t count, uint32_t pivot, uint32_t also_equal)
{
    size_t front = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t value = values[i];
        values[i] = values[front];
        values[front] = value;
        front += (value < pivot) | ((value == pivot) & also_equal);
    }
    return front;
}

static uint32_t middle_of_three(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

static uint32_t select_few(uint32_t *values, size_t count, size_t rank)
{
    for (;;) {
        uint32_t pivot = middle_of_three(values[0], values[count / 2], values[count - 1]);
        size_t below = partition(values, count, pivot, 0);
        if (rank < below) {
            count = below;
            continue;
        }
        size_t equal = partition(values + below, count - below, pivot, 1);
        if (rank < below + equal)
            return pivot;
        rank -= below + equal;
        values += below + equal;
        count -= below + equal;
    }
}

static unsigned shift_for(uint32_t span)
{
    unsigned bits = span ? 32u - (unsigned)__builtin_clz(span) : 0;
    return bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
}

static uint32_t value_at(const uint32_t *values, size_t count, uint32_t most, size_t rank,
                         uint32_t *scratch)
{
    uint32_t low = 0, span = most;
    while (count > MAX_SORTED_VALUES) {
        uint32_t histogram[1u << BUCKET_BITS] = {0};
        unsigned shift = shift_for(span);
        for (size_t i = 0; i < count; i++)
            histogram[(values[i] - low) >> shift]++;
        uint32_t bucket = 0;
        while (rank >= histogram[bucket])
            rank -= histogram[bucket++];
        if (shift == 0)
            return low + bucket;
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t value = values[i];
            scratch[kept] = value;
            kept += (value - low) >> shift == bucket;
        }
        low += bucket << shift;
        span = (1u << shift) - 1;
        values = scratch;
        count = kept;
    }
    if (values != scratch)
        memcpy(scratch, values, count * sizeof *values);
    return select_few(scratch, count, rank);
}

/* Smallest value above `value`, and whether rank `rank` still is `value` itself. */
static uint32_t value_after(const uint32_t *values, size_t count, uint32_t value, size_t rank)
{
    size_t up_to = 0;
    uint32_t above = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t other = values[i];
        up_to += other <= value;
        uint32_t candidate = other > value ? other : UINT32_MAX;
        above = candidate < above ? candidate : above;
    }
    return rank < up_to ? value : above;
}

double nl_quantile_u32(const uint32_t *values, size_t count, int64_t base, uint32_t most,
                       struct nl_quantile quantile, uint32_t *scratch)
{
    uint32_t at = value_at(values, count, most, quantile.rank, scratch);
    if (quantile.fraction <= 0)
        return (double)(base + at);
    uint32_t next = value_after(values, count, at, quantile.rank + 1);
    return (double)(base + at) + quantile.fraction * (double)(next - at);
}

double nl_quantile_i64(int64_t *values, size_t count, struct nl_quantile quantile)
{
    int64_t least = values[0], most = values[0];
    for (size_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    uint64_t span = (uint64_t)most - (uint64_t)least;
    if (span >= UINT32_MAX) {
        nl_sort_i64(values, count);
        return nl_quantile_sorted(values, quantile);
    }
    uint32_t *distance = nl_alloc(2 * count * sizeof *distance);
    for (size_t i = 0; i < count; i++)
        distance[i] = (uint32_t)((uint64_t)values[i] - (uint64_t)least);
    double value =
        nl_quantile_u32(distance, count, least, (uint32_t)span, quantile, distance + count);
    nl_free(distance);
    return value;
}

double nl_quantile_median(int64_t *values, size_t count)
{
    return count ? nl_quantile_i64(values, count, nl_quantile_at(count, 50)) : 0;
}

double nl_quantile_sorted(const int64_t *values, struct nl_quantile quantile)
{
    int64_t at = values[quantile.rank];
    if (quantile.fraction <= 0)
        return (double)at;
    int64_t next = values[quantile.rank + 1];
    return (double)at + quantile.fraction * (double)((uint64_t)next - (uint64_t)at);
}

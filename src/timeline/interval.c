/*
 * Interval algebra by sweeping: every operator walks its inputs once, in order of start.
 *
 * Normalising is where the time goes. Sets come from lanes, so they are mostly a few ascending
 * runs one after another: the runs are found and merged pairwise (n log runs); only a set with
 * many short runs is sorted by radix. A set that is already normal costs one reading pass.
 */
#include "timeline/interval.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/sort.h"

#define MAX_RUNS 64 /* more ascending runs than this are sorted by radix */

void nl_intervals_init(struct nl_intervals *set)
{
    *set = (struct nl_intervals){0};
}

void nl_intervals_release(struct nl_intervals *set)
{
    nl_free(set->items);
    *set = (struct nl_intervals){0};
}

void nl_intervals_reserve(struct nl_intervals *set, size_t count)
{
    nl_grow(&set->items, &set->cap, count);
}

/* Appends in order of start to a normal set, joining what touches. */
static inline void append(struct nl_intervals *set, int64_t start, int64_t end)
{
    if (set->count) {
        struct nl_interval *last = &set->items[set->count - 1];
        if (start <= last->end) {
            if (end > last->end)
                last->end = end;
            return;
        }
    }
    if (set->count == set->cap)
        nl_grow(&set->items, &set->cap, set->count + 1);
    set->items[set->count++] = (struct nl_interval){start, end};
}

void nl_intervals_add(struct nl_intervals *set, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    if (set->count && start >= set->items[set->count - 1].start) {
        append(set, start, end);
        return;
    }
    if (set->count == set->cap)
        nl_grow(&set->items, &set->cap, set->count + 1);
    set->items[set->count++] = (struct nl_interval){start, end};
}

/* Index of the first item that is out of order or touches its predecessor; count = normal. */
static size_t normal_until(const struct nl_intervals *set)
{
    for (size_t i = 1; i < set->count; i++)
        if (set->items[i].start <= set->items[i - 1].end)
            return i;
    return set->count;
}

/* Starts of the ascending runs; returns how many, or MAX_RUNS + 1 for too many. */
static size_t find_runs(const struct nl_intervals *set, size_t starts[MAX_RUNS + 1])
{
    size_t runs = 0;
    starts[runs++] = 0;
    for (size_t i = 1; i < set->count; i++) {
        if (set->items[i].start >= set->items[i - 1].start)
            continue;
        if (runs == MAX_RUNS)
            return MAX_RUNS + 1;
        starts[runs++] = i;
    }
    return runs;
}

static void merge_two(const struct nl_interval *a, size_t a_count, const struct nl_interval *b,
                      size_t b_count, struct nl_interval *out)
{
    size_t i = 0, j = 0, k = 0;
    while (i < a_count && j < b_count) {
        bool second = b[j].start < a[i].start;
        out[k++] = second ? b[j] : a[i];
        j += second;
        i += !second;
    }
    if (i < a_count)
        memcpy(out + k, a + i, (a_count - i) * sizeof *a);
    else if (j < b_count)
        memcpy(out + k, b + j, (b_count - j) * sizeof *b);
}

/* Merges neighbouring runs until one is left. */
static void merge_runs(struct nl_intervals *set, size_t *starts, size_t runs)
{
    struct nl_interval *other = nl_alloc(set->count * sizeof *other);
    while (runs > 1) {
        size_t kept = 0;
        for (size_t r = 0; r < runs; r += 2) {
            size_t from = starts[r];
            size_t middle = r + 1 < runs ? starts[r + 1] : set->count;
            size_t to = r + 2 < runs ? starts[r + 2] : set->count;
            merge_two(set->items + from, middle - from, set->items + middle, to - middle,
                      other + from);
            starts[kept++] = from;
        }
        struct nl_interval *merged = other;
        other = set->items;
        set->items = merged;
        set->cap = set->count;
        runs = kept;
    }
    nl_free(other);
}

static void sort_by_start(struct nl_intervals *set)
{
    struct nl_keyed *keys = nl_alloc(2 * set->count * sizeof *keys);
    for (size_t i = 0; i < set->count; i++)
        keys[i] = (struct nl_keyed){nl_sort_key(set->items[i].start), (uint32_t)i};
    nl_sort_keyed(keys, keys + set->count, set->count);
    struct nl_interval *sorted = nl_alloc(set->count * sizeof *sorted);
    for (size_t i = 0; i < set->count; i++)
        sorted[i] = set->items[keys[i].row];
    nl_free(keys);
    nl_free(set->items);
    set->items = sorted;
    set->cap = set->count;
}

void nl_intervals_normalise(struct nl_intervals *set)
{
    size_t good = normal_until(set);
    if (good == set->count)
        return;
    size_t starts[MAX_RUNS + 1];
    size_t runs = find_runs(set, starts);
    if (runs > MAX_RUNS)
        sort_by_start(set);
    else if (runs > 1)
        merge_runs(set, starts, runs);
    size_t kept = 0;
    for (size_t i = 1; i < set->count; i++) {
        struct nl_interval *last = &set->items[kept];
        if (set->items[i].start > last->end)
            set->items[++kept] = set->items[i];
        else if (set->items[i].end > last->end)
            last->end = set->items[i].end;
    }
    set->count = kept + 1;
}

void nl_intervals_union(const struct nl_intervals *a, const struct nl_intervals *b,
                        struct nl_intervals *out)
{
    out->count = 0;
    size_t i = 0, j = 0;
    nl_intervals_reserve(out, a->count + b->count);
    while (i < a->count || j < b->count) {
        bool second = i == a->count || (j < b->count && b->items[j].start < a->items[i].start);
        const struct nl_interval *next = second ? &b->items[j++] : &a->items[i++];
        append(out, next->start, next->end);
    }
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void nl_intervals_intersect(const struct nl_intervals *a, const struct nl_intervals *b,
                            struct nl_intervals *out)
{
    out->count = 0;
    size_t i = 0, j = 0;
    while (i < a->count && j < b->count) {
        const struct nl_interval *x = &a->items[i], *y = &b->items[j];
        int64_t start = later(x->start, y->start), end = earlier(x->end, y->end);
        if (start < end)
            append(out, start, end);
        if (x->end <= y->end)
            i++;
        else
            j++;
    }
}

void nl_intervals_subtract(const struct nl_intervals *a, const struct nl_intervals *b,
                           struct nl_intervals *out)
{
    out->count = 0;
    size_t j = 0;
    for (size_t i = 0; i < a->count; i++) {
        int64_t start = a->items[i].start, end = a->items[i].end;
        while (j < b->count && b->items[j].end <= start)
            j++;
        for (size_t k = j; k < b->count && b->items[k].start < end; k++) {
            if (b->items[k].start > start)
                append(out, start, b->items[k].start);
            start = b->items[k].end;
            j = k; /* may reach into the next of a */
        }
        if (start < end)
            append(out, start, end);
    }
}

void nl_intervals_gaps(const struct nl_intervals *set, int64_t start, int64_t end,
                       struct nl_intervals *out)
{
    out->count = 0;
    for (size_t i = 0; i < set->count && start < end; i++) {
        const struct nl_interval *item = &set->items[i];
        if (item->end <= start)
            continue;
        if (item->start > start)
            append(out, start, earlier(item->start, end));
        start = later(start, item->end);
    }
    if (start < end)
        append(out, start, end);
}

int64_t nl_intervals_length(const struct nl_intervals *set)
{
    uint64_t sum = 0; /* unsigned: disjoint intervals of int64 may sum to almost 2^64 */
    for (size_t i = 0; i < set->count; i++)
        sum += (uint64_t)set->items[i].end - (uint64_t)set->items[i].start;
    return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

int64_t nl_intervals_overlap(const struct nl_intervals *a, const struct nl_intervals *b)
{
    uint64_t sum = 0;
    size_t i = 0, j = 0;
    while (i < a->count && j < b->count) {
        const struct nl_interval *x = &a->items[i], *y = &b->items[j];
        int64_t start = later(x->start, y->start), end = earlier(x->end, y->end);
        if (start < end)
            sum += (uint64_t)end - (uint64_t)start;
        bool first = x->end <= y->end;
        i += first;
        j += !first;
    }
    return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

ptrdiff_t nl_intervals_find(const struct nl_intervals *set, int64_t ts)
{
    size_t low = NL_FIRST(i, 0, set->count, set->items[i].end > ts);
    if (low < set->count && set->items[low].start <= ts)
        return (ptrdiff_t)low;
    return -1;
}

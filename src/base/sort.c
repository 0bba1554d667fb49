/* Least-significant-digit radix sort, 8 bits a pass; passes whose digit is the same everywhere are
 * skipped, so nearly equal keys (times of one trace) cost 5-6 passes instead of 8. What consists of
 * a few ascending runs (times from a few lanes, one lane after the other) is merged instead. */
#include "base/sort.h"

#include <string.h>

#include "base/mem.h"

#define MAX_INSERTION_SORT 64
#define MAX_RUNS           8 /* with more, radix passes are cheaper than merging */

/* Starts of ascending runs, then their end. */
struct runs {
    size_t bounds[MAX_RUNS + 1], count;
};

/* Where a new run begins; false when there are too many. */
static bool add_run(struct runs *runs, size_t start)
{
    if (runs->count == MAX_RUNS)
        return false;
    runs->bounds[runs->count++] = start;
    return true;
}

static void insertion_sort(struct nl_keyed *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct nl_keyed item = items[i];
        size_t k = i;
        for (; k > 0 && items[k - 1].key > item.key; k--)
            items[k] = items[k - 1];
        items[k] = item;
    }
}

static bool find_runs(const struct nl_keyed *items, size_t count, struct runs *runs)
{
    runs->bounds[0] = 0;
    runs->count = 1;
    for (size_t i = 1; i < count; i++)
        if (items[i].key < items[i - 1].key && !add_run(runs, i))
            return false;
    runs->bounds[runs->count] = count;
    return true;
}

/* Merges [first, middle) and [middle, end) of `from` into `to`; of equals the left comes first. */
static void merge(const struct nl_keyed *from, struct nl_keyed *to, size_t first, size_t middle,
                  size_t end)
{
    size_t left = first, right = middle, at = first;
    while (left < middle && right < end) {
        bool take_right = from[right].key < from[left].key;
        to[at++] = from[left ^ ((left ^ right) & (0 - (size_t)take_right))]; /* no branch */
        right += take_right;
        left += !take_right;
    }
    memcpy(to + at, from + left, (middle - left) * sizeof *to);
    at += middle - left;
    memcpy(to + at, from + right, (end - right) * sizeof *to);
}

static void merge_runs(struct nl_keyed *items, struct nl_keyed *scratch, struct runs *runs)
{
    struct nl_keyed *from = items, *to = scratch;
    size_t end = runs->bounds[runs->count];
    while (runs->count > 1) {
        size_t kept = 0;
        for (size_t run = 0; run < runs->count; run += 2) {
            size_t first = runs->bounds[run], middle = runs->bounds[run + 1];
            size_t last = run + 1 < runs->count ? runs->bounds[run + 2] : middle;
            merge(from, to, first, middle, last);
            runs->bounds[kept++] = first;
        }
        runs->bounds[kept] = end;
        runs->count = kept;
        struct nl_keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, end * sizeof *items);
}

void nl_sort_keyed(struct nl_keyed *items, struct nl_keyed *scratch, size_t count)
{
    if (count <= MAX_INSERTION_SORT) {
        insertion_sort(items, count);
        return;
    }
    struct runs runs;
    if (find_runs(items, count, &runs)) {
        merge_runs(items, scratch, &runs);
        return;
    }
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= items[i].key ^ items[0].key;
    struct nl_keyed *from = items, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (((differ >> shift) & 255) == 0)
            continue;
        size_t starts[256] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(from[i].key >> shift) & 255]++;
        size_t sum = 0;
        for (unsigned d = 0; d < 256; d++) {
            size_t n = starts[d];
            starts[d] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            to[starts[(from[i].key >> shift) & 255]++] = from[i];
        struct nl_keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}

static void insertion_sort_i64(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = values[i];
        size_t k = i;
        for (; k > 0 && values[k - 1] > value; k--)
            values[k] = values[k - 1];
        values[k] = value;
    }
}

static bool find_runs_i64(const int64_t *items, size_t count, struct runs *runs)
{
    runs->bounds[0] = 0;
    runs->count = 1;
    for (size_t i = 1; i < count; i++)
        if (items[i] < items[i - 1] && !add_run(runs, i))
            return false;
    runs->bounds[runs->count] = count;
    return true;
}

/* Merges [first, middle) and [middle, end) of `from` into `to`; of equals the left comes first. */
static void merge_i64(const int64_t *from, int64_t *to, size_t first, size_t middle, size_t end)
{
    size_t left = first, right = middle, at = first;
    while (left < middle && right < end) {
        bool take_right = from[right] < from[left];
        to[at++] = from[left ^ ((left ^ right) & (0 - (size_t)take_right))]; /* no branch */
        right += take_right;
        left += !take_right;
    }
    memcpy(to + at, from + left, (middle - left) * sizeof *to);
    at += middle - left;
    memcpy(to + at, from + right, (end - right) * sizeof *to);
}

static void merge_runs_i64(int64_t *items, int64_t *scratch, struct runs *runs)
{
    int64_t *from = items, *to = scratch;
    size_t end = runs->bounds[runs->count];
    while (runs->count > 1) {
        size_t kept = 0;
        for (size_t run = 0; run < runs->count; run += 2) {
            size_t first = runs->bounds[run], middle = runs->bounds[run + 1];
            size_t last = run + 1 < runs->count ? runs->bounds[run + 2] : middle;
            merge_i64(from, to, first, middle, last);
            runs->bounds[kept++] = first;
        }
        runs->bounds[kept] = end;
        runs->count = kept;
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, end * sizeof *items);
}

void nl_sort_i64(int64_t *values, size_t count)
{
    if (count <= MAX_INSERTION_SORT) {
        insertion_sort_i64(values, count);
        return;
    }
    struct runs runs;
    bool few_runs = find_runs_i64(values, count, &runs);
    if (few_runs && runs.count == 1)
        return;
    int64_t *scratch = nl_alloc(count * sizeof *scratch);
    if (few_runs) {
        merge_runs_i64(values, scratch, &runs);
        nl_free(scratch);
        return;
    }
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= (uint64_t)(values[i] ^ values[0]);
    int64_t *from = values, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (((differ >> shift) & 255) == 0)
            continue;
        size_t starts[256] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(nl_sort_key(from[i]) >> shift) & 255]++;
        size_t sum = 0;
        for (unsigned d = 0; d < 256; d++) {
            size_t n = starts[d];
            starts[d] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++)
            to[starts[(nl_sort_key(from[i]) >> shift) & 255]++] = from[i];
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
    nl_free(scratch);
}

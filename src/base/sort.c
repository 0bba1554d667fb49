/* Least-significant-digit radix sort, 8 bits a pass; passes whose digit is the same everywhere are
 * skipped, so nearly equal keys (times of one trace) cost 5-6 passes instead of 8. */
#include "base/sort.h"

#include <string.h>

#include "base/mem.h"

#define SMALL 64

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

void nl_sort_keyed(struct nl_keyed *items, struct nl_keyed *scratch, size_t count)
{
    if (count <= SMALL) {
        insertion_sort(items, count);
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

void nl_sort_i64(int64_t *values, size_t count)
{
    if (count <= SMALL) {
        insertion_sort_i64(values, count);
        return;
    }
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= (uint64_t)(values[i] ^ values[0]);
    int64_t *scratch = nl_alloc(count * sizeof *scratch);
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

/* Sorting against qsort with the place as the second key: arrays of few and
 * of many ascending runs. */
#include "check.h"

#include <stdlib.h>

#include "base/sort.h"

#define MOST 5000

struct pair {
    uint64_t key;
    uint32_t row;
};

static int by_key_and_row(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* `runs` ascending runs of random lengths, with many equal keys; 0: no order at all. */
static void fill(uint64_t *keys, size_t count, unsigned runs, uint64_t *state)
{
    uint64_t key = next(state) % 100;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        if (runs && !left) {
            left = count / runs + 1;
            key = next(state) % 100;
        }
        key = runs ? key + next(state) % 3 : next(state) << 20;
        left -= left > 0;
        keys[i] = key;
    }
}

static void check_keyed(const uint64_t *keys, size_t count)
{
    static struct nl_keyed items[MOST], scratch[MOST];
    static struct pair want[MOST];
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct nl_keyed){keys[i], i};
        want[i] = (struct pair){keys[i], i};
    }
    nl_sort_keyed(items, scratch, count);
    qsort(want, count, sizeof *want, by_key_and_row);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += items[i].key != want[i].key || items[i].row != want[i].row;
    CHECK_INT(wrong, 0);
}

static void check_values(const uint64_t *keys, size_t count)
{
    static int64_t values[MOST];
    static struct pair want[MOST];
    for (uint32_t i = 0; i < count; i++) {
        values[i] = (int64_t)keys[i] - 50; /* negative ones too */
        want[i] = (struct pair){keys[i], i};
    }
    nl_sort_i64(values, count);
    qsort(want, count, sizeof *want, by_key_and_row);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += values[i] != (int64_t)want[i].key - 50;
    CHECK_INT(wrong, 0);
}

static void sorts(void)
{
    static const size_t counts[] = {0, 1, 2, 64, 65, 66, 1000, MOST};
    static uint64_t keys[MOST];
    uint64_t state = 5;
    for (unsigned runs = 0; runs <= 12; runs++)
        for (size_t c = 0; c < CHECK_LENGTH(counts); c++) {
            fill(keys, counts[c], runs, &state);
            check_keyed(keys, counts[c]);
            check_values(keys, counts[c]);
        }
}

CHECK_MAIN("sort", {"few and many runs, no order", sorts})

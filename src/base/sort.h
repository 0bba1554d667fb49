/*
 * sort — stable sorting of row numbers by 64-bit keys (radix), and checks that make it unneeded.
 */
#ifndef NL_SORT_H
#define NL_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_keyed {
    uint64_t key;
    uint32_t row;
};

/* Stable ascending sort by key; `scratch` has room for `count` items. */
void nl_sort_keyed(struct nl_keyed *items, struct nl_keyed *scratch, size_t count);

/* Stable ascending sort of plain int64 values in place; allocates its scratch. */
void nl_sort_i64(int64_t *values, size_t count);

/* Order-preserving map of signed to unsigned, for keys. */
static inline uint64_t nl_sort_key(int64_t value)
{
    return (uint64_t)value ^ ((uint64_t)1 << 63);
}

#endif

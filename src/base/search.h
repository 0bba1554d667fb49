/*
 * search — bounds in what is in order, by halves.
 *
 * NL_FIRST is the only search that is needed: the lower bound of `key` in ascending values is the
 * first that is not below it, the upper bound the first that is above it.
 *
 *     size_t lower = NL_FIRST(i, 0, count, values[i] >= key);
 *     size_t upper = NL_FIRST(i, 0, count, values[i] > key);
 *     bool there = lower < count && values[lower] == key;
 *
 * It looks at log2(to - from) + 1 of them, at most.
 */
#ifndef NL_SEARCH_H
#define NL_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* The first i of [from, to) for which `holds`, an expression of i, is true, where it is false for
 * all before it and true for all after it; `to` (never below `from`) when there is none. Its type
 * is `from`'s and `to`'s, of which both are unsigned. */
#define NL_FIRST(i, from, to, holds)                                                               \
    __extension__({                                                                                \
        __typeof__((from) + (to)) nl_low = (from), nl_high = (to);                                 \
        while (nl_low < nl_high) {                                                                 \
            const __typeof__(nl_low) i = nl_low + (nl_high - nl_low) / 2;                          \
            if (holds)                                                                             \
                nl_high = i;                                                                       \
            else                                                                                   \
                nl_low = i + 1;                                                                    \
        }                                                                                          \
        nl_low;                                                                                    \
    })

/* The first that is not below `value` in ascending row numbers. */
static inline uint32_t nl_lower_u32(const uint32_t *values, uint32_t count, uint32_t value)
{
    return NL_FIRST(i, (uint32_t)0, count, values[i] >= value);
}

#endif

/*
 * heap — the first of many, kept as an array of any type: `items[0]` comes before all others.
 *
 * `before` is an expression of two pointers a and b, true when *a comes before *b. Among equals it
 * does not matter who is first, so give it what breaks ties where the order is seen.
 *
 *     NL_HEAP_ADD(items, count, item, a, b, a->end < b->end);      adds, in log2(count)
 *     items[0] = other;
 *     NL_HEAP_SINK(items, count, a, b, a->end < b->end);           after the first has changed
 *
 * The k largest of many are a heap of k with the smallest first: while it is full, one that comes
 * after items[0] takes its place.
 */
#ifndef NL_HEAP_H
#define NL_HEAP_H

#include <stddef.h>

/* Adds `item`; the array has room for it, and `count` (an lvalue) grows. */
#define NL_HEAP_ADD(items, count, item, a, b, before)                                              \
    do {                                                                                           \
        __typeof__(&(items)[0]) nl_heap = (items);                                                 \
        __typeof__((items)[0]) nl_new = (item);                                                    \
        size_t nl_at = (count)++;                                                                  \
        for (; nl_at; nl_at = (nl_at - 1) / 2) {                                                   \
            const __typeof__(nl_new) *a = &nl_new, *b = &nl_heap[(nl_at - 1) / 2];                 \
            if (!(before))                                                                         \
                break;                                                                             \
            nl_heap[nl_at] = *b;                                                                   \
        }                                                                                          \
        nl_heap[nl_at] = nl_new;                                                                   \
    } while (0)

/* Puts items[0], which may come after others now, where it belongs; count > 0. */
#define NL_HEAP_SINK(items, count, a, b, before)                                                   \
    do {                                                                                           \
        __typeof__(&(items)[0]) nl_heap = (items);                                                 \
        const __typeof__((items)[0]) nl_moved = nl_heap[0];                                        \
        const size_t nl_count = (count);                                                           \
        size_t nl_at = 0;                                                                          \
        for (size_t nl_child = 1; nl_child < nl_count; nl_child = 2 * nl_at + 1) {                 \
            const __typeof__(nl_moved) *a = &nl_heap[nl_child], *b = &nl_moved;                    \
            if (nl_child + 1 < nl_count) {                                                         \
                b = a;                                                                             \
                a++;                                                                               \
                nl_child += (before) ? 1 : 0;                                                      \
                a = &nl_heap[nl_child];                                                            \
                b = &nl_moved;                                                                     \
            }                                                                                      \
            if (!(before))                                                                         \
                break;                                                                             \
            nl_heap[nl_at] = *a;                                                                   \
            nl_at = nl_child;                                                                      \
        }                                                                                          \
        nl_heap[nl_at] = nl_moved;                                                                 \
    } while (0)

#endif

/* Bounds against a walk, and heaps against sorting. */
#include "base/heap.h"
#include "base/search.h"
#include "check.h"
#include "fabricate.h"

static void bounds(void)
{
    int64_t values[100];
    uint64_t state = 3;
    for (size_t count = 0; count <= 100; count++) {
        int64_t value = INT64_MIN;
        for (size_t i = 0; i < count; i++)
            values[i] = value = i ? value + (int64_t)(fabricate_random(&state) % 3) : -20;
        for (int64_t wanted = -23; wanted < 110; wanted++) {
            size_t lower = 0, upper = 0;
            while (lower < count && values[lower] < wanted)
                lower++;
            while (upper < count && values[upper] <= wanted)
                upper++;
            CHECK_INT(NL_FIRST(i, (size_t)0, count, values[i] >= wanted), lower);
            CHECK_INT(NL_FIRST(i, (size_t)0, count, values[i] > wanted), upper);
        }
    }
    const uint32_t rows[] = {2, 2, 5, UINT32_MAX};
    CHECK_INT(nl_lower_u32(rows, 4, 2), 0);
    CHECK_INT(nl_lower_u32(rows, 4, 3), 2);
    CHECK_INT(nl_lower_u32(rows, 3, UINT32_MAX), 3);
    CHECK_INT(nl_lower_u32(NULL, 0, 1), 0);
}

/* A part of the array, with the largest numbers there are, and an empty part. */
static void parts(void)
{
    CHECK_INT(NL_FIRST(i, 10u, 20u, i >= 15), 15);
    CHECK_INT(NL_FIRST(i, 10u, 20u, false), 20);
    CHECK_INT(NL_FIRST(i, 10u, 20u, true), 10);
    CHECK_INT(NL_FIRST(i, 20u, 20u, true), 20);
    CHECK_INT(NL_FIRST(i, UINT64_MAX - 5, UINT64_MAX, i >= UINT64_MAX - 2), UINT64_MAX - 2);
    size_t asked = 0;
    CHECK_INT(NL_FIRST(i, (size_t)0, (size_t)1000, (asked++, i > 700)), 701);
    CHECK(asked <= 11);
}

struct item {
    int64_t key;
    unsigned place;
};

static int by_key(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    return a->key != b->key ? (a->key < b->key ? -1 : 1) : (int)a->place - (int)b->place;
}

#define COMES_FIRST (a->key != b->key ? a->key < b->key : a->place < b->place)

/* All in, all out in order; and the ten largest of many. */
static void heaps(void)
{
    enum { MOST = 300, LARGEST = 10 };
    struct item heap[MOST + 1], sorted[MOST], largest[LARGEST + 1];
    uint64_t state = 9;
    for (size_t count = 0; count <= MOST; count += 1 + count / 3) {
        size_t held = 0, kept = 0, wrong = 0;
        for (unsigned i = 0; i < count; i++) {
            sorted[i] = (struct item){(int64_t)(fabricate_random(&state) % 50) - 25, i};
            NL_HEAP_ADD(heap, held, sorted[i], a, b, COMES_FIRST);
            if (kept < LARGEST) {
                NL_HEAP_ADD(largest, kept, sorted[i], a, b, COMES_FIRST);
            } else if (by_key(&sorted[i], largest) > 0) {
                largest[0] = sorted[i];
                NL_HEAP_SINK(largest, kept, a, b, COMES_FIRST);
            }
        }
        CHECK_INT(held, count);
        qsort(sorted, count, sizeof *sorted, by_key);
        for (size_t i = 0; i < kept; i++) {
            wrong += by_key(&largest[0], &sorted[count - kept + i]) != 0;
            largest[0] = largest[kept - 1 - i];
            if (i + 1 < kept)
                NL_HEAP_SINK(largest, kept - 1 - i, a, b, COMES_FIRST);
        }
        for (size_t i = 0; i < count; i++) {
            wrong += by_key(&heap[0], &sorted[i]) != 0;
            heap[0] = heap[--held];
            if (held)
                NL_HEAP_SINK(heap, held, a, b, COMES_FIRST);
        }
        CHECK_INT(wrong, 0);
    }
}

CHECK_MAIN("search", {"bounds", bounds}, {"parts", parts}, {"heaps", heaps})

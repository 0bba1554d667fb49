/*
 * Sums and unions by name over nested ranges, held against the definition: for each name all
 * work below a range of that name, marked nanosecond by nanosecond. Trees, names and work
 * are random; work overlaps.
 */
#include <string.h>

#include "base/mem.h"
#include "check.h"
#include "tables/nestedtime.h"

#define RANGES  12
#define NAMES   6
#define WORKS   24
#define DEVICES 2
#define LENGTH  64 /* ns that a device has */

struct work {
    uint32_t range, device;
    int64_t start, end;
};

static uint64_t seed = 88172645463325252u;

static uint32_t below(uint32_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % bound;
}

static bool is_around(const struct nl_rangetree *tree, const uint32_t *ids, uint32_t range,
                      uint32_t name)
{
    for (; range != NL_NULL_ROW; range = tree->parents[range])
        if (ids[range] == name)
            return true;
    return false;
}

static void expect(const struct nl_rangetree *tree, const uint32_t *ids, const struct work *works,
                   uint32_t name, int64_t *total, int64_t *covered)
{
    bool marked[DEVICES][LENGTH];
    memset(marked, 0, sizeof marked);
    *total = *covered = 0;
    for (const struct work *work = works; work < works + WORKS; work++) {
        if (!is_around(tree, ids, work->range, name))
            continue;
        *total += work->end - work->start;
        for (int64_t at = work->start; at < work->end; at++)
            marked[work->device][at] = true;
    }
    for (uint32_t device = 0; device < DEVICES; device++)
        for (size_t at = 0; at < LENGTH; at++)
            *covered += marked[device][at];
}

static int by_start(const void *left, const void *right)
{
    const struct work *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

/* The depth of trees, the share of names that repeat and how much overlaps
 * differ from round to round. */
static void one_round(void)
{
    uint32_t parents[RANGES], ids[RANGES], near = 1 + below(RANGES), names = 1 + below(NAMES);
    struct work works[WORKS];
    uint32_t longest = 1 + below(LENGTH / 2);
    for (uint32_t range = 0; range < RANGES; range++) {
        uint32_t back = 1 + below(near);
        parents[range] = back > range ? NL_NULL_ROW : range - back;
        ids[range] = below(names);
    }
    for (uint32_t i = 0; i < WORKS; i++) {
        int64_t start = below(LENGTH - longest);
        works[i] = (struct work){below(8) ? below(RANGES) : NL_NULL_ROW, below(DEVICES), start,
                                 start + below(longest + 1)};
    }
    qsort(works, WORKS, sizeof works[0], by_start);
    struct nl_rangetree tree = {.parents = parents, .count = RANGES};
    struct nl_nestedtime nested;
    nl_nestedtime_init(&nested, &tree, ids, NAMES);
    for (uint32_t i = 0; i < WORKS; i++)
        nl_nestedtime_add(&nested, works[i].range, works[i].device, works[i].start, works[i].end);
    nl_nestedtime_finish(&nested);
    for (uint32_t name = 0; name < NAMES; name++) {
        int64_t total, covered;
        expect(&tree, ids, works, name, &total, &covered);
        CHECK_INT(nested.names[name].total_ns, total);
        CHECK_INT(nested.names[name].union_ns, covered);
    }
    nl_nestedtime_release(&nested);
}

static void random_trees(void)
{
    for (int i = 0; i < 20000; i++)
        one_round();
}

/* Sums of absurd lengths stay at the largest number. */
static void absurd_lengths(void)
{
    uint32_t parents[] = {NL_NULL_ROW}, ids[] = {0};
    struct nl_rangetree tree = {.parents = parents, .count = 1};
    struct nl_nestedtime nested;
    nl_nestedtime_init(&nested, &tree, ids, 1);
    for (int i = 0; i < 3; i++)
        nl_nestedtime_add(&nested, 0, 0, -INT64_MAX / 4, INT64_MAX / 4);
    nl_nestedtime_finish(&nested);
    CHECK_INT(nested.names[0].total_ns, INT64_MAX);
    CHECK_INT(nested.names[0].union_ns, INT64_MAX / 4 * 2);
    nl_nestedtime_release(&nested);
}

CHECK_MAIN("nestedtime", {"random trees", random_trees}, {"absurd lengths", absurd_lengths})

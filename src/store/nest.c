/*
 * Nesting: from slices in any order to (lane, sub-lane, depth, ts) order with parents.
 *
 * 1. Slices are grouped by lane with a stable counting sort.
 * 2. Each lane is put in order of (start ascending, length descending, arrival); most lanes already
 *    are, which is checked first.
 * 3. One pass with a stack per sub-lane gives depth and parent. A slice that would cross the
 *    innermost open slice of sub-lane 0 (it starts inside and ends outside) is tried on sub-lane
 *    1, 2, …; nothing is dropped and no length is changed. After MAX_SUBS sub-lanes a slice goes to
 *    the last one un-nested, flagged NL_SLICE_OVERFLOW: the cost stays bounded on hostile input.
 * 4. Counting by (sub-lane, depth) gives each slice its final row.
 * Lanes are independent, so steps 2-4 run in parallel over lanes.
 */
#include "store/build.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/sort.h"

#define MAX_SUBS     64
#define RUNS_MOST    16
#define POOLED_LEAST ((size_t)1 << 20)
#define MAX_DEPTH    4096 /* much of what is asked walks up or down a lane once for each depth */

struct open_slice {
    int64_t end;
    uint32_t staged;
};

struct sub_lane {
    struct open_slice *stack;
    size_t cap;
    uint32_t open;
    uint32_t *counts; /* slices per depth */
    size_t count_cap;
    uint32_t depths; /* deepest + 1 */
};

struct nest_run {
    struct nl_nesting *n;
    uint32_t *order; /* staged numbers grouped by lane */
    atomic_uint_fast64_t unnested;
};

/* Sorts equal starts by length, longest first, keeping arrival order among equals. */
static void order_ties(const struct nl_nesting *n, uint32_t *rows, uint32_t count)
{
    for (uint32_t start = 0; start < count;) {
        uint32_t end = start + 1;
        bool wrong = false;
        while (end < count && n->ts[rows[end]] == n->ts[rows[start]]) {
            wrong |= n->dur[rows[end]] > n->dur[rows[end - 1]];
            end++;
        }
        if (wrong) {
            uint32_t len = end - start;
            struct nl_keyed *items = nl_alloc(2 * (size_t)len * sizeof *items);
            for (uint32_t i = 0; i < len; i++)
                items[i] =
                    (struct nl_keyed){~nl_sort_key(n->dur[rows[start + i]]), rows[start + i]};
            nl_sort_keyed(items, items + len, len);
            for (uint32_t i = 0; i < len; i++)
                rows[start + i] = items[i].row;
            nl_free(items);
        }
        start = end;
    }
}

/* Merges two neighbouring ascending runs, rows[0 .. middle) and rows[middle .. count). Stable. */
static void merge_runs(const struct nl_nesting *n, uint32_t *rows, uint32_t middle, uint32_t count,
                       uint32_t *scratch)
{
    uint32_t left = 0, right = middle, at = 0;
    memcpy(scratch, rows, middle * sizeof *rows);
    while (left < middle)
        rows[at++] = right < count && n->ts[rows[right]] < n->ts[scratch[left]] ? rows[right++]
                                                                                : scratch[left++];
}

/* Lanes whose slices come from a few tables or threads are a few ascending runs. False when there are more
 * than RUNS_MOST. Room for a large lane is of the pool, which may lie on a disk. */
static bool merge_starts(const struct nl_nesting *n, uint32_t *rows, uint32_t count)
{
    uint32_t bounds[RUNS_MOST + 1], runs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i && n->ts[rows[i - 1]] <= n->ts[rows[i]])
            continue;
        if (runs == RUNS_MOST)
            return false;
        bounds[runs++] = i;
    }
    bounds[runs] = count;
    size_t bytes = count * sizeof *rows;
    bool pooled = bytes >= POOLED_LEAST;
    uint32_t *scratch = pooled ? nl_pagepool_take(n->pages, bytes) : nl_alloc(bytes);
    while (runs > 1) {
        uint32_t kept = 0;
        for (uint32_t run = 0; run < runs; run += 2) {
            uint32_t first = bounds[run], end = bounds[run + 2 < runs ? run + 2 : runs];
            if (run + 1 < runs)
                merge_runs(n, rows + first, bounds[run + 1] - first, end - first, scratch);
            bounds[kept++] = first;
        }
        bounds[kept] = count;
        runs = kept;
    }
    if (pooled)
        nl_pagepool_give(n->pages, scratch, bytes);
    else
        nl_free(scratch);
    return true;
}

/* Stable. Room for a large lane is of the pool, too. */
static void order_starts(const struct nl_nesting *n, uint32_t *rows, uint32_t count)
{
    if (merge_starts(n, rows, count))
        return;
    size_t bytes = 2 * (size_t)count * sizeof(struct nl_keyed);
    bool pooled = bytes >= POOLED_LEAST;
    struct nl_keyed *items = pooled ? nl_pagepool_take(n->pages, bytes) : nl_alloc(bytes);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct nl_keyed){nl_sort_key(n->ts[rows[i]]), rows[i]};
    nl_sort_keyed(items, items + count, count);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = items[i].row;
    if (pooled)
        nl_pagepool_give(n->pages, items, bytes);
    else
        nl_free(items);
}

static void order_lane(const struct nl_nesting *n, uint32_t *rows, uint32_t count)
{
    bool sorted = true, ties = false;
    for (uint32_t i = 1; i < count && sorted; i++) {
        int64_t before = n->ts[rows[i - 1]], now = n->ts[rows[i]];
        sorted = before <= now;
        ties |= before == now;
    }
    if (!sorted) {
        order_starts(n, rows, count);
        ties = true;
    }
    if (ties)
        order_ties(n, rows, count);
}

static void count_at(struct sub_lane *sub, uint32_t depth)
{
    if (depth >= sub->depths) {
        nl_grow(&sub->counts, &sub->count_cap, (size_t)depth + 1);
        memset(sub->counts + sub->depths, 0, (depth + 1 - sub->depths) * sizeof *sub->counts);
        sub->depths = depth + 1;
    }
    sub->counts[depth]++;
}

/* Tries to put a slice on a sub-lane; false when it would cross an open slice there. */
static bool try_sub(struct nl_nesting *n, struct sub_lane *sub, uint32_t staged)
{
    int64_t ts = n->ts[staged], end = ts + n->dur[staged];
    while (sub->open && sub->stack[sub->open - 1].end <= ts)
        sub->open--;
    if (sub->open && sub->stack[sub->open - 1].end < end)
        return false;
    if (sub->open >= MAX_DEPTH)
        return false;
    n->parent[staged] = sub->open ? sub->stack[sub->open - 1].staged : NL_NULL_ROW;
    n->depth[staged] = (uint16_t)sub->open;
    count_at(sub, sub->open);
    nl_grow(&sub->stack, &sub->cap, (size_t)sub->open + 1);
    sub->stack[sub->open++] = (struct open_slice){end, staged};
    return true;
}

/* Depth, parent and sub-lane of every slice of one lane; returns the number of sub-lanes. */
static uint32_t nest_lane(struct nest_run *run, struct sub_lane *subs, const uint32_t *rows,
                          uint32_t count)
{
    struct nl_nesting *n = run->n;
    uint32_t used = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t staged = rows[i], s = 0;
        while (s < MAX_SUBS && !try_sub(n, &subs[s], staged))
            s = subs[s].open >= MAX_DEPTH ? MAX_SUBS : s + 1;
        if (s == MAX_SUBS) {
            s = MAX_SUBS - 1;
            n->flags[staged] |= NL_SLICE_OVERFLOW;
            n->parent[staged] = NL_NULL_ROW;
            n->depth[staged] = 0;
            count_at(&subs[s], 0);
            atomic_fetch_add(&run->unnested, 1);
        }
        if (s) /* untouched pages of zeros cost nothing */
            n->sub[staged] = (uint8_t)s;
        if (s + 1 > used)
            used = s + 1;
    }
    return used;
}

static void place_lane(void *context, size_t lane, unsigned worker)
{
    (void)worker;
    struct nest_run *run = context;
    struct nl_nesting *n = run->n;
    uint32_t first = n->lane_first[lane], count = n->lane_first[lane + 1] - first;
    uint32_t *rows = count ? run->order + first : NULL; /* no array at all without slices */
    struct sub_lane *subs = nl_zalloc(MAX_SUBS * sizeof *subs);
    order_lane(n, rows, count);
    n->subs[lane] = nest_lane(run, subs, rows, count);
    uint32_t at = first;
    for (uint32_t s = 0; s < n->subs[lane]; s++) {
        for (uint32_t d = 0; d < subs[s].depths; d++) {
            uint32_t slices = subs[s].counts[d];
            subs[s].counts[d] = at;
            at += slices;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        n->position[rows[i]] = subs[n->sub[rows[i]]].counts[n->depth[rows[i]]]++;
    for (uint32_t s = 0; s < MAX_SUBS; s++) {
        nl_free(subs[s].stack);
        nl_free(subs[s].counts);
    }
    nl_free(subs);
}

/* `order` = staged numbers grouped by lane, stable. */
static uint32_t *group_by_lane(struct nl_nesting *n)
{
    uint32_t *order = nl_pagepool_take(n->pages, (size_t)n->count * sizeof *order);
    uint32_t *next = nl_zalloc(((size_t)n->lane_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < n->count; i++)
        next[n->lane[i] + 1]++;
    for (uint32_t l = 0; l < n->lane_count; l++)
        next[l + 1] += next[l];
    memcpy(n->lane_first, next, ((size_t)n->lane_count + 1) * sizeof *next);
    for (uint32_t i = 0; i < n->count; i++)
        order[next[n->lane[i]]++] = i;
    nl_free(next);
    return order;
}

void nl_nest(struct nl_nesting *n, unsigned threads)
{
    size_t count = n->count;
    n->depth = nl_pagepool_take(n->pages, count * sizeof *n->depth);
    n->sub = nl_pagepool_fresh(n->pages, count * sizeof *n->sub);
    n->parent = nl_pagepool_take(n->pages, count * sizeof *n->parent);
    n->position = nl_pagepool_take(n->pages, count * sizeof *n->position);
    n->lane_first = nl_zalloc(((size_t)n->lane_count + 1) * sizeof *n->lane_first);
    n->subs = nl_zalloc(((size_t)n->lane_count + 1) * sizeof *n->subs);
    struct nest_run run = {.n = n, .order = group_by_lane(n)};
    nl_parallel(threads, n->lane_count, place_lane, &run);
    nl_pagepool_give(n->pages, run.order, count * sizeof *run.order);
    n->unnested = atomic_load(&run.unnested);
}

void nl_nesting_release(struct nl_nesting *n)
{
    size_t count = n->count;
    if (!n->pages)
        return;
    nl_pagepool_give(n->pages, n->depth, count * sizeof *n->depth);
    nl_pagepool_give(n->pages, n->sub, count * sizeof *n->sub);
    nl_pagepool_give(n->pages, n->parent, count * sizeof *n->parent);
    nl_pagepool_give(n->pages, n->position, count * sizeof *n->position);
    nl_free(n->lane_first);
    nl_free(n->subs);
    *n = (struct nl_nesting){.unnested = n->unnested};
}

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

#define MAX_SUBS      64
#define MAX_RUNS      16
#define MIN_POOLED    ((size_t)1 << 20)
#define FEW_IN_A_PART 50000u /* slices that a thread would be started for */
#define MAX_DEPTH     4096   /* much of what is asked walks up or down a lane once for each depth */

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
    /* by staged number */
    uint16_t *depth;
    uint8_t *sub;
    uint32_t *parent; /* staged number or NL_NULL_ROW */
    /* of grouping: per part of the slices, where the next one of each lane goes */
    uint32_t *next;
    unsigned parts;
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

/* Lanes whose slices come from a few tables or threads are a few ascending runs. False when there
 * are more than MAX_RUNS. A large lane takes room from the pool, which may be on a disk. */
static bool merge_starts(const struct nl_nesting *n, uint32_t *rows, uint32_t count)
{
    uint32_t bounds[MAX_RUNS + 1], runs = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i && n->ts[rows[i - 1]] <= n->ts[rows[i]])
            continue;
        if (runs == MAX_RUNS)
            return false;
        bounds[runs++] = i;
    }
    bounds[runs] = count;
    size_t bytes = count * sizeof *rows;
    bool pooled = bytes >= MIN_POOLED;
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
    bool pooled = bytes >= MIN_POOLED;
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
static bool try_sub(const struct nest_run *run, struct sub_lane *sub, uint32_t staged)
{
    const struct nl_nesting *n = run->n;
    int64_t ts = n->ts[staged], end = ts + n->dur[staged];
    while (sub->open && sub->stack[sub->open - 1].end <= ts)
        sub->open--;
    if (sub->open && sub->stack[sub->open - 1].end < end)
        return false;
    if (sub->open >= MAX_DEPTH)
        return false;
    run->parent[staged] = sub->open ? sub->stack[sub->open - 1].staged : NL_NULL_ROW;
    run->depth[staged] = (uint16_t)sub->open;
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
        while (s < MAX_SUBS && !try_sub(run, &subs[s], staged))
            s = subs[s].open >= MAX_DEPTH ? MAX_SUBS : s + 1;
        if (s == MAX_SUBS) {
            s = MAX_SUBS - 1;
            n->flags[staged] |= NL_SLICE_OVERFLOW;
            run->parent[staged] = NL_NULL_ROW;
            run->depth[staged] = 0;
            count_at(&subs[s], 0);
            atomic_fetch_add(&run->unnested, 1);
        }
        if (s) /* untouched pages of zeros cost nothing */
            run->sub[staged] = (uint8_t)s;
        if (s + 1 > used)
            used = s + 1;
    }
    return used;
}

/* Where the slices of each sub-lane and depth begin, instead of how many there
 * are; their final depths. */
static struct nl_nested_sub *place_depths(const struct nl_nesting *n, struct sub_lane *subs,
                                          uint32_t used, uint32_t at)
{
    struct nl_nested_sub *nested = nl_alloc(used * sizeof *nested);
    for (uint32_t s = 0; s < used; s++) {
        uint32_t first = at;
        for (uint32_t d = 0; d < subs[s].depths; d++) {
            uint32_t slices = subs[s].counts[d];
            nl_fill_cells(n->depth + at, sizeof *n->depth, slices, d);
            subs[s].counts[d] = at;
            at += slices;
        }
        nested[s] = (struct nl_nested_sub){at - first, subs[s].depths};
    }
    return nested;
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
    n->sub[lane] = place_depths(n, subs, n->subs[lane], first);
    for (uint32_t i = 0; i < count; i++) { /* parents come before what is in them */
        uint32_t staged = rows[i], parent = run->parent[staged];
        uint32_t at = subs[run->sub[staged]].counts[run->depth[staged]]++;
        n->position[staged] = at;
        n->parent[at] = parent == NL_NULL_ROW ? NL_NULL_ROW : n->position[parent];
    }
    for (uint32_t s = 0; s < MAX_SUBS; s++) {
        nl_free(subs[s].stack);
        nl_free(subs[s].counts);
    }
    nl_free(subs);
}

/* ---- Grouping ---- */

/* Slices of a part: the first, and the one after the last. */
static uint32_t part_bound(const struct nest_run *run, size_t part)
{
    return (uint32_t)((uint64_t)run->n->count * part / run->parts);
}

static void count_part(void *context, size_t part, unsigned worker)
{
    (void)worker;
    struct nest_run *run = context;
    uint32_t *next = run->next + part * run->n->lane_count, end = part_bound(run, part + 1);
    for (uint32_t i = part_bound(run, part); i < end; i++)
        next[run->n->lane[i]]++;
}

static void group_part(void *context, size_t part, unsigned worker)
{
    (void)worker;
    struct nest_run *run = context;
    uint32_t *next = run->next + part * run->n->lane_count, end = part_bound(run, part + 1);
    for (uint32_t i = part_bound(run, part); i < end; i++)
        run->order[next[run->n->lane[i]]++] = i;
}

/* `order` = staged numbers grouped by lane, stable. */
static void group_by_lane(struct nest_run *run, unsigned threads)
{
    struct nl_nesting *n = run->n;
    uint32_t at = 0;
    run->parts = n->count / FEW_IN_A_PART < threads || n->count / threads < n->lane_count
                     ? 1 /* not more places than slices */
                     : threads;
    run->order = nl_pagepool_take(n->pages, (size_t)n->count * sizeof *run->order);
    run->next = nl_zalloc(((size_t)n->lane_count * run->parts + 1) * sizeof *run->next);
    nl_parallel(run->parts, run->parts, count_part, run);
    for (uint32_t l = 0; l < n->lane_count; l++) {
        n->lane_first[l] = at;
        for (unsigned part = 0; part < run->parts; part++) {
            uint32_t *next = &run->next[(size_t)part * n->lane_count + l], slices = *next;
            *next = at;
            at += slices;
        }
    }
    n->lane_first[n->lane_count] = at;
    nl_parallel(run->parts, run->parts, group_part, run);
    nl_free(run->next);
}

void nl_nest(struct nl_nesting *n, unsigned threads)
{
    size_t count = n->count;
    struct nest_run run = {.n = n};
    n->depth = nl_pagepool_take(n->pages, count * sizeof *n->depth);
    n->parent = nl_pagepool_take(n->pages, count * sizeof *n->parent);
    n->position = nl_pagepool_take(n->pages, count * sizeof *n->position);
    n->lane_first = nl_zalloc(((size_t)n->lane_count + 1) * sizeof *n->lane_first);
    n->subs = nl_zalloc(((size_t)n->lane_count + 1) * sizeof *n->subs);
    n->sub = nl_zalloc(((size_t)n->lane_count + 1) * sizeof *n->sub);
    run.depth = nl_pagepool_take(n->pages, count * sizeof *run.depth);
    run.sub = nl_pagepool_fresh(n->pages, count * sizeof *run.sub);
    run.parent = nl_pagepool_take(n->pages, count * sizeof *run.parent);
    group_by_lane(&run, threads);
    nl_parallel(threads, n->lane_count, place_lane, &run);
    nl_pagepool_give(n->pages, run.order, count * sizeof *run.order);
    nl_pagepool_give(n->pages, run.depth, count * sizeof *run.depth);
    nl_pagepool_give(n->pages, run.sub, count * sizeof *run.sub);
    nl_pagepool_give(n->pages, run.parent, count * sizeof *run.parent);
    n->unnested = atomic_load(&run.unnested);
}

void nl_nesting_release(struct nl_nesting *n)
{
    size_t count = n->count;
    if (!n->pages)
        return;
    nl_pagepool_give(n->pages, n->depth, count * sizeof *n->depth);
    nl_pagepool_give(n->pages, n->parent, count * sizeof *n->parent);
    nl_pagepool_give(n->pages, n->position, count * sizeof *n->position);
    for (uint32_t l = 0; n->sub && l < n->lane_count; l++)
        nl_free(n->sub[l]);
    nl_free(n->sub);
    nl_free(n->lane_first);
    nl_free(n->subs);
    *n = (struct nl_nesting){.unnested = n->unnested};
}

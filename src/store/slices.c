/*
 * Slices of all units → table slice and its lanes: flat arrays in the order of units, nested
 * (nest.c), then moved to their final order, a column at a time.
 */
#include "base/mem.h"
#include "base/pool.h"
#include "store/columns.h"

#include <string.h>

#define READ_SLICES(segment, column, cells)                                                        \
    nl_read_staged(segment, NL_T_slice, offsetof(struct nl_slice_row, column), cells)

#define PART 64 /* segments per task */

/* What is known of a segment of slices on its way to flat arrays. */
struct flat_segment {
    uint32_t at;         /* its first row */
    bool unfinished;     /* some have no end */
    bool flagged;        /* some have flags */
    int64_t first, last; /* earliest start as recorded; latest end */
};

struct flatten {
    struct nl_finish *f;
    const struct nl_segment *segments;
    struct flat_segment *flat;
    size_t count;
};

/* Most segments have none, and untouched pages of zeros cost nothing. */
static void read_flags(struct nl_finish *f, const struct nl_segment *segment,
                       struct flat_segment *flat)
{
    uint8_t flags[NL_CHUNK_ROWS], any = 0;
    READ_SLICES(segment, flags, flags);
    for (uint32_t i = 0; i < segment->count; i++)
        any |= flags[i];
    flat->flagged = any;
    if (any)
        memcpy(f->flags + flat->at, flags, segment->count);
}

/* Ends; overlong slices are cut at the limit. */
static void find_ends(struct nl_finish *f, struct flat_segment *flat, uint32_t end)
{
    flat->last = INT64_MIN;
    for (uint32_t i = flat->at; i < end; i++) {
        int64_t ts = f->ts[i], dur = f->dur[i] == NL_NULL_I64 ? 0 : f->dur[i];
        flat->unfinished |= f->dur[i] == NL_NULL_I64;
        if (dur > NL_TIME_LIMIT - (ts > 0 ? ts : 0)) {
            dur = NL_TIME_LIMIT - (ts > 0 ? ts : 0);
            f->dur[i] = dur;
            f->clamped_times++;
        }
        flat->last = ts + dur > flat->last ? ts + dur : flat->last;
    }
}

static void flatten_segment(struct nl_finish *f, const struct nl_segment *segment,
                            struct flat_segment *flat)
{
    uint32_t at = flat->at;
    int64_t offset = f->b->sources[segment->unit->source].offset_ns;
    const uint32_t *lanes = f->remaps.map[NL_T_lane];
    uint32_t end = at + segment->count;
    READ_SLICES(segment, dur, f->dur + at);
    READ_SLICES(segment, lane, f->lane + at);
    READ_SLICES(segment, kind, f->kind + at);
    read_flags(f, segment, flat);
    for (uint32_t i = at; i < end; i++)
        f->ts[i] = nl_shifted(f, f->ts[i] == NL_NULL_I64 ? 0 : f->ts[i], offset);
    for (uint32_t i = at; i < end; i++)
        if (f->dur[i] < 0 && f->dur[i] != NL_NULL_I64) {
            f->negative++;
            f->dur[i] = 0;
        }
    for (uint32_t i = at; i < end; i++) {
        if (f->lane[i] >= f->remaps.count[NL_T_lane])
            NL_BUG("a staged slice has no lane");
        f->lane[i] = lanes[f->lane[i]];
    }
    find_ends(f, flat, end);
}

static void flatten_names(struct nl_finish *f, const struct nl_segment *segment, uint32_t at)
{
    READ_SLICES(segment, name, f->name + at);
    for (uint32_t i = at; i < at + segment->count; i++)
        f->name[i] = nl_settled_name(f->trace, segment->unit->stage, f->name[i]);
}

/* Task 0 numbers the names, which must happen in order; the others take a part each. */
static void flatten_task(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct flatten *flatten = context;
    size_t from = index ? (index - 1) * PART : 0;
    size_t to = index ? from + PART : flatten->count;
    for (size_t i = from; i < to && i < flatten->count; i++) {
        if (index == 0)
            flatten_names(flatten->f, &flatten->segments[i], flatten->flat[i].at);
        else
            flatten_segment(flatten->f, &flatten->segments[i], &flatten->flat[i]);
    }
}

/* Times as recorded, and the earliest start of each segment. */
static void times_task(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct flatten *flatten = context;
    for (size_t i = index * PART; i < (index + 1) * PART && i < flatten->count; i++) {
        struct flat_segment *flat = &flatten->flat[i];
        int64_t *ts = flatten->f->ts + flat->at, first = INT64_MAX;
        READ_SLICES(&flatten->segments[i], ts, ts);
        for (uint32_t k = 0; k < flatten->segments[i].count; k++)
            first = ts[k] < first && ts[k] != NL_NULL_I64 ? ts[k] : first;
        flat->first = first;
    }
}

static void read_times(struct flatten *flatten)
{
    struct nl_builder *b = flatten->f->b;
    int64_t *first = nl_alloc((b->source_count + 1u) * sizeof *first);
    for (uint32_t s = 0; s < b->source_count; s++)
        first[s] = INT64_MAX;
    nl_parallel(nl_job_threads(b->job), (flatten->count + PART - 1) / PART, times_task, flatten);
    for (size_t i = 0; i < flatten->count; i++) {
        int64_t *earliest = &first[flatten->segments[i].unit->source];
        *earliest = flatten->flat[i].first < *earliest ? flatten->flat[i].first : *earliest;
    }
    nl_align_sources(b, first);
    nl_free(first);
}

/* Ends that were never recorded go to the end of the trace. */
static void settle_ends(const struct flatten *flatten)
{
    struct nl_finish *f = flatten->f;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < flatten->count; i++)
        last = flatten->flat[i].last > last ? flatten->flat[i].last : last;
    for (size_t s = 0; s < flatten->count; s++) {
        f->flagged |= flatten->flat[s].flagged || flatten->flat[s].unfinished;
        uint32_t at = flatten->flat[s].at, end = at + flatten->segments[s].count;
        for (uint32_t i = at; flatten->flat[s].unfinished && i < end; i++) {
            if (f->dur[i] != NL_NULL_I64)
                continue;
            f->dur[i] = last - f->ts[i];
            f->flags[i] |= NL_SLICE_CLAMPED;
            f->unfinished++;
        }
    }
}

static void flatten_slices(struct nl_finish *f)
{
    size_t n = f->slices;
    uint64_t rows;
    struct flatten flatten = {.f = f};
    struct nl_segment *segments = nl_gather_segments(f->b, NL_T_slice, &flatten.count, &rows);
    flatten.segments = segments;
    flatten.flat = nl_zalloc((flatten.count + 1) * sizeof *flatten.flat);
    uint32_t at = 0;
    for (size_t i = 0; i < flatten.count; at += segments[i++].count)
        flatten.flat[i].at = at;
    f->ts = nl_pagepool_take(&f->b->pages, n * sizeof *f->ts);
    read_times(&flatten);
    f->dur = nl_pagepool_take(&f->b->pages, n * sizeof *f->dur);
    f->name = nl_pagepool_take(&f->b->pages, n * sizeof *f->name);
    f->lane = nl_pagepool_take(&f->b->pages, n * sizeof *f->lane);
    f->kind = nl_pagepool_take(&f->b->pages, n);
    f->flags = nl_pagepool_fresh(&f->b->pages, n);
    nl_parallel(nl_job_threads(f->b->job), 1 + (flatten.count + PART - 1) / PART, flatten_task,
                &flatten);
    settle_ends(&flatten);
    nl_free(flatten.flat);
    nl_free(segments);
    nl_release_staged(f->b, NL_T_slice);
}

/* Of a load that was cancelled before they were placed. */
static void drop_flat(struct nl_finish *f)
{
    size_t n = f->slices;
    nl_pagepool_give(&f->b->pages, f->ts, n * sizeof *f->ts);
    nl_pagepool_give(&f->b->pages, f->dur, n * sizeof *f->dur);
    nl_pagepool_give(&f->b->pages, f->name, n * sizeof *f->name);
    nl_pagepool_give(&f->b->pages, f->lane, n * sizeof *f->lane);
    nl_pagepool_give(&f->b->pages, f->kind, n);
    nl_pagepool_give(&f->b->pages, f->flags, n);
}

/* A column of slices: moved from an array in staged order, which is freed; made of the lanes' rows;
 * or where it belongs already. */
struct move {
    struct nl_finish *f;
    void *from, **to;
    unsigned size;
};

static uint32_t *lanes_of_slices(const struct nl_finish *f)
{
    const struct nl_lane_table *lane = &f->trace->lane;
    uint32_t *lanes = nl_pagepool_take(&f->b->pages, f->slices * sizeof *lanes);
    for (uint32_t row = 0; row < lane->rows; row++)
        nl_fill_cells(lanes + lane->first[row], sizeof *lanes, lane->count[row], row);
    return lanes;
}

static void *moved(const struct move *move)
{
    size_t n = move->f->slices;
    const uint32_t *position = move->f->nest.position;
    void *out = nl_pagepool_take(&move->f->b->pages, n * move->size);
#define MOVE(type)                                                                                 \
    for (size_t i = 0; i < n; i++)                                                                 \
    ((type *)out)[position[i]] = ((const type *)move->from)[i]
    switch (move->size) {
    case 1: MOVE(uint8_t); break;
    case 4: MOVE(uint32_t); break;
    default: MOVE(uint64_t); break;
    }
#undef MOVE
    nl_pagepool_give(&move->f->b->pages, move->from, n * move->size);
    return out;
}

static void move_column(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct move *move = &((struct move *)context)[index];
    size_t n = move->f->slices;
    if (move->from)
        *move->to = moved(move);
    else if (!*move->to)
        *move->to = lanes_of_slices(move->f);
    nl_pagepool_fold(&move->f->b->pages, *move->to, n * move->size, move->size);
}

/* Rows of device work, of calls and of waits: nearly all of them will be linked. */
static uint64_t linked_most(const struct nl_finish *f)
{
    static const enum nl_table_id tables[] = {NL_T_kernel, NL_T_copy, NL_T_memset,
                                              NL_T_graph,  NL_T_api,  NL_T_sync};
    uint64_t rows = 0;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct nl_stage *stage = f->b->stages; stage; stage = stage->next)
            for (size_t i = 0; i < stage->tables[tables[t]].count; i++)
                rows += stage->tables[tables[t]].segments[i].count;
    return rows;
}

/* Links, all unknown: on a few pages until they are written, unless that will be most of them. */
static uint32_t *no_links(struct nl_finish *f, size_t count)
{
    size_t bytes = count * sizeof(uint32_t);
    bool many = linked_most(f) > count / 2;
    uint32_t *rows =
        many ? nl_pagepool_take(&f->b->pages, bytes) : nl_pagepool_fresh(&f->b->pages, bytes);
    bool plain = many || count < NL_FEW_ROWS || nl_spill_owns(f->b->pages.spill, rows);
    if (plain || !nl_pagepool_repeat(&f->b->pages, rows, bytes, UINT64_MAX))
        nl_fill_cells(rows, sizeof *rows, count, NL_NULL_ROW);
    return rows;
}

static void place_slices(struct nl_finish *f)
{
    struct nl_slice_table *slice = &f->trace->slice;
    size_t n = f->slices;
    slice->rows = f->slices;
    slice->depth = f->nest.depth;
    slice->parent = f->nest.parent;
    f->nest.depth = NULL;
    f->nest.parent = NULL;
    nl_pagepool_give(&f->b->pages, f->lane, n * sizeof *f->lane);
    /* Flags that are zero are so in any order. Their pages, which were never written, must not get
     * into the pool: the first write to each would interrupt all other processors. */
    bool flagged = f->flagged || f->nest.unnested;
    slice->flags = flagged ? NULL : f->flags;
    /* Those that fold best first: the large ones take their pages. */
    struct move moves[] = {
        {f, f->flags, (void **)&slice->flags, 1}, {f, f->kind, (void **)&slice->kind, 1},
        {f, NULL, (void **)&slice->depth, 2},     {f, NULL, (void **)&slice->lane, 4},
        {f, NULL, (void **)&slice->parent, 4},    {f, f->name, (void **)&slice->name, 4},
        {f, f->ts, (void **)&slice->ts, 8},       {f, f->dur, (void **)&slice->dur, 8}};
    size_t first = flagged ? 0 : 1, count = sizeof moves / sizeof moves[0];
    if (n)
        nl_parallel(nl_job_threads(f->b->job), count - first, move_column, moves + first);
    slice->link = no_links(f, n);
    slice->detail = nl_pagepool_take(&f->b->pages, n * sizeof *slice->detail);
    nl_fill_cells(slice->detail, sizeof *slice->detail, n, NL_NULL_ROW);
}

/* Sub-lanes become separate lanes after their base lane; the remap of lanes is made to point to
 * that. */
static void build_lanes(struct nl_finish *f)
{
    struct nl_builder *b = f->b;
    const struct nl_nesting *nest = &f->nest;
    uint32_t bases = b->lane_keys.count, total = 0;
    uint32_t *base = nl_alloc((bases + 1u) * sizeof *base);
    for (uint32_t l = 0; l < bases; l++) {
        base[l] = total;
        total += nest->subs[l];
    }
    struct nl_lane_row *rows = nl_alloc(total * sizeof *rows);
    for (uint32_t l = 0; l < bases; l++) {
        uint32_t first = nest->lane_first[l];
        for (uint32_t sub = 0; sub < nest->subs[l]; sub++) {
            const struct nl_nested_sub *nested = &nest->sub[l][sub];
            struct nl_lane_row *row = &rows[base[l] + sub];
            *row = b->lanes[f->sequence[NL_T_lane][l]];
            row->sub = sub;
            row->first = first;
            row->count = nested->rows;
            row->depth = (uint16_t)(nested->depths < UINT16_MAX ? nested->depths : UINT16_MAX);
            first += nested->rows;
        }
    }
    uint32_t *sorted = f->sequence[NL_T_lane];
    f->sequence[NL_T_lane] = NULL;
    nl_build_entities(f, NL_T_lane, rows, total);
    nl_free(rows);
    nl_free(sorted);
    for (uint32_t i = 0; i < bases; i++)
        f->remaps.map[NL_T_lane][i] = base[f->remaps.map[NL_T_lane][i]];
    nl_free(base);
}

/* Lanes are nested while the names of other tables are numbered: one lane mostly has
 * nearly all slices, and numbers follow from the order of names, so that each of
 * both is work for one thread. */
static void nest_or_number(void *context, size_t task, unsigned worker)
{
    (void)worker;
    struct nl_finish *f = context;
    if (task == 0)
        nl_nest(&f->nest, nl_job_threads(f->b->job));
    else
        nl_number_ahead(f);
}

bool nl_build_slices(struct nl_finish *f, struct nl_err *err)
{
    struct nl_builder *b = f->b;
    flatten_slices(f);
    f->nest = (struct nl_nesting){.count = f->slices,
                                  .lane_count = b->lane_keys.count,
                                  .ts = f->ts,
                                  .dur = f->dur,
                                  .lane = f->lane,
                                  .flags = f->flags,
                                  .pages = &b->pages};
    nl_parallel(f->slices < NL_FEW_ROWS ? 1 : nl_job_threads(b->job), 2, nest_or_number, f);
    if (nl_job_cancelled(b->job)) {
        drop_flat(f);
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    }
    build_lanes(f);
    place_slices(f);
    return true;
}

/*
 * Slices of all units → table slice and its lanes: flat arrays in the order of units, nested (nest.c),
 * then moved to their final order, a column at a time.
 */
#include "base/mem.h"
#include "base/pool.h"
#include "store/columns.h"

#include <string.h>

#define READ_SLICES(segment, column, cells)                                                        \
    nl_read_staged(segment, NL_T_slice, offsetof(struct nl_slice_row, column), cells)

/* Times of all slices, and the earliest start per source. */
static void read_times(struct nl_finish *f, const struct nl_segment *segments, size_t count,
                       int64_t *first)
{
    uint32_t at = 0;
    for (uint32_t s = 0; s < f->b->source_count; s++)
        first[s] = INT64_MAX;
    for (size_t i = 0; i < count; at += segments[i++].count) {
        int64_t *earliest = &first[segments[i].unit->source];
        READ_SLICES(&segments[i], ts, f->ts + at);
        for (uint32_t k = at; k < at + segments[i].count; k++)
            if (f->ts[k] < *earliest && f->ts[k] != NL_NULL_I64)
                *earliest = f->ts[k];
    }
}

/* Segments of slices on their way to flat arrays; `starts` has the first row of each. */
struct flatten {
    struct nl_finish *f;
    const struct nl_segment *segments;
    uint32_t *starts;
    size_t count, part; /* segments in all, and per task */
};

/* Most segments have none, and untouched pages of zeros cost nothing. */
static void read_flags(struct nl_finish *f, const struct nl_segment *segment, uint32_t at)
{
    uint8_t flags[NL_CHUNK_ROWS], any = 0;
    READ_SLICES(segment, flags, flags);
    for (uint32_t i = 0; i < segment->count; i++)
        any |= flags[i];
    if (any)
        memcpy(f->flags + at, flags, segment->count);
}

static void flatten_segment(struct nl_finish *f, const struct nl_segment *segment, uint32_t at)
{
    int64_t offset = f->b->sources[segment->unit->source].offset_ns;
    const uint32_t *lanes = f->remaps.map[NL_T_lane];
    uint32_t end = at + segment->count;
    READ_SLICES(segment, dur, f->dur + at);
    READ_SLICES(segment, lane, f->lane + at);
    READ_SLICES(segment, kind, f->kind + at);
    read_flags(f, segment, at);
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
}

static void flatten_names(struct nl_finish *f, const struct nl_segment *segment, uint32_t at)
{
    READ_SLICES(segment, name, f->name + at);
    for (uint32_t i = at; i < at + segment->count; i++)
        f->name[i] = nl_final_name(f->trace, segment->unit->stage, f->name[i]);
}

/* Task 0 numbers the names, which must happen in order; the others take a part each. */
static void flatten_task(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct flatten *flatten = context;
    size_t from = index ? (index - 1) * flatten->part : 0;
    size_t to = index ? from + flatten->part : flatten->count;
    for (size_t i = from; i < to && i < flatten->count; i++) {
        if (index == 0)
            flatten_names(flatten->f, &flatten->segments[i], flatten->starts[i]);
        else
            flatten_segment(flatten->f, &flatten->segments[i], flatten->starts[i]);
    }
}

static void flatten_segments(struct nl_finish *f, const struct nl_segment *segments, size_t count)
{
    struct flatten flatten = {.f = f, .segments = segments, .count = count, .part = 64};
    flatten.starts = nl_alloc((count + 1) * sizeof *flatten.starts);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        flatten.starts[i] = at;
        at += segments[i].count;
    }
    nl_parallel(nl_job_threads(f->b->job), 1 + (count + flatten.part - 1) / flatten.part,
                flatten_task, &flatten);
    nl_free(flatten.starts);
}

/* Ends that were never recorded go to the end of the trace; overlong ones are cut at the limit. */
static void settle_ends(struct nl_finish *f)
{
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < f->slices; i++) {
        int64_t dur = f->dur[i] == NL_NULL_I64 ? 0 : f->dur[i];
        if (dur > NL_TIME_LIMIT - (f->ts[i] > 0 ? f->ts[i] : 0)) {
            dur = NL_TIME_LIMIT - (f->ts[i] > 0 ? f->ts[i] : 0);
            f->dur[i] = dur;
            f->clamped_times++;
        }
        if (f->ts[i] + dur > last)
            last = f->ts[i] + dur;
    }
    for (uint32_t i = 0; i < f->slices; i++) {
        if (f->dur[i] != NL_NULL_I64)
            continue;
        f->dur[i] = last - f->ts[i];
        f->flags[i] |= NL_SLICE_CLAMPED;
        f->unfinished++;
    }
}

static void flatten_slices(struct nl_finish *f)
{
    size_t n = f->slices, count;
    uint64_t rows;
    struct nl_segment *segments = nl_gather_segments(f->b, NL_T_slice, &count, &rows);
    int64_t *first = nl_alloc((f->b->source_count + 1u) * sizeof *first);
    f->ts = nl_pagepool_take(&f->b->pages, n * sizeof *f->ts);
    read_times(f, segments, count, first);
    nl_align_sources(f->b, first);
    nl_free(first);
    f->dur = nl_pagepool_take(&f->b->pages, n * sizeof *f->dur);
    f->name = nl_pagepool_take(&f->b->pages, n * sizeof *f->name);
    f->lane = nl_pagepool_take(&f->b->pages, n * sizeof *f->lane);
    f->kind = nl_pagepool_take(&f->b->pages, n);
    f->flags = nl_pagepool_fresh(&f->b->pages, n);
    flatten_segments(f, segments, count);
    nl_free(segments);
    nl_release_staged(f->b, NL_T_slice);
    settle_ends(f);
}

/* One column of slices moved to its final order; the old array is freed. */
struct move {
    struct nl_finish *f;
    void *from, **to;
    unsigned size;
};

static void move_column(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct move *move = &((struct move *)context)[index];
    size_t n = move->f->slices;
    const uint32_t *position = move->f->nest.position;
    void *out = nl_pagepool_take(&move->f->b->pages, n * move->size);
#define MOVE(type)                                                                                 \
    for (size_t i = 0; i < n; i++)                                                                 \
    ((type *)out)[position[i]] = ((const type *)move->from)[i]
    switch (move->size) {
    case 1: MOVE(uint8_t); break;
    case 2: MOVE(uint16_t); break;
    case 4: MOVE(uint32_t); break;
    default: MOVE(uint64_t); break;
    }
#undef MOVE
    nl_pagepool_give(&move->f->b->pages, move->from, n * move->size);
    nl_pagepool_fold(&move->f->b->pages, out, n * move->size, move->size);
    *move->to = out;
}

/* Parents as final rows; final lanes (base + sub). */
static void settle_references(struct nl_finish *f, uint32_t *base)
{
    struct nl_nesting *nest = &f->nest;
    for (uint32_t i = 0; i < f->slices; i++) {
        if (nest->parent[i] != NL_NULL_ROW)
            nest->parent[i] = nest->position[nest->parent[i]];
        f->lane[i] = base[f->lane[i]] + nest->sub[i];
    }
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

static void place_slices(struct nl_finish *f, uint32_t *base)
{
    struct nl_slice_table *slice = &f->trace->slice;
    size_t n = f->slices;
    settle_references(f, base);
    slice->rows = f->slices;
    /* Those that fold best first: the large ones take their pages. */
    struct move moves[] = {{f, f->flags, (void **)&slice->flags, 1},
                           {f, f->kind, (void **)&slice->kind, 1},
                           {f, f->nest.depth, (void **)&slice->depth, 2},
                           {f, f->lane, (void **)&slice->lane, 4},
                           {f, f->nest.parent, (void **)&slice->parent, 4},
                           {f, f->name, (void **)&slice->name, 4},
                           {f, f->ts, (void **)&slice->ts, 8},
                           {f, f->dur, (void **)&slice->dur, 8}};
    if (n)
        nl_parallel(nl_job_threads(f->b->job), sizeof moves / sizeof moves[0], move_column, moves);
    f->nest.parent = NULL;
    f->nest.depth = NULL;
    slice->link = no_links(f, n);
    slice->detail = nl_pagepool_take(&f->b->pages, n * sizeof *slice->detail);
    nl_fill_cells(slice->detail, sizeof *slice->detail, n, NL_NULL_ROW);
}

/* Sub-lanes become lanes of their own behind their base lane. `base[l]` is the final number of
 * sorted base lane l; the remap of lanes is made to point there. */
static uint32_t *build_lanes(struct nl_finish *f)
{
    struct nl_builder *b = f->b;
    struct nl_nesting *nest = &f->nest;
    uint32_t bases = b->lane_keys.count, total = 0;
    uint32_t *base = nl_alloc((bases + 1u) * sizeof *base);
    for (uint32_t l = 0; l < bases; l++) {
        base[l] = total;
        total += nest->subs[l] ? nest->subs[l] : 1;
    }
    struct nl_lane_row *rows = nl_alloc(total * sizeof *rows);
    for (uint32_t l = 0; l < bases; l++) {
        uint32_t end = l + 1 < bases ? base[l + 1] : total;
        for (uint32_t row = base[l]; row < end; row++) {
            rows[row] = b->lanes[f->sequence[NL_T_lane][l]];
            rows[row].sub = row - base[l];
            rows[row].first = nest->lane_first[l];
            rows[row].count = 0;
            rows[row].depth = 0;
        }
    }
    for (uint32_t i = 0; i < f->slices; i++) {
        struct nl_lane_row *row = &rows[base[f->lane[i]] + nest->sub[i]];
        row->count++;
        if (nest->depth[i] + 1u > row->depth)
            row->depth =
                (uint16_t)(nest->depth[i] + 1u < UINT16_MAX ? nest->depth[i] + 1u : UINT16_MAX);
    }
    for (uint32_t row = 1; row < total; row++)
        if (rows[row].sub)
            rows[row].first = rows[row - 1].first + rows[row - 1].count;
    uint32_t *sorted = f->sequence[NL_T_lane];
    f->sequence[NL_T_lane] = NULL;
    nl_build_entities(f, NL_T_lane, rows, total);
    nl_free(rows);
    nl_free(sorted);
    for (uint32_t i = 0; i < bases; i++)
        f->remaps.map[NL_T_lane][i] = base[f->remaps.map[NL_T_lane][i]];
    return base;
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
    nl_nest(&f->nest, nl_job_threads(b->job));
    if (nl_job_cancelled(b->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    uint32_t *base = build_lanes(f);
    place_slices(f, base);
    nl_free(base);
    return true;
}

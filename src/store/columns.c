/*
 * Columns: staged rows, or rows that the builder kept as arrays, → the columns of a finished table,
 * in unit order, with names, references and times settled.
 */
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "redact/redact.h"
#include "store/columns.h"

/* Into the trace's dictionary, without what looks like a secret. */
static uint32_t add_name(struct nl_trace *trace, struct nl_builder *b, struct nl_str text,
                         uint64_t hash)
{
    struct nl_buf safe;
    nl_buf_init(&safe, text.len * 2 + 64);
    size_t secrets = nl_redact_name(&safe, text);
    b->names_redacted += secrets > 0;
    uint32_t id = secrets ? nl_dict_add(&trace->names, (struct nl_str){safe.ptr, safe.len})
                          : nl_dict_add_hashed(&trace->names, text, hash);
    nl_buf_release(&safe);
    return id;
}

/* With a single unit the texts are already in their final order: take them over instead of
 * copying. */
static void adopt_filled(struct nl_trace *trace, struct nl_stage *stage)
{
    trace->filled = stage->filled;
    stage->filled = (struct nl_filled){.count = trace->filled.count};
    for (uint32_t i = 0; i < trace->filled.count; i++)
        nl_filled_set_pattern(&trace->filled, i,
                              nl_final_name(trace, stage, nl_filled_pattern(&trace->filled, i)));
}

static uint32_t final_filled(struct nl_trace *trace, struct nl_stage *stage, uint32_t number)
{
    if (number >= stage->filled.count)
        NL_BUG("a staged text is out of range");
    if (stage->builder->unit_count == 1) {
        if (stage->filled.bytes)
            adopt_filled(trace, stage);
        return number | NL_FILLED;
    }
    struct nl_str packed = nl_filled_packed(&stage->filled, number);
    uint32_t pattern = nl_final_name(trace, stage, nl_filled_pattern(&stage->filled, number));
    number = nl_filled_add(&trace->filled, pattern, packed.ptr, packed.len);
    return number == UINT32_MAX ? NL_NO_NAME : number | NL_FILLED;
}

uint32_t nl_final_name(struct nl_trace *trace, struct nl_stage *stage, uint32_t id)
{
    if (id == 0)
        return 0;
    if ((id & (NL_SHARED_NAME | NL_STAGED_FILLED)) == NL_STAGED_FILLED)
        return final_filled(trace, stage, id & ~NL_STAGED_FILLED);
    const struct nl_dict *dict = &stage->names;
    uint32_t *map = stage->remap;
    if (id & NL_SHARED_NAME) {
        id &= ~NL_SHARED_NAME;
        dict = &stage->builder->names;
        map = stage->builder->shared_remap;
    }
    if (id >= dict->count)
        NL_BUG("a staged name id is out of range");
    if (!map[id])
        map[id] = add_name(trace, stage->builder, nl_dict_text(dict, id), dict->hashes[id]);
    return map[id];
}

struct nl_segment *nl_gather_segments(struct nl_builder *b, enum nl_table_id table, size_t *count,
                                      uint64_t *rows)
{
    size_t cap = 0;
    struct nl_segment *all = NULL;
    *count = 0;
    *rows = 0;
    bool sorted = true;
    for (struct nl_stage *stage = b->stages; stage; stage = stage->next) {
        struct nl_staged *staged = &stage->tables[table];
        nl_grow(&all, &cap, *count + staged->count);
        for (size_t i = 0; i < staged->count; i++) {
            if (*count && all[*count - 1].unit->order > staged->segments[i].unit->order)
                sorted = false;
            *rows += staged->segments[i].count;
            all[(*count)++] = staged->segments[i];
        }
    }
    if (sorted || !*count)
        return all;
    /* A unit's segments were appended one after the other, so a stable sort by unit suffices. */
    struct nl_segment *merged = nl_alloc(*count * sizeof *merged);
    uint32_t *next = nl_zalloc(((size_t)b->unit_count + 1) * sizeof *next);
    for (size_t i = 0; i < *count; i++)
        next[all[i].unit->order + 1]++;
    for (uint32_t u = 0; u < b->unit_count; u++)
        next[u + 1] += next[u];
    for (size_t i = 0; i < *count; i++)
        merged[next[all[i].unit->order]++] = all[i];
    nl_free(next);
    nl_free(all);
    return merged;
}

void nl_read_staged(const struct nl_segment *segment, enum nl_table_id table, size_t field,
                    void *cells)
{
    const struct nl_table_def *def = &nl_tables[table];
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        if (nl_is_stored(column) && column->field == field)
            nl_chunk_read(segment->chunk, def, c, segment->count, cells);
    }
}

void nl_release_staged(struct nl_builder *b, enum nl_table_id table)
{
    for (struct nl_stage *stage = b->stages; stage; stage = stage->next)
        nl_staged_release(&stage->tables[table], &b->pages);
}

void nl_stage_drop(struct nl_stage *stage)
{
    struct nl_builder *b = stage->builder;
    for (int t = 0; t < NL_TABLE_COUNT; t++) {
        nl_staged_release(&stage->tables[t], &b->pages);
        stage->waiting[t].used = stage->waiting[t].packed = 0;
    }
    nl_runs_release(stage);
    pthread_mutex_lock(&b->lock);
    for (struct nl_unit *unit = b->units; unit; unit = unit->next)
        if (unit->stage == stage)
            unit->slices = 0;
    pthread_mutex_unlock(&b->lock);
}

int64_t nl_clamped(struct nl_finish *f, int64_t ts)
{
    if (ts == NL_NULL_I64)
        return ts;
    f->clamped_times++;
    return ts < 0 ? -NL_TIME_LIMIT : NL_TIME_LIMIT;
}

/* ---- other tables ---- */

uint32_t nl_final_reference(struct nl_finish *f, const struct nl_unit *unit,
                            enum nl_table_id target, uint32_t row)
{
    if (row == NL_NULL_ROW)
        return row;
    if (target == NL_T_slice) {
        if (row >= unit->slices || !f->nest.position)
            NL_BUG("a staged row refers to a slice outside its unit");
        return f->nest.position[unit->slice_base + row];
    }
    if (target == NL_T_stack) {
        if (row >= unit->stacks)
            NL_BUG("a staged row refers to a stack outside its unit");
        return unit->stack_base + row;
    }
    const uint32_t *map = f->remaps.map[target];
    if (map && row >= f->remaps.count[target])
        NL_BUG("a staged reference is out of range");
    return map ? map[row] : row;
}

/* Cells of rows of one unit, as staged → final. Numbers are already. */
static void settle_cells(struct nl_finish *f, const struct nl_column_def *column,
                         const struct nl_unit *unit, void *cells, uint32_t count)
{
    int64_t *times = cells, offset = f->b->sources ? f->b->sources[unit->source].offset_ns : 0;
    uint32_t *ids = cells;
    switch (column->type) {
    case NL_TYPE_TIME:
        for (uint32_t i = 0; i < count; i++)
            times[i] = nl_shifted(f, times[i], offset);
        break;
    case NL_TYPE_NAME:
        for (uint32_t i = 0; i < count; i++)
            ids[i] = nl_settled_name(f->trace, unit->stage, ids[i]);
        break;
    case NL_TYPE_REF:
        for (uint32_t i = 0; i < count; i++)
            ids[i] = nl_final_reference(f, unit, column->target, ids[i]);
        break;
    default: break;
    }
}

static void fill_unknown(const struct nl_column_def *column, char *cells, uint64_t from,
                         uint64_t count)
{
    if (count) /* else there may be no array */
        nl_fill_cells(cells + from * column->size, column->size, count,
                      nl_unknown_cells(column->type));
}

static void set_rows(struct nl_trace *trace, enum nl_table_id table, uint64_t rows)
{
    *(uint32_t *)(void *)((char *)trace + nl_tables[table].offset) = (uint32_t)rows;
}

/* Rows of a column up to those of the batch in hand that all have one value
 * and were not written yet. */
struct even_run {
    bool open;
    uint64_t value; /* as many times as it fits */
    size_t from;    /* its first byte in the column */
};

/* One table on its way from segments to columns, a batch of segments at a time. */
struct table_run {
    struct nl_finish *f;
    const struct nl_table_def *def;
    struct nl_segment *segments;
    size_t count;
    uint64_t rows, extra;
    bool *unknown;         /* per column: nothing is known in it, and the array says so already */
    size_t from, to;       /* segments of the batch */
    uint64_t at, last;     /* rows of the batch */
    size_t *touched;       /* per column: bytes that have pages */
    struct even_run *even; /* per column */
};

/* Columns that finishing writes to, row by row, once they are made (class_kernels): pages of a
 * pattern would be made again then, one by one, each with an interrupt of all other processors. */
static bool is_written_later(const struct table_run *run, size_t c)
{
    const struct nl_kernel_table *kernel = &run->f->trace->kernel;
    const void *array = nl_column_array(run->f->trace, &nl_columns[run->def->first + c]);
    return array == &kernel->class || array == &kernel->category || array == &kernel->tensor_core ||
           array == &kernel->dtype;
}

/* Columns in which nothing is known cost no memory: zeros are left as fresh pages are, and never
 * touched; others are a few pages many times. */
static void find_unknown(struct table_run *run)
{
    struct nl_trace *trace = run->f->trace;
    const struct nl_column_def *first = &nl_columns[run->def->first];
    bool few = run->rows < NL_FEW_ROWS;
    for (size_t c = 0; c < run->def->count; c++)
        run->unknown[c] = nl_is_stored(&first[c]) && (!few || first[c].type == NL_TYPE_NAME) &&
                          !is_written_later(run, c);
    for (size_t i = 0; i < run->count; i++)
        for (size_t c = 0; c < run->def->count; c++)
            if (run->unknown[c])
                run->unknown[c] = nl_chunk_unknown(run->segments[i].chunk, (unsigned)c);
    for (size_t c = 0; c < run->def->count; c++) {
        uint64_t pattern = nl_unknown_cells(first[c].type);
        if (run->unknown[c] && pattern)
            run->unknown[c] =
                nl_pagepool_repeat(&run->f->b->pages, *nl_column_array(trace, &first[c]),
                                   (run->rows + run->extra) * first[c].size, pattern);
    }
}

static unsigned count_names(const struct nl_table_def *def)
{
    unsigned count = 0;
    for (unsigned c = def->first; c < def->first + def->count; c++)
        count += nl_is_stored(&nl_columns[c]) && nl_columns[c].type == NL_TYPE_NAME;
    return count;
}

/* Names get their final ids, column after column: new ids are given in order of first use in that
 * order, however many batches there are. */
static void number_names(struct nl_finish *f, const struct nl_table_def *def,
                         const struct nl_segment *segments, size_t count)
{
    uint32_t *ids = NULL;
    size_t cap = 0;
    for (unsigned c = 0; c < def->count; c++) {
        const struct nl_column_def *column = &nl_columns[def->first + c];
        if (!nl_is_stored(column) || column->type != NL_TYPE_NAME)
            continue;
        for (size_t i = 0; i < count; i++) {
            const struct nl_segment *segment = &segments[i];
            uint32_t rows = nl_chunk_same(segment->chunk, c) ? 1 : segment->count;
            nl_grow(&ids, &cap, rows);
            nl_chunk_read(segment->chunk, def, c, rows, ids);
            settle_cells(f, column, segment->unit, ids, rows);
        }
    }
    nl_free(ids);
}

void nl_number_names(struct nl_finish *f, enum nl_table_id table)
{
    uint64_t rows;
    size_t count;
    f->numbered[table] = true;
    if (!count_names(&nl_tables[table]))
        return;
    struct nl_segment *segments = nl_gather_segments(f->b, table, &count, &rows);
    number_names(f, &nl_tables[table], segments, count);
    nl_free(segments);
}

/* Those of a column that is the only one of its table get them when it is made (and must: filled
 * texts, args.text alone, are to be taken once). */
static void settle_names(struct table_run *run)
{
    if (!run->f->numbered[run->def - nl_tables] && count_names(run->def) != 1)
        number_names(run->f, run->def, run->segments, run->count);
}

/* A value as often as it fits into eight bytes. */
static uint64_t repeated(const void *cell, unsigned size)
{
    uint64_t value;
    char bytes[sizeof value];
    for (size_t at = 0; at < sizeof bytes; at += size)
        memcpy(bytes + at, cell, size);
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Whether all cells of the batch are to be the same. Times out of range are counted one by one,
 * texts that are filled are taken one by one. */
static bool is_even(const struct table_run *run, unsigned c, uint64_t *value)
{
    const struct nl_column_def *column = &nl_columns[run->def->first + c];
    if (column->type == NL_TYPE_TIME || run->from == run->to)
        return false;
    for (size_t i = run->from; i < run->to; i++)
        if (!nl_chunk_same(run->segments[i].chunk, c))
            return false;
    for (size_t i = run->from; i < run->to; i++) {
        const struct nl_segment *segment = &run->segments[i];
        uint64_t cell = 0;
        nl_chunk_read(segment->chunk, run->def, c, 1, &cell);
        if (column->type == NL_TYPE_NAME &&
            ((uint32_t)cell & (NL_SHARED_NAME | NL_STAGED_FILLED)) == NL_STAGED_FILLED)
            return false;
        settle_cells(run->f, column, segment->unit, &cell, 1);
        cell = repeated(&cell, column->size);
        if (i > run->from && cell != *value)
            return false;
        *value = cell;
    }
    return true;
}

/* Pages that were touched before, under what is to be written next; small columns have none. */
static void put_pages_under(struct table_run *run, size_t c, size_t to)
{
    const struct nl_column_def *column = &nl_columns[run->def->first + c];
    if ((run->rows + run->extra) * column->size >= NL_MIN_PAGES_BYTES)
        nl_pagepool_put_under(&run->f->b->pages, *nl_column_array(run->f->trace, column),
                              &run->touched[c], to);
}

/* Writes the rows of one value up to byte `to`: their whole pages map the same few pages again and
 * again, among fresh ones, so the pool adds none for them. */
static void end_even(struct table_run *run, unsigned c, size_t to)
{
    struct nl_pagepool *pool = &run->f->b->pages;
    const struct nl_column_def *column = &nl_columns[run->def->first + c];
    struct even_run *even = &run->even[c];
    char *cells = *nl_column_array(run->f->trace, column);
    size_t first = even->from, last = to;
    if (!even->open)
        return;
    even->open = false;
    if (!is_written_later(run, c) &&
        nl_pagepool_repeat_part(pool, cells, &first, &last, even->value, &run->touched[c])) {
        nl_fill_cells(cells + even->from, column->size, (first - even->from) / column->size,
                      even->value);
        nl_fill_cells(cells + last, column->size, (to - last) / column->size, even->value);
        return;
    }
    put_pages_under(run, c, to);
    nl_fill_cells(cells + even->from, column->size, (to - even->from) / column->size, even->value);
}

static void build_column(void *context, size_t c, unsigned worker)
{
    (void)worker;
    struct table_run *run = context;
    struct nl_finish *f = run->f;
    const struct nl_column_def *column = &nl_columns[run->def->first + c];
    struct even_run *even = &run->even[c];
    uint64_t value = 0;
    if (!nl_is_stored(column) || run->unknown[c])
        return;
    if (run->rows >= NL_FEW_ROWS && is_even(run, (unsigned)c, &value)) {
        if (even->open && even->value != value)
            end_even(run, (unsigned)c, run->at * column->size);
        if (!even->open)
            *even = (struct even_run){true, value, run->at * column->size};
        return;
    }
    end_even(run, (unsigned)c, run->at * column->size);
    char *cells = *nl_column_array(f->trace, column);
    put_pages_under(run, c, run->last * column->size);
    cells += run->at * column->size;
    for (size_t i = run->from; i < run->to; i++) {
        const struct nl_segment *segment = &run->segments[i];
        nl_chunk_read(segment->chunk, run->def, (unsigned)c, segment->count, cells);
        settle_cells(f, column, segment->unit, cells, segment->count);
        cells += (size_t)segment->count * column->size;
    }
}

static void end_column(void *context, size_t c, unsigned worker)
{
    (void)worker;
    struct table_run *run = context;
    end_even(run, (unsigned)c, run->rows * nl_columns[run->def->first + c].size);
}

/* The next segments, about NL_BATCH_ROWS rows. */
static bool next_batch(struct table_run *run)
{
    run->from = run->to;
    run->at = run->last;
    while (run->to < run->count && run->last - run->at < NL_BATCH_ROWS)
        run->last += run->segments[run->to++].count;
    return run->from < run->to;
}

static void build_batches(struct table_run *run)
{
    struct nl_builder *b = run->f->b;
    unsigned threads = run->rows < NL_FEW_ROWS ? 1 : nl_job_threads(b->job);
    find_unknown(run);
    settle_names(run);
    while (next_batch(run)) {
        nl_parallel(threads, run->def->count, build_column, run);
        for (size_t i = run->from; i < run->to; i++)
            nl_segment_done(&run->segments[i], &b->pages);
    }
    nl_parallel(threads, run->def->count, end_column, run);
    for (struct nl_stage *stage = b->stages; stage; stage = stage->next)
        stage->tables[run->def - nl_tables].count = 0;
}

bool nl_too_many_rows(enum nl_table_id table, struct nl_err *err)
{
    return nl_fail(err, NL_LIMIT,
                   "more than 2^32 rows in table %s; split the input by rank or time",
                   nl_tables[table].sql);
}

bool nl_build_table(struct nl_finish *f, enum nl_table_id table, uint64_t extra, struct nl_err *err)
{
    struct table_run run = {.f = f, .def = &nl_tables[table], .extra = extra};
    run.segments = nl_gather_segments(f->b, table, &run.count, &run.rows);
    uint64_t rows = run.rows + extra;
    if (rows >= UINT32_MAX - 1) {
        nl_free(run.segments);
        return nl_too_many_rows(table, err);
    }
    set_rows(f->trace, table, rows);
    run.touched = nl_zalloc((run.def->count + 1u) * sizeof *run.touched);
    run.unknown = nl_zalloc((run.def->count + 1u) * sizeof *run.unknown);
    run.even = nl_zalloc((run.def->count + 1u) * sizeof *run.even);
    const struct nl_column_def *first = &nl_columns[run.def->first];
    for (unsigned c = 0; c < run.def->count; c++)
        if (nl_is_stored(&first[c]))
            *nl_column_array(f->trace, &first[c]) =
                nl_pagepool_fresh(&f->b->pages, rows * first[c].size);
    build_batches(&run);
    for (unsigned c = 0; c < run.def->count; c++)
        if (nl_is_stored(&first[c]) && !run.unknown[c])
            fill_unknown(&first[c], *nl_column_array(f->trace, &first[c]), run.rows, extra);
    nl_free(run.touched);
    nl_free(run.unknown);
    nl_free(run.even);
    nl_free(run.segments);
    nl_release_staged(f->b, table);
    return true;
}

/* Rows that the builder keeps as an array → columns, in the order of
 * `sequence` (or as they are). */
void nl_build_entities(struct nl_finish *f, enum nl_table_id table, const void *rows, size_t count)
{
    struct nl_unit unit = {.stage = f->b->own};
    uint32_t width = (uint32_t)nl_tables[table].row_size;
    const uint32_t *sequence = f->sequence[table];
    set_rows(f->trace, table, count);
    const struct nl_table_def *def = &nl_tables[table];
    for (unsigned c = def->first; c < def->first + def->count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        if (!nl_is_stored(column))
            continue;
        char *cells = nl_trace_cells(f->trace, count * column->size);
        *nl_column_array(f->trace, column) = cells;
        for (size_t i = 0; i < count; i++) {
            size_t from = (sequence ? sequence[i] : i) * width;
            memcpy(cells + i * column->size, (const char *)rows + from + column->field,
                   column->size);
        }
        settle_cells(f, column, &unit, cells, (uint32_t)count);
    }
}

/*
 * Values of instances come by the thousand, each metric of a kernel of the same instructions as the
 * one before. So they are staged as arrays, not as rows, and what they are of once per kernel: 8
 * instead of 40 bytes each. Finishing copies arrays to columns.
 */
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/sort.h"
#include "store/columns.h"

/* Of a block, at most; it holds whatever is taken at once. */
#define LAST_BLOCK ((size_t)1 << 20)

/* A column is sparse when less than 1 / ROWS_PER_VALUE of the rows may have something in it. */
#define ROWS_PER_VALUE 8

struct nl_staged_keys {
    struct nl_block *block;
    uint32_t count;
    bool settled; /* names are the trace's */
    int64_t *number, *offset;
    uint32_t *file, *line, *opcode, *ptx;
};

struct nl_run {
    const struct nl_unit *unit;
    struct nl_block *block;
    struct nl_staged_keys *keys;
    uint32_t slice, metric;
    double *value;
    uint32_t *metrics, *key, *text;
};

/* ---- Staging ---- */

#define MAX_KEYS (sizeof(struct nl_staged_keys) + NL_MAX_KEYS * (2 * 8 + 4 * 4))
#define MAX_RUN  (sizeof(struct nl_run) + NL_MAX_KEYS * (8 + 3 * 4))
_Static_assert(MAX_KEYS <= LAST_BLOCK && MAX_RUN <= LAST_BLOCK,
               "what is staged at once fits in a block");

/* Memory of the last block or a new one, 8-byte aligned. */
static char *stage_memory(struct nl_stage *stage, size_t bytes)
{
    const struct nl_block *before = stage->runs.block;
    char *room = nl_block_room(&stage->runs.block, &stage->builder->pages, (bytes + 7) & ~(size_t)7,
                               LAST_BLOCK);
    if (stage->runs.block != before)
        nl_budget_count(stage->builder, stage->runs.block->room);
    return room;
}

/* Copies an array to where *at stands; NULL stays NULL. */
static void *copy_array(char **at, const void *array, size_t bytes)
{
    char *to = *at;
    if (!array)
        return NULL;
    memcpy(to, array, bytes);
    *at += bytes;
    return to;
}

struct nl_staged_keys *nl_stage_keys(struct nl_stage *stage, const struct nl_instance_keys *keys)
{
    size_t wide = keys->count * sizeof(int64_t), narrow = keys->count * sizeof(uint32_t);
    if (keys->count > NL_MAX_KEYS)
        NL_BUG("more values of instances than a run may have");
    if (nl_builder_over_budget(stage->builder))
        return NULL;
    char *at =
        stage_memory(stage, sizeof(struct nl_staged_keys) + wide + (keys->offset ? wide : 0) +
                                (keys->file ? narrow : 0) + (keys->line ? narrow : 0) +
                                (keys->opcode ? narrow : 0) + (keys->ptx ? narrow : 0));
    struct nl_staged_keys *staged = (struct nl_staged_keys *)(void *)at;
    at += sizeof *staged;
    *staged = (struct nl_staged_keys){.block = stage->runs.block, .count = keys->count};
    staged->number = copy_array(&at, keys->number, wide);
    staged->offset = copy_array(&at, keys->offset, wide);
    staged->file = copy_array(&at, keys->file, narrow);
    staged->line = copy_array(&at, keys->line, narrow);
    staged->opcode = copy_array(&at, keys->opcode, narrow);
    staged->ptx = copy_array(&at, keys->ptx, narrow);
    return staged;
}

void nl_stage_instances(struct nl_stage *stage, uint32_t slice, struct nl_staged_keys *keys,
                        const struct nl_instance_values *values)
{
    struct nl_runs *runs = &stage->runs;
    size_t narrow = keys->count * sizeof(uint32_t), names = 0;
    names += (values->metrics != NULL) + (values->key != NULL) + (values->text != NULL);
    char *at =
        stage_memory(stage, sizeof(struct nl_run) + keys->count * sizeof(double) + names * narrow);
    struct nl_run *run = (struct nl_run *)(void *)at;
    at += sizeof *run;
    *run = (struct nl_run){.unit = stage->unit,
                           .block = runs->block,
                           .keys = keys,
                           .slice = slice,
                           .metric = values->metric};
    run->value = copy_array(&at, values->value, keys->count * sizeof(double));
    run->metrics = copy_array(&at, values->metrics, narrow);
    run->key = copy_array(&at, values->key, narrow);
    run->text = copy_array(&at, values->text, narrow);
    run->block->needed++;
    keys->block->needed++;
    nl_grow(&runs->run, &runs->cap, runs->count + 1);
    runs->run[runs->count++] = run;
}

/* Table instance comes last: no other has use for its pages. */
static void block_done(const struct nl_pagepool *pool, struct nl_block *block)
{
    if (--block->needed)
        return;
    nl_pagepool_free(pool, block->bytes, block->room);
    nl_free(block);
}

static void run_done(const struct nl_pagepool *pool, const struct nl_run *run)
{
    struct nl_block *own = run->block;
    block_done(pool, run->keys->block);
    block_done(pool, own);
}

void nl_runs_release(struct nl_stage *stage)
{
    struct nl_runs *runs = &stage->runs;
    for (size_t i = 0; i < runs->count; i++)
        run_done(&stage->builder->pages, runs->run[i]);
    nl_free(runs->run);
    *runs = (struct nl_runs){0};
}

/* ---- Columns ---- */

/* A column of a run: an array, the same in all rows, or unknown. */
struct cells {
    const void *array;
    bool known;
    uint32_t same;
};

static struct cells cells_of(const struct nl_run *run, const struct nl_column_def *column)
{
    const void *array = NULL;
    switch (column->field) {
    case offsetof(struct nl_instance_row, slice): return (struct cells){NULL, true, run->slice};
    case offsetof(struct nl_instance_row, metric):
        return (struct cells){run->metrics, true, run->metric};
    case offsetof(struct nl_instance_row, key): array = run->key; break;
    case offsetof(struct nl_instance_row, number): array = run->keys->number; break;
    case offsetof(struct nl_instance_row, offset): array = run->keys->offset; break;
    case offsetof(struct nl_instance_row, file): array = run->keys->file; break;
    case offsetof(struct nl_instance_row, line): array = run->keys->line; break;
    case offsetof(struct nl_instance_row, opcode): array = run->keys->opcode; break;
    case offsetof(struct nl_instance_row, ptx): array = run->keys->ptx; break;
    case offsetof(struct nl_instance_row, value): array = run->value; break;
    case offsetof(struct nl_instance_row, text): array = run->text; break;
    default: NL_BUG("a column of instances that is not staged");
    }
    return (struct cells){array, array != NULL, 0};
}

/* The table on its way from runs to columns. */
struct building {
    struct nl_finish *f;
    struct nl_run **runs;
    size_t count, cap, from, to; /* from, to: of the batch */
    uint64_t rows, at;           /* at: first row of the batch */
    bool *sparse;                /* per column: the array says unknown where nothing is written */
};

/* The runs of all stages in the order of units, within a unit as staged. */
static void gather_runs(struct building *b)
{
    for (struct nl_stage *stage = b->f->b->stages; stage; stage = stage->next) {
        nl_grow(&b->runs, &b->cap, b->count + stage->runs.count);
        for (size_t i = 0; i < stage->runs.count; i++)
            b->runs[b->count++] = stage->runs.run[i];
        stage->runs.count = 0;
        if (stage->tables[NL_T_instance].count)
            NL_BUG("values of instances were staged one by one");
    }
    struct nl_keyed *order = nl_alloc(2 * b->count * sizeof *order);
    struct nl_run **sorted = nl_alloc(b->count * sizeof(struct nl_run *));
    for (size_t i = 0; i < b->count; i++) {
        order[i] = (struct nl_keyed){b->runs[i]->unit->order, (uint32_t)i};
        b->rows += b->runs[i]->keys->count;
    }
    nl_sort_keyed(order, order + b->count, b->count);
    for (size_t i = 0; i < b->count; i++)
        sorted[i] = b->runs[order[i].row];
    nl_free(order);
    nl_free(b->runs);
    b->runs = sorted;
}

static void make_names_final(struct nl_finish *f, const struct nl_run *run, uint32_t *names,
                             size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        names[i] = nl_final_name(f->trace, run->unit->stage, names[i]);
}

/* Names become the trace's, column after column: new ids are given in order of
 * first use in that order. */
static void settle_names(struct building *b)
{
    for (size_t i = 0; i < b->count; i++) {
        struct nl_run *run = b->runs[i];
        if (run->metrics)
            make_names_final(b->f, run, run->metrics, run->keys->count);
        else
            make_names_final(b->f, run, &run->metric, 1);
    }
    for (size_t i = 0; i < b->count; i++)
        make_names_final(b->f, b->runs[i], b->runs[i]->key, b->runs[i]->keys->count);
    for (size_t i = 0; i < b->count; i++) {
        struct nl_staged_keys *keys = b->runs[i]->keys;
        for (int n = 0; n < 3 && !keys->settled; n++)
            make_names_final(b->f, b->runs[i],
                             n == 0   ? keys->file
                             : n == 1 ? keys->opcode
                                      : keys->ptx,
                             keys->count);
        keys->settled = true;
    }
    for (size_t i = 0; i < b->count; i++)
        make_names_final(b->f, b->runs[i], b->runs[i]->text, b->runs[i]->keys->count);
}

static const struct nl_column_def *column_of(size_t index)
{
    return &nl_columns[nl_tables[NL_T_instance].first + index];
}

/* Arrays of all columns. Where nothing or little is known they begin as unknown, in pages that cost
 * nothing until they are written. */
static void make_arrays(struct building *b)
{
    struct nl_pagepool *pool = &b->f->b->pages;
    for (size_t c = 0; c < nl_tables[NL_T_instance].count; c++) {
        const struct nl_column_def *column = column_of(c);
        uint64_t known = 0, pattern = nl_unknown_cells(column->type);
        if (!nl_is_stored(column))
            continue;
        for (size_t i = 0; i < b->count; i++)
            known += cells_of(b->runs[i], column).known ? b->runs[i]->keys->count : 0;
        size_t bytes = b->rows * column->size;
        void *array = *nl_column_array(b->f->trace, column) = nl_pagepool_fresh(pool, bytes);
        b->sparse[c] = b->rows >= NL_FEW_ROWS && known < b->rows / ROWS_PER_VALUE;
        if (b->sparse[c] && pattern)
            b->sparse[c] = nl_pagepool_repeat(pool, array, bytes, pattern);
    }
}

/* One column of the batch. */
static void build_column(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct building *b = context;
    const struct nl_column_def *column = column_of(index);
    if (!nl_is_stored(column))
        return;
    uint64_t pattern = nl_unknown_cells(column->type);
    char *to = (char *)*nl_column_array(b->f->trace, column) + b->at * column->size;
    for (size_t i = b->from; i < b->to; i++) {
        const struct nl_run *run = b->runs[i];
        struct cells cells = cells_of(run, column);
        uint32_t count = run->keys->count;
        if (cells.array)
            memcpy(to, cells.array, (size_t)count * column->size);
        else if (column->type == NL_TYPE_REF)
            nl_fill_cells(to, column->size, count,
                          nl_final_reference(b->f, run->unit, column->target, cells.same));
        else if (cells.known || !b->sparse[index])
            nl_fill_cells(to, column->size, count, cells.known ? cells.same : pattern);
        to += (size_t)count * column->size;
    }
}

static void build_batches(struct building *b)
{
    unsigned threads = b->rows < NL_FEW_ROWS ? 1 : nl_job_threads(b->f->b->job);
    while (b->from < b->count) {
        uint64_t rows = 0;
        while (b->to < b->count && rows < NL_BATCH_ROWS)
            rows += b->runs[b->to++]->keys->count;
        nl_parallel(threads, nl_tables[NL_T_instance].count, build_column, b);
        for (; b->from < b->to; b->from++)
            run_done(&b->f->b->pages, b->runs[b->from]);
        b->at += rows;
    }
}

bool nl_build_instances(struct nl_finish *f, struct nl_err *err)
{
    struct building b = {.f = f};
    gather_runs(&b);
    bool fits = b.rows < UINT32_MAX - 1;
    if (b.count && fits) {
        settle_names(&b);
        f->trace->instance.rows = (uint32_t)b.rows;
        b.sparse = nl_zalloc(nl_tables[NL_T_instance].count * sizeof *b.sparse);
        make_arrays(&b);
        build_batches(&b);
    }
    for (; b.from < b.count; b.from++)
        run_done(&f->b->pages, b.runs[b.from]);
    nl_free(b.sparse);
    nl_free(b.runs);
    return fits || nl_too_many_rows(NL_T_instance, err);
}

/*
 * columns — what the steps of finishing share: the state of the work, and how staged rows become
 * the columns of a table. For rooms store and derive alone.
 */
#ifndef NL_COLUMNS_H
#define NL_COLUMNS_H

#include "store/build.h"

#define NL_TIME_LIMIT NL_MAX_TIME

/* Under this many rows, starting threads costs more than it saves, and so do mapped patterns. */
#define NL_FEW_ROWS 20000

/* Rows that become columns before their blocks are given back: the pages of those blocks then serve
 * the columns of the rows that follow, and a table is never in memory twice. */
#define NL_BATCH_ROWS ((uint64_t)1 << 18)

struct nl_finish {
    struct nl_builder *b;
    struct nl_trace *trace;
    struct nl_remaps remaps;
    uint32_t *sequence[NL_TABLE_COUNT];
    struct nl_unit **units; /* in order */
    struct nl_nesting nest;
    int64_t *ts, *dur; /* staged order, freed once placed */
    uint32_t *name, *lane;
    uint8_t *kind, *flags;
    uint32_t slices;
    bool flagged;                  /* some slice has flags */
    bool numbered[NL_TABLE_COUNT]; /* its names have their ids before it is built */
    atomic_uint_fast64_t clamped_times, negative;
    uint64_t unfinished;
};

/* All segments of a table in unit order (nl_free'd by the caller), and their rows in all. */
struct nl_segment *nl_gather_segments(struct nl_builder *b, enum nl_table_id table, size_t *count,
                                      uint64_t *rows);

/* A column of staged rows, as values of its type. `field`: its place in a row. */
void nl_read_staged(const struct nl_segment *segment, enum nl_table_id table, size_t field,
                    void *cells);

/* Gives a table's staging blocks to the pool of pages. */
void nl_release_staged(struct nl_builder *b, enum nl_table_id table);

/* A time out of range: the limit, and counted. Unknown stays unknown. */
int64_t nl_clamped(struct nl_finish *f, int64_t ts);

/* ts + offset, clamped to +-2^62 (counted); unknown stays unknown. */
static inline int64_t nl_shifted(struct nl_finish *f, int64_t ts, int64_t offset)
{
    int64_t sum;
    if (__builtin_add_overflow(ts, offset, &sum) || sum > NL_TIME_LIMIT || sum < -NL_TIME_LIMIT ||
        ts == NL_NULL_I64)
        return nl_clamped(f, ts);
    return sum;
}

/* A reference as staged → final row. */
uint32_t nl_final_reference(struct nl_finish *f, const struct nl_unit *unit,
                            enum nl_table_id target, uint32_t row);

/* nl_final_name; most names were met before. */
static inline uint32_t nl_settled_name(struct nl_trace *trace, struct nl_stage *stage, uint32_t id)
{
    uint32_t known = 0, shared = id & ~NL_SHARED_NAME;
    if (id != shared && shared < stage->builder->names.count)
        known = stage->builder->shared_remap[shared];
    else if (id < stage->names.count)
        known = stage->remap[id];
    return known ? known : nl_final_name(trace, stage, id);
}

/* Where the trace has the array of a stored column. */
static inline void **nl_column_array(struct nl_trace *trace, const struct nl_column_def *column)
{
    return (void **)(void *)((char *)trace + nl_tables[column->table].offset + column->array);
}

/* Fails with NL_LIMIT. */
NL_MUST_CHECK bool nl_too_many_rows(enum nl_table_id table, struct nl_err *err);

/* Gives the names of a staged table their ids, which else is done when it is built. */
void nl_number_names(struct nl_finish *f, enum nl_table_id table);

/* finishing.c: the same for those of all tables for which that is possible, of lanes before; in the
 * order in which they are built. */
void nl_number_ahead(struct nl_finish *f);

/* slices.c: table slice and the rows of lanes, with sub-lanes; positions of slices in f->nest.
 * Before all other tables. */
NL_MUST_CHECK bool nl_build_slices(struct nl_finish *f, struct nl_err *err);

/* Staged rows of a table → columns, followed by `extra` unknown rows. NL_LIMIT if there are too
 * many. */
NL_MUST_CHECK bool nl_build_table(struct nl_finish *f, enum nl_table_id table, uint64_t extra,
                                  struct nl_err *err);

/* instances.c: table instance of the runs in all stages. */
NL_MUST_CHECK bool nl_build_instances(struct nl_finish *f, struct nl_err *err);

/* Rows kept as an array → columns, in the order of f->sequence[table] (or as they are). */
void nl_build_entities(struct nl_finish *f, enum nl_table_id table, const void *rows, size_t count);

#endif

/*
 * build — the builder's inside: what staging (builder.c, budget.c, instances.c) and the steps of
 * finishing share. For rooms store and derive alone.
 */
#ifndef NL_BUILD_H
#define NL_BUILD_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/pagepool.h"
#include "store/builder.h"
#include "store/chunk.h"
#include "store/entity.h"

#define NL_SHARED_NAME   0x80000000u /* bit of a name id that lives in the builder's dictionary */
#define NL_STAGED_FILLED 0x40000000u /* bit of an id that is a filled pattern of the stage */

/* A unit of work: rows staged between two nl_stage_begin calls. */
struct nl_unit {
    struct nl_unit *next;
    struct nl_stage *stage;
    uint64_t sequence;
    uint32_t source, order;
    uint32_t slices;     /* staged by this unit */
    uint32_t slice_base; /* number of its first slice among all, in unit order */
    uint32_t stacks;     /* rows of table stack staged by this unit */
    uint32_t stack_base; /* number of its first one */
};

/* Memory of staged rows, freed with the last row in it. */
struct nl_block {
    char *bytes;
    size_t used, room;
    uint32_t needed; /* segments, or runs and their keys, that are not columns yet */
};

/* Rows of one table from one unit, as a chunk in a block. */
struct nl_segment {
    struct nl_unit *unit;
    const char *chunk;
    struct nl_block *block;
    uint32_t count;
};

struct nl_staged {
    struct nl_block *block; /* being filled */
    struct nl_segment *segments;
    size_t count, cap;
    size_t bytes; /* of all blocks so far */
};

/* Runs of values of instances (instances.c), and the block that takes the next ones. */
struct nl_runs {
    struct nl_run **run;
    size_t count, cap;
    struct nl_block *block;
};

struct nl_stage {
    struct nl_waiting waiting[NL_TABLE_COUNT]; /* first: builder.h knows */
    struct nl_builder *builder;
    struct nl_stage *next;
    struct nl_dict names;
    struct nl_filled filled;
    uint32_t *remap; /* local name id → final id, during finishing */
    struct nl_unit *unit;
    struct nl_staged tables[NL_TABLE_COUNT];
    char *packed; /* the chunk in hand */
    size_t packed_cap;
    struct nl_runs runs;
};

/* Rows of the entity tables, by the number that the builder gave out. */
struct nl_builder {
    struct nl_job *job;
    pthread_mutex_t lock;
    struct nl_dict names;   /* shared names */
    uint32_t *shared_remap; /* shared name → final id, during finishing */
    struct nl_stage *stages;
    struct nl_stage *own; /* the builder's own stage, for rows it makes itself */
    struct nl_unit *units;
    uint32_t unit_count;
    struct nl_entities process_keys, thread_keys, device_keys, lane_keys, series_keys;
    struct nl_source_row *sources;
    bool *per_process; /* per source: correlation scope */
    bool *forget_ids;  /* per source: external ids are no operators */
    uint32_t source_count;
    size_t source_cap, per_process_cap, forget_cap;
    struct nl_process_row *processes;
    struct nl_thread_row *threads;
    struct nl_device_row *devices;
    struct nl_lane_row *lanes;
    struct nl_series_row *series;
    size_t process_cap, thread_cap, device_cap, lane_cap, series_cap;
    struct nl_meta_row *metas;
    size_t meta_count, meta_cap;
    struct nl_coverage_row *coverages;
    size_t coverage_count, coverage_cap;
    uint64_t names_redacted;  /* texts that held a secret, while finishing */
    struct nl_pagepool pages; /* of staging, for the columns */
    struct nl_trace *report;  /* of a kernel profiler, to join; or NULL */
    uint32_t report_source;   /* its first source among ours */
    atomic_uint_fast64_t staged_bytes;
    atomic_bool over_budget; /* rows staged since were dropped; finishing fails */
    uint64_t need_bytes;     /* then: about what would have been needed, or 0 */
};

/* Maps of numbers given out by the builder to final rows, indexed by table; NULL = unchanged. */
struct nl_remaps {
    uint32_t *map[NL_TABLE_COUNT];
    uint32_t count[NL_TABLE_COUNT];
};

/* budget.c: counts bytes taken for staged rows; beyond a part of the job's
 * budget rows are dropped. */
void nl_budget_count(struct nl_builder *builder, size_t bytes);
/* The error of a builder that is over the budget. */
NL_MUST_CHECK bool nl_budget_fail(const struct nl_builder *builder, struct nl_err *err);

/* order.c: final numbers of processes, threads, devices, lanes and series: sorted by what they are,
 * so that they do not depend on which thread asked first. Lanes get base numbers here; finishing
 * adds sub-lanes. `sequence[T]` lists the old numbers in the new order. */
void nl_entities_order(struct nl_builder *builder, struct nl_remaps *remaps,
                       uint32_t *sequence[NL_TABLE_COUNT]);

/* order.c: the time that is added to each source's times (`first_ts`: per source, its
 * earliest start). */
void nl_align_sources(struct nl_builder *builder, const int64_t *first_ts);

/* Makes chunks of the rows that still wait in all stages. */
void nl_stages_pack(struct nl_builder *builder);

/* `bytes` of room in *block, or in a new one when that is full: twice as large, `most` at most
 * unless it must be larger. Whoever keeps something there counts it in `needed`. */
char *nl_block_room(struct nl_block **block, struct nl_pagepool *pool, size_t bytes, size_t most);

/* The rows of a segment are needed no more: its block goes to the pool when
 * it was the last there. */
void nl_segment_done(const struct nl_segment *segment, struct nl_pagepool *pool);

/* Gives the blocks of all segments that it lists to the pool and empties it. */
void nl_staged_release(struct nl_staged *staged, struct nl_pagepool *pool);

/* instances.c: gives the runs of a stage back. */
void nl_runs_release(struct nl_stage *stage);

/* Slices on a sub-lane, and their depths: deepest + 1. */
struct nl_nested_sub {
    uint32_t rows, depths;
};

/* nest.c: depth, parent, sub-lane and final position of every slice. `lane`
 * holds sorted base lanes. */
struct nl_nesting {
    uint32_t count;          /* slices */
    uint32_t lane_count;     /* base lanes */
    const int64_t *ts, *dur; /* these by staged slice number, as flags */
    const uint32_t *lane;
    uint8_t *flags;
    struct nl_pagepool *pages;
    /* results */
    uint16_t *depth;      /* by final row, whoever takes it over sets NULL */
    uint32_t *parent;     /* final row by final row, or NL_NULL_ROW; the same */
    uint32_t *position;   /* final row, by staged number */
    uint32_t *lane_first; /* lane_count + 1: start of each base lane's slices, final and staged */
    uint32_t *subs;       /* per base lane: number of sub-lanes (at least 1) */
    struct nl_nested_sub **sub; /* per base lane: its sub-lanes */
    uint64_t unnested;          /* slices flagged NL_SLICE_OVERFLOW */
};
void nl_nest(struct nl_nesting *nesting, unsigned threads);
void nl_nesting_release(struct nl_nesting *nesting);

/* Final id of a staged name. */
uint32_t nl_final_name(struct nl_trace *trace, struct nl_stage *stage, uint32_t id);

#endif

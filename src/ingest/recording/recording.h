/*
 * recording — what the parts of the reader of raw recordings (nlrec/recformat.h) share.
 *
 * recording.c recognises and opens a file and reports; recordingblocks.c finds its blocks, wherever
 * and in whatever state they are, in order; recordingclock.c turns ticks into ns; recordingevents.c
 * pairs begins and ends; recordingrows.c makes rows of them, recordingsamples.c of samples,
 * recordingruns.c of the times that threads had a processor.
 */
#ifndef NL_RECORDING_H
#define NL_RECORDING_H

#include "base/clockmap.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/map.h"
#include "ingest/lib/wholefile.h"
#include "nlrec/recformat.h"

/* ---- the clock ---- */

struct rec_clock {
    struct nl_clockmap map;
    uint32_t clock;
    int64_t error_ns; /* bound of the map, outside steps; NL_NULL_I64 unknown */
};

void rec_clock_add(struct rec_clock *clock, uint64_t ticks, int64_t ns, uint64_t bracket);
/* Once all are added. */
void rec_clock_settle(struct rec_clock *clock, uint64_t ticks_per_second);
/* ns of CLOCK_MONOTONIC, or NL_NULL_I64 if unknown or implausible. */
int64_t rec_clock_ns(struct rec_clock *clock, uint64_t ticks);
void rec_clock_release(struct rec_clock *clock);

/* ---- blocks ---- */

/* A block of events: in the file itself, or in a packed one. */
struct rec_place {
    uint64_t offset; /* in the file, or in the decompressed bytes */
    uint32_t packed; /* row of `packs`, NL_NULL_ROW = in the file */
    uint32_t used;
};

struct rec_pack {
    uint64_t offset; /* of the compressed bytes */
    uint32_t bytes, raw;
    unsigned char *room; /* decompressed, or NULL */
};

struct rec_load {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source;
    const struct whole_file *file;
    int descriptor; /* of a plain file, which is then read from there; else -1 */
    unsigned char *buffer;
    size_t buffer_cap;
    struct symbols_files *symbols; /* of all recordings that are read now; or NULL */
    struct nl_rec_head head;
    struct rec_clock clock;
    /* blocks */
    struct rec_place *places;
    struct nl_keyed *order; /* by sequence */
    size_t place_count, place_cap, order_cap;
    struct rec_pack *packs;
    size_t pack_count, pack_cap;
    uint64_t resident, reloads;
    size_t evict; /* pack to give up next */
    /* names by id */
    struct nl_str *names;
    uint32_t *name_ids; /* of the stage, 0 = not asked for yet */
    size_t name_count, name_cap, id_cap;
    struct nl_arena arena;
    unsigned problems; /* reported by hooks */
    uint64_t bad_blocks, bad_packs, bad_names, cut_blocks, unread_blocks;
    struct nl_idmap run_lanes;  /* of threads' times on a processor */
    struct nl_idmap categories; /* names of NVTX categories by domain << 32 | number */
};

/* Reads load->head; false when the file is too short. */
bool rec_read_head(struct rec_load *load);
/* Finds all blocks, reads the names, settles the clock. */
NL_MUST_CHECK bool rec_blocks_find(struct rec_load *load, struct nl_err *err);
/* Bytes of the block at `place`; NULL when they cannot be had (counted).
 * Valid until the next call. */
const unsigned char *rec_block_bytes(struct rec_load *load, const struct rec_place *place);
void rec_blocks_release(struct rec_load *load);

/* ---- names ---- */

struct nl_str rec_name(const struct rec_load *load, uint32_t id); /* "" when unknown */
uint32_t rec_name_id(struct rec_load *load, uint32_t id);         /* of the stage */

/* ---- events and rows ---- */

/* A scope, range or mark by its first cells. */
struct rec_scope {
    int64_t ts;
    uint64_t value, id; /* payload; id of a range */
    uint32_t token;     /* low half of the ticks */
    uint32_t name, colour, category, domain, flags, lane;
    size_t held_from; /* of the track's held scopes, those after this are inside it */
    uint16_t depth;
    bool live; /* of ranges: not ended yet */
};

/* What a class of scopes becomes, by enum nl_rec_class. */
struct rec_class {
    const char *name;
    uint8_t kind, lane; /* enum nl_kind, enum nl_lanekind */
};
extern const struct rec_class rec_classes[NL_REC_CLASS_COUNT];

void rec_stage_scope(struct rec_load *load, unsigned kind, const struct rec_scope *scope,
                     int64_t end, enum nl_rangestyle style, uint8_t flags);

/* A departure or arrival of a flow; without a lane, the end of a range. */
struct rec_half {
    uint64_t id;
    int64_t ts;
    uint32_t lane, name, order;
};

/* Brings departures into the order that rec_flow_join looks them up in. */
void rec_flows_sort(struct rec_half *outs, size_t count);
/* Stages the flow that ends with an arrival; false when it has no departure. */
bool rec_flow_join(struct rec_load *load, const struct rec_half *outs, size_t count,
                   const struct rec_half *in);

NL_MUST_CHECK bool rec_events_read(struct rec_load *load, struct nl_err *err);

/* ---- GPU work (nlrec/recgpu.h) ---- */

struct rec_gpu;

struct rec_gpu *rec_gpu_new(struct rec_load *load);
/* One cell of a kind of enum nl_rec_gpu, followed by `bytes`. False: it is cut. */
NL_MUST_CHECK bool rec_gpu_take(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                                const unsigned char *more, size_t bytes);
/* At the end: what waited, coverage, metadata. */
void rec_gpu_finish(struct rec_gpu *gpu);
void rec_gpu_free(struct rec_gpu *gpu);

/* ---- samples ---- */

struct rec_samples;

struct rec_samples *rec_samples_new(struct rec_load *load);
/* A SAMPLE cell, followed by `bytes`. False: it is cut. */
NL_MUST_CHECK bool rec_samples_take(struct rec_samples *samples, const struct nl_rec_cell *cell,
                                    const unsigned char *more, size_t bytes);
void rec_samples_finish(struct rec_samples *samples); /* coverage */
void rec_samples_free(struct rec_samples *samples);

/* A RAN cell with what follows it (zeros where nothing does). False: it is damaged. */
NL_MUST_CHECK bool rec_run_take(struct rec_load *load, const struct nl_rec_cell *cell,
                                const struct nl_rec_more *more);

/* A mark that a hook of ours left, "what: why", of what it could not record: a line of coverage. */
bool rec_is_problem(const struct rec_load *load, const struct rec_scope *mark);
void rec_take_problem(struct rec_load *load, struct nl_str text);

static inline void rec_cover(struct rec_load *load, const char *item, uint64_t count,
                             const char *detail)
{
    if (count)
        nl_builder_coverage(load->builder, load->source, item, (int64_t)count, detail);
}

/* How often hooks ran; `events` by class. */
void rec_tell_hooks(struct rec_load *load, const uint64_t *events);

/* The facts that `run` wrote next to the parts, as metadata of the first part. */
void rec_facts_tell(struct rec_load *load, const char *path);

#endif

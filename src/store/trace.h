/*
 * trace — a finished profile: all tables as columns, the dictionary, and the facts everybody asks.
 *
 * A trace is immutable and may be read from several threads. It comes from nl_builder_finish or
 * from a trace file (store/tracefile.h) and is freed by nl_trace_free. Slices are sorted by
 * (lane, depth, ts), so a lane's slices at one depth are a contiguous, time-ordered run.
 *
 * References in columns are checked when a trace file is opened, so code may follow them after
 * testing for NL_NULL_ROW / NL_NO_NAME alone.
 */
#ifndef NL_TRACE_H
#define NL_TRACE_H

#include "base/err.h"
#include "base/job.h"
#include "base/str.h"
#include "store/dict.h"
#include "store/filled.h"
#include "store/hostroofs.h"
#include "store/schema.h"

struct nl_trace {
#define NL_TABLE(table, sql, doc) struct nl_##table##_table table;
#define NL_COLUMN(table, column, type, unit, doc)
#define NL_REF(table, column, target, doc)
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"
    struct nl_dict names;
    struct nl_filled filled;   /* texts of args that are no names */
    int64_t first_ts, last_ts; /* earliest start and latest end of any slice; 0,0 when empty */
    const void *map;           /* mapping of a trace file, or NULL when columns are owned */
    size_t map_size;
    bool unchecked;              /* only its small tables may be followed yet (nl_trace_check) */
    struct nl_spill *spill;      /* where large columns may be, or NULL */
    struct nl_host_roofs *roofs; /* measured on its host; NULL: not looked up (hostroofs.h) */
};

/* Memory for the cells of a column, zeroed, and giving it back. */
void *nl_trace_cells(const struct nl_trace *trace, size_t bytes);
void nl_trace_cells_free(const struct nl_trace *trace, void *cells, size_t bytes);

void nl_trace_free(struct nl_trace *trace);

/* Takes `roofs` (nl_alloc); before anybody else reads the trace. */
void nl_trace_set_roofs(struct nl_trace *trace, struct nl_host_roofs *roofs);

/* Bytes of memory (or mapping) that the columns and the dictionary take. */
uint64_t nl_trace_bytes(const struct nl_trace *trace);

static inline struct nl_str nl_trace_name(const struct nl_trace *trace, uint32_t id)
{
    return nl_dict_text(&trace->names, id);
}

/* Text of an id of column args.text, which may be a filled pattern: that is written to `room`. */
struct nl_str nl_trace_text(const struct nl_trace *trace, uint32_t id, struct nl_buf *room);

static inline uint32_t nl_trace_rows(const struct nl_trace *trace, enum nl_table_id table)
{
    return *(const uint32_t *)((const char *)trace + nl_tables[table].offset);
}

/* Array that stores a column's values (for NL_VIA columns: in the target table). */
static inline const void *nl_trace_column(const struct nl_trace *trace,
                                          const struct nl_column_def *column)
{
    const char *table = (const char *)trace + nl_tables[column->storage].offset;
    return *(void *const *)(table + column->array);
}

/* Column of a table by its name; NULL when there is none. */
const struct nl_column_def *nl_table_column(enum nl_table_id table, const char *name);

/* An item of coverage that queries look for: so many kernels have a length but no start, and were
 * laid one after another. What follows from their start times (idle time, overlap) is not known. */
#define NL_COVERS_NO_STARTS "not recorded: start times of kernels"

/* True if a file, or what a process recorded, ends before the events it describes. Readers count
 * that as an item of coverage that begins with "truncated" or says "cut short"; what is kept but
 * shortened (long arguments, deep stacks) they call otherwise. */
bool nl_trace_is_cut(const struct nl_trace *trace);

/* Process and device of a slice; NL_NULL_ROW unknown. */
static inline uint32_t nl_slice_process(const struct nl_trace *trace, uint32_t slice)
{
    return trace->lane.process[trace->slice.lane[slice]];
}
static inline uint32_t nl_slice_device(const struct nl_trace *trace, uint32_t slice)
{
    return trace->lane.device[trace->slice.lane[slice]];
}

/* Rank of a slice: that of its process; NL_NULL_I64 unknown. */
int64_t nl_slice_rank(const struct nl_trace *trace, uint32_t slice);

/* Rank of a lane: that of its process, else that of its device; NL_NULL_I64 unknown. Of a lane
 * whose process has none, the rank of a slice is unknown where that of the lane is not. */
int64_t nl_lane_rank(const struct nl_trace *trace, uint32_t lane);

/* Lanes of what threads do, as stacks of their time are made of them: operators, Python, ranges,
 * calls. Neither lanes of devices nor separate lanes next to them (system calls, overhead). */
bool nl_lane_shows_threads(const struct nl_trace *trace, uint32_t lane);

/* Whether a device did anything: kernels, copies, memsets, or graphs recorded as a whole. */
bool nl_has_device_work(const struct nl_trace *trace);

/* What people call a device of that row: "GPU", "TPU". */
const char *nl_device_word(const struct nl_trace *trace, uint32_t device);

/* End of a slice (ts + dur; ts when dur is unknown). */
static inline int64_t nl_slice_end(const struct nl_trace *trace, uint32_t slice)
{
    int64_t dur = trace->slice.dur[slice];
    return trace->slice.ts[slice] + (dur == NL_NULL_I64 ? 0 : dur);
}

/* Slices that have a time: the first of all. Behind them stand ranges of captured graphs. */
static inline uint32_t nl_trace_timed(const struct nl_trace *trace)
{
    uint32_t captured = trace->captured.rows;
    return trace->slice.rows - (captured < trace->slice.rows ? captured : trace->slice.rows);
}

/* Where a search in a lane was last, so that the next one nearby is short. Zeroed = nowhere. */
#define NL_CURSOR_DEPTHS 64
struct nl_lane_cursor {
    uint32_t lane;
    unsigned depths;
    uint32_t first[NL_CURSOR_DEPTHS + 1], at[NL_CURSOR_DEPTHS];
};

/* Innermost slice (of the first 64 depths) on a lane that contains time `ts`, or begins there;
 * NL_NULL_ROW when none. Sub-lanes are separate lanes. */
uint32_t nl_lane_slice_at(const struct nl_trace *trace, struct nl_lane_cursor *cursor,
                          uint32_t lane, int64_t ts);

#endif

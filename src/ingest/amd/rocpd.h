/*
 * rocpd — inside the reader of rocprofv3's databases (rocpd schemas 3 and 4); other rooms see only
 * the format's row.
 *
 * Every table carries the id of its run as a suffix; a merged database has several sets. rocpd.c
 * finds the sets and loads what describes each (strings, agents, processes, symbols, tracks,
 * events), rocpdrows.c the events: dispatches, copies, regions, marks, allocations, counters.
 *
 * Schemas differ in where an event says its place and time: in its own row (3), through a track
 * (4), with times in a separate table (first drafts of 4). The columns that a table has decide, not
 * the version that the file names.
 */
#ifndef ROCPD_H
#define ROCPD_H

#include "ingest/lib/dbrows.h"

/* Tags of texts that are categories of events. */
enum { ROCPD_OTHER, ROCPD_API, ROCPD_MARKER, ROCPD_LIBRARY };

struct rocpd_event {
    int64_t id;
    uint64_t stack;    /* id of the call it belongs to */
    uint32_t message;  /* name of the stage */
    uint32_t slice;    /* of its dispatch, NL_NULL_ROW until that was met */
    uint32_t category; /* tag of the category */
};
struct rocpd_symbol {
    uint32_t name, registers;
};
struct rocpd_counter {
    uint32_t name, unit;
};
struct rocpd_track {
    int64_t pid, tid, agent, queue, stream;
};

/* The columns that every table of events begins with; its own follow. */
enum {
    ROCPD_TRACK,
    ROCPD_PID,
    ROCPD_TID,
    ROCPD_AGENT,
    ROCPD_QUEUE,
    ROCPD_STREAM,
    ROCPD_START,
    ROCPD_START_ID,
    ROCPD_END,
    ROCPD_END_ID,
    ROCPD_EVENT,
    ROCPD_OWN
};
#define ROCPD_PLACE                                                                                \
    "track_id", "pid", "tid", "agent_id", "queue_id", "stream_id", "start|timestamp",              \
        "start_id|timestamp_id", "end", "end_id", "event_id"

/* Where and when an event was, and what its row of events says. */
struct rocpd_place {
    struct rocpd_track on; /* as the operating system numbers them; unknown: NL_NULL_I64 */
    int64_t start, end;
    struct rocpd_event event;
};

/* A set that was loaded: two sets are of one machine when its hash is the same. */
struct rocpd_set {
    int64_t machine, pid;
    uint32_t source;
};

struct rocpd {
    struct dbrows db;
    struct rocpd_set *sets;
    size_t set_count, set_cap;
    /* of the set at hand */
    const char *suffix;
    struct dbrows_strings strings, categories;
    bool own_categories; /* a separate table names them, not that of strings */
    struct gpurows_map symbols, counters, tracks, threads, processes, times; /* id → place, value */
    struct gpurows_map calls; /* correlation id → slice of the call, for launches of graphs */
    bool graph_launches;      /* there are some */
    struct gpurows_map dispatches; /* id of an event that is not in the table of events → slice */
    struct rocpd_event *event;     /* by ascending ids */
    struct rocpd_symbol *symbol;
    struct rocpd_counter *counter;
    struct rocpd_track *track;
    size_t event_last; /* the event that was asked for last: the next one is near */
    bool events_unsorted;
    struct jsonpull *message; /* reads one text of an event after the other */
    size_t event_count, event_cap, symbol_cap, counter_cap, track_cap;
    uint64_t unknown_kernels, lost_counters, other_samples, streamed, packed;
};

/* rocpdrows.c: the set's events. */
void rocpd_rows_load(struct rocpd *load);

/* A table of the set at hand. */
bool rocpd_each(struct rocpd *load, const char *table, const char *const *columns,
                sqlitepages_row_fn *row);

/* Place and time of a row of events: its own columns, else its track's. */
struct rocpd_place rocpd_place(struct rocpd *load, dbfile_cells cells);

/* The row of table event with this id; NULL when there is none. */
struct rocpd_event *rocpd_event(struct rocpd *load, dbfile_cells id);

#endif

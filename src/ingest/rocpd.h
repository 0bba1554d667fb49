/*
 * rocpd — inside the reader of rocprofv3's databases (rocpd schema 3); other rooms see only the
 * format's row.
 *
 * Every table carries the id of its run as a suffix; a merged database has several sets. rocpd.c
 * finds the sets and loads what describes each (strings, agents, processes, symbols, events), rocpdrows.c
 * the events: dispatches, copies, regions, marks, allocations, counters.
 */
#ifndef ROCPD_H
#define ROCPD_H

#include "ingest/dbrows.h"

/* Tags of texts that are categories of events. */
enum { ROCPD_OTHER, ROCPD_API, ROCPD_MARKER, ROCPD_LIBRARY };

struct rocpd_event {
    uint64_t stack;             /* id of the call it belongs to */
    uint32_t category, message; /* tag of the category; name of the stage */
};
struct rocpd_symbol {
    uint32_t name, registers;
};
struct rocpd_counter {
    uint32_t name, unit;
};
struct rocpd_track {
    int64_t pid, tid;
};

struct rocpd {
    struct dbrows db;
    /* of the set at hand */
    const char *suffix;
    struct dbrows_strings strings;
    struct gpurows_map events, symbols, counters, tracks, threads,
        processes;                 /* id → place or value */
    struct gpurows_map dispatches; /* event → slice */
    struct rocpd_event *event;
    struct rocpd_symbol *symbol;
    struct rocpd_counter *counter;
    struct rocpd_track *track;
    size_t event_count, event_cap, symbol_cap, counter_cap, track_cap;
    uint64_t unknown_kernels, lost_counters, other_samples;
};

/* rocpdrows.c: the set's events. */
void rocpd_rows_load(struct rocpd *load);

/* A table of the set at hand. */
bool rocpd_each(struct rocpd *load, const char *table, const char *const *columns,
                sqlitepages_row_fn *row);

/* What an event's row says; all unknown when there is none. */
struct rocpd_event rocpd_event(const struct rocpd *load, nsys_cells id);

/* Process and thread as the operating system numbers them. */
int64_t rocpd_pid(const struct rocpd *load, nsys_cells id);
int64_t rocpd_tid(const struct rocpd *load, nsys_cells id);

#endif

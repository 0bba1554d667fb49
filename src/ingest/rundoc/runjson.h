/*
 * runjson — parts of the reader of run documents (src/rundoc/README.md): what the document's lists
 * became in the store (runjson.c), rows of its objects by tables of members (runjson_row.c), the
 * events of its timeline (runjson_event.c).
 *
 * The form is known to be strict, but a document may come from anywhere: members in any order, of
 * any type. What does not fit is unknown and counted.
 */
#ifndef RUNJSON_H
#define RUNJSON_H

#include "base/sort.h"
#include "ingest/ingest.h"
#include "parse/jsonpull.h"
#include "ingest/lib/wholefile.h"

#define RUNJSON_MAX_TIME NL_MAX_TIME /* as in the store */

#define RUNJSON_MAX_COVERAGE 4096 /* items taken over: adding one looks at all before it */

/* Texts of the lists that are read after the whole was looked through. */
enum runjson_part {
    RUNJSON_SOURCES,
    RUNJSON_DEVICES,
    RUNJSON_PROCESSES,
    RUNJSON_LANES,
    RUNJSON_EVENTS,
    RUNJSON_STEPS,
    RUNJSON_KINDS,
    RUNJSON_TABLES,
    RUNJSON_ITEMS,
    RUNJSON_NODES,
    RUNJSON_MEASUREMENTS,
    RUNJSON_PARTS
};

/* Rows of the store by their place in a list of the document. */
struct runjson_rows {
    uint32_t *items;
    size_t count, cap;
};

struct runjson {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source; /* the document itself */
    const struct whole_file *file;
    struct nl_str parts[RUNJSON_PARTS];
    int64_t origin, epoch; /* store time and UTC of start_ns 0 */
    struct runjson_rows sources, devices, processes, lanes;
    struct runjson_rows
        measurements;  /* those of joined reports, as staged; of others NL_NULL_ROW */
    uint32_t measured; /* staged ones */
    int64_t *ranks;    /* per process of the document */
    size_t rank_cap;
    struct nl_keyed *rank_lanes; /* by rank */
    size_t rank_lane_count, rank_lane_cap;
    uint64_t source_count, covered;
    bool complete; /* the timeline lists every event */
    bool version_seen, newer;
    const char *problem; /* of the JSON, or NULL */
    uint64_t odd, skipped;
    struct nl_metric_row *metrics; /* of the event at hand */
    size_t metric_count, metric_cap;
    struct nl_arena arena; /* texts of lists */
};

enum runjson_type {
    RUNJSON_I64,
    RUNJSON_U64,
    RUNJSON_U32,
    RUNJSON_F64,
    RUNJSON_NAME,    /* of the stage */
    RUNJSON_TEXT,    /* struct nl_str that lives in the arena */
    RUNJSON_IGNORED, /* known, and of no use here */
    RUNJSON_ENUM,
    RUNJSON_BOOL,
    RUNJSON_THREE,  /* list of three u32 */
    RUNJSON_OBJECT, /* struct runjson_object */
    RUNJSON_COUNTERS,
    RUNJSON_MEASUREMENT /* place in the list of measurements → staged row */
};

/* A member of an object and where its value goes. */
struct runjson_member {
    const char *key;
    enum runjson_type type;
    size_t offset; /* in the row */
    enum nl_enum_id enumeration;
    const struct runjson_member *members; /* of an object; ends with a NULL key */
};

/* Rows of such tables: a member of a struct; one that is not read; after the last. */
#define RUNJSON_MEMBER(key, type, row, field)                                                      \
    {                                                                                              \
        key, RUNJSON_##type, offsetof(struct row, field), 0, NULL                                  \
    }
#define RUNJSON_NOT_READ(key)                                                                      \
    {                                                                                              \
        key, RUNJSON_IGNORED, 0, 0, NULL                                                           \
    }
#define RUNJSON_END                                                                                \
    {                                                                                              \
        NULL, 0, 0, 0, NULL                                                                        \
    }

/* An object inside a row: whether it was there, and its own row. */
struct runjson_object {
    bool there;
    void *row;
};

/* Reads the members of the object that the reader just opened into `row`; what is null stays as it
 * is. */
void runjson_read_row(struct runjson *load, struct jsonpull *reader,
                      const struct runjson_member *members, void *row);

/* Reads all lists but the events; load->parts names their texts. */
void runjson_read_lists(struct runjson *load);

/* Reads the events into the stage. */
void runjson_read_events(struct runjson *load);

/* The row at a place of the list; NL_NULL_ROW when there is none. */
uint32_t runjson_row(const struct runjson_rows *rows, int64_t place);

bool runjson_stopped(const struct runjson *load);

#endif

/*
 * gputelemetry — what watches GPUs from outside: nvidia-smi queries, reports, dmon and pmon,
 * dcgmi dmon, dcgm-exporter, dynolog, and what nvbandwidth measured. Everything becomes
 * counters on a lane per device.
 *
 * The reader looks at the first lines for the kind.
 */
#ifndef NL_GPUTELEMETRY_H
#define NL_GPUTELEMETRY_H

#include "base/map.h"
#include "base/stream.h"
#include "ingest/ingest.h"

#define TELEMETRY_COLUMNS     256
#define TELEMETRY_MAX_DEVICES 4096

struct telemetry {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source, process;
    struct nl_idmap series; /* by a hash of the device, the entity and the name */
    size_t series_count;
    int64_t tick; /* of files without times */
    int64_t values, unavailable, words, timeless, strange;
    bool zoned, dated; /* times have a zone; a date */
};

enum telemetry_kind {
    TELEMETRY_NONE,
    TELEMETRY_QUERY, /* nvidia-smi --query-gpu, CSV */
    TELEMETRY_DMON,  /* nvidia-smi dmon, pmon */
    TELEMETRY_DCGM,  /* dcgmi dmon */
    TELEMETRY_EXPORTER,
    TELEMETRY_REPORT,  /* nvidia-smi -q */
    TELEMETRY_XML,     /* the same with -x */
    TELEMETRY_DYNOLOG, /* dynolog */
    TELEMETRY_BANDWIDTH,
    TELEMETRY_BANDWIDTH_JSON /* nvbandwidth -j */
};
enum telemetry_kind telemetry_kind(struct nl_str head);

/* The parts. */
NL_MUST_CHECK bool telemetry_query(struct telemetry *t, struct nl_stream *stream,
                                   struct nl_err *err);
NL_MUST_CHECK bool telemetry_lines(struct telemetry *t, enum telemetry_kind kind,
                                   struct nl_stream *stream, struct nl_err *err);
NL_MUST_CHECK bool telemetry_report(struct telemetry *t, enum telemetry_kind kind,
                                    struct nl_stream *stream, struct nl_err *err);
NL_MUST_CHECK bool telemetry_dynolog(struct telemetry *t, struct nl_stream *stream,
                                     struct nl_err *err);
NL_MUST_CHECK bool telemetry_bandwidth(struct telemetry *t, struct nl_stream *stream,
                                       struct nl_err *err);
NL_MUST_CHECK bool telemetry_bandwidth_json(struct telemetry *t, struct nl_stream *stream,
                                            struct nl_err *err);
/* Can a device have that number? */
static inline bool telemetry_is_device(int64_t number)
{
    return number >= 0 && number < TELEMETRY_MAX_DEVICES;
}
/* Is a line a sample of dynolog's log? */
bool telemetry_is_dynolog(struct nl_str line);

/* Adds a cell as a value of (device, name): a number with an optional unit after it. A
 * cell that says there is no value, or words, are counted. `entity` names what is no
 * whole device, or is empty. */
void telemetry_cell(struct telemetry *t, int64_t ts, int64_t device, struct nl_str entity,
                    struct nl_str name, struct nl_str unit, struct nl_str cell);
/* "2024/10/29 19:00:23.123", ISO 8601, or seconds since 1970, → ns; false when it is none. */
bool telemetry_time(struct telemetry *t, struct nl_str text, int64_t *ns);

#endif

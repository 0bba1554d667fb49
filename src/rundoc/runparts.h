/*
 * runparts — what the parts of the document share while it is written: the trace, the facts, what
 * was worked out once, and short names for "this key, this value, null when unknown".
 *
 * The order of members is the schema's. Objects that hold facts are written by walking the schema
 * (runwrite.c); rows are written here and there with the helpers below, in the same order.
 */
#ifndef NL_RUNPARTS_H
#define NL_RUNPARTS_H

#include <stdio.h>

#include "tables/analyze.h"
#include "base/json.h"
#include "tables/steptime.h"
#include "timeline/stepfind.h"
#include "rundoc/docschema.h"
#include "rundoc/rundoc.h"
#include "rundoc/runfacts.h"

#define RUN_INDENT 1 /* spaces per level; rows of lists stand on one line */

/* Work of operators over all devices (runwork.c). Unknown: NaN, and 0 ns. */
struct run_work {
    int64_t ns, judged_ns, headroom_ns; /* kernels; those with a roof, and their headroom */
    int64_t flops_ns, bytes_ns;         /* kernels whose FLOPs, whose bytes are known */
    double flops, bytes, least_s;       /* done; at the roofs */
    double hfu_s, mfu_s, wall_s;        /* seconds at the peak; of all devices' steady steps */
};

struct run_parts {
    const struct nl_trace *trace;
    const struct nl_rundoc_options *options;
    struct nl_job *job;
    struct nl_json json;
    struct doc_schema schema;
    struct run_facts facts;
    struct nl_device_breakdown *devices;
    size_t device_count;
    struct nl_found_steps steps;
    double step_parts[NL_STEP_PARTS]; /* ns over all devices and steady steps; 0 without */
    struct run_work work;
    const struct nl_findings *findings; /* NULL: the document has none */
    const struct nl_runfingerprint *print;
    struct nl_findings *own_findings; /* what was made here */
    struct nl_runfingerprint *own_print;
    struct nl_result *memory; /* analysis memory */
    uint32_t *listed;         /* slices of the timeline in its order */
    size_t listed_count;
    char id[NL_RUNDOC_ID];
};

/* ---- members: key and value; unknown is null ---- */
void run_i64(struct run_parts *parts, const char *key, int64_t value);  /* NL_NULL_I64 */
void run_size(struct run_parts *parts, const char *key, int64_t value); /* less than 0, too */
void run_u64(struct run_parts *parts, const char *key, uint64_t value); /* NL_NULL_U64 */
void run_u32(struct run_parts *parts, const char *key, uint32_t value); /* NL_NULL_U32, _ROW */
void run_f64(struct run_parts *parts, const char *key, double value);   /* NaN */
void run_bool(struct run_parts *parts, const char *key, bool value);
void run_static(struct run_parts *parts, const char *key, const char *text); /* NULL */
void run_text(struct run_parts *parts, const char *key, struct nl_str text); /* empty */
/* Text of the trace's dictionary, without what looks like a secret. */
void run_name(struct run_parts *parts, const char *key, uint32_t id);
void run_enum(struct run_parts *parts, const char *key, enum nl_enum_id id, unsigned value);
void run_open(struct run_parts *parts, const char *key, char bracket);
void run_close(struct run_parts *parts, char bracket);

/* Begins and ends an object that stands on one line. */
void run_row(struct run_parts *parts);
void run_row_end(struct run_parts *parts);

/* ---- parts: each writes the value after its key ---- */
void run_write_sources(struct run_parts *parts);
void run_write_hardware_devices(struct run_parts *parts);
void run_write_devices(struct run_parts *parts);
void run_write_ranks(struct run_parts *parts);
void run_write_steps(struct run_parts *parts);
void run_write_aggregates(struct run_parts *parts);
void run_write_measurements(struct run_parts *parts); /* with their key */
void run_write_memory(struct run_parts *parts);
void run_write_telemetry(struct run_parts *parts);
void run_write_metrics(struct run_parts *parts);
void run_write_recorder(struct run_parts *parts);
void run_write_findings(struct run_parts *parts);
void run_write_fingerprint(struct run_parts *parts);
void run_write_coverage(struct run_parts *parts);
void run_write_timeline(struct run_parts *parts);

/* Does the metric stand in a measurement, since it came with a joined report? */
bool run_metric_is_joined(const struct nl_trace *trace, uint32_t metric);

void run_work_find(struct run_work *work, const struct nl_trace *trace);

/* Chooses the slices that the timeline lists (parts->listed). */
void run_choose_events(struct run_parts *parts);

#endif

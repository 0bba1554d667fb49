/*
 * builder — from events in any order, from several threads, to a finished trace.
 *
 *     struct nl_builder *b = nl_builder_new(job);
 *     uint32_t source = nl_builder_source(b, "file.json", "kineto");
 *     per thread:  struct nl_stage *s = nl_stage_new(b);
 *         per unit of work (a block of the file, a range of table rows):
 *             nl_stage_begin(s, source, sequence);
 *             row = nl_slice_row(); row.ts = ...; row.lane = nl_builder_lane(b, &key); ...
 *             uint32_t slice = nl_stage_slice(s, &row);
 *             kernel = nl_kernel_row(); kernel.slice = slice; ...; nl_stage_kernel(s, &kernel);
 *     struct nl_trace *trace = nl_builder_finish(b, err);   // derive/derive.h; frees the builder
 *
 * The result does not depend on how units were spread over threads: units are put in order of
 * (source, sequence), dictionary ids and lanes are numbered afterwards. A unit is begun on one
 * stage only, once.
 *
 * References in staged rows: `slice` (and any other reference to table slice) is what
 * nl_stage_slice returned since nl_stage_begin: rows refer only to slices of their own unit;
 * likewise references to table stack are what nl_stage_stack returned, parents before children.
 * `lane`, `process`, `thread`, `device`, `source`, `series` are what the nl_builder_* functions
 * returned. Leave `parent`, `depth`, `link`, `detail` of slices and `src`, `dst` of flows alone:
 * finishing fills them (flows: from lane and time).
 *
 * Names (NAME columns) are ids of nl_stage_name of the same stage, or of nl_builder_name.
 *
 * Staging: a row is copied when it is staged. A few hundred of a table and unit wait in the stage,
 * then they are packed by column (chunk.h) and count against the job's memory budget. Two things
 * have separate calls: values of instances come as arrays (nl_stage_keys, nl_stage_instances), and
 * arguments that differ only in numbers come as a pattern and its numbers (nl_stage_filled).
 *
 * Finishing: sorts, nests (depth, parent), splits overlapping slices of one lane onto sub-lanes and
 * shifts times by each source's offset (finishing.h). Room derive then classifies kernels, links
 * launches and device work by correlation, resolves flows, and adds collectives for communication
 * kernels that have no such row.
 */
#ifndef NL_BUILDER_H
#define NL_BUILDER_H

#include "store/trace.h"

struct nl_builder;
struct nl_stage;

struct nl_builder *nl_builder_new(struct nl_job *job);
void nl_builder_free(struct nl_builder *builder); /* without finishing */

/* ---- Entities. Thread-safe (a lock; cache the results in hot loops). ---- */

uint32_t nl_builder_source(struct nl_builder *builder, const char *file, const char *format);

/* How device work joins to launches within this source: correlation ids are unique in the whole
 * file (Kineto; the default) or only per process (nsys). */
void nl_builder_correlation_per_process(struct nl_builder *builder, uint32_t source);

/* The external ids that this source's device work and API calls carry turned out to be something
 * else than operators: finishing makes them unknown. */
void nl_builder_forget_external_ids(struct nl_builder *builder, uint32_t source);

/* UTC ns of the source's time 0 (NL_NULL_I64 unknown) and the name of its clock. When all sources
 * of a profile know it, finishing moves them onto one time axis. */
void nl_builder_clock(struct nl_builder *builder, uint32_t source, const char *clock,
                      int64_t epoch_ns);
void nl_builder_tool(struct nl_builder *builder, uint32_t source, struct nl_str tool);
/* Corrects the format name given at first, once the content is known better. */
void nl_builder_format(struct nl_builder *builder, uint32_t source, const char *format);
void nl_builder_rank(struct nl_builder *builder, uint32_t source, int64_t rank);
void nl_builder_source_bytes(struct nl_builder *builder, uint32_t source, uint64_t bytes);

/* Get or make. pid NL_NULL_I64 is "the process of this source whose pid is not known". A process
 * has its source's rank unless nl_builder_process_rank says otherwise. */
uint32_t nl_builder_process(struct nl_builder *builder, uint32_t source, int64_t pid);
uint32_t nl_builder_thread(struct nl_builder *builder, uint32_t process, int64_t tid);
void nl_builder_process_name(struct nl_builder *builder, uint32_t process, struct nl_str name);
void nl_builder_process_label(struct nl_builder *builder, uint32_t process, struct nl_str label);
void nl_builder_process_rank(struct nl_builder *builder, uint32_t process, int64_t rank);
void nl_builder_thread_name(struct nl_builder *builder, uint32_t thread, struct nl_str name);

/* Get or make a device by (source, key); `key` is any number that identifies the device within its
 * source (usually the ordinal). The row returned by nl_builder_device_row may be filled in (its
 * NAME columns with nl_builder_name); not thread-safe against other calls for the same device. */
uint32_t nl_builder_device(struct nl_builder *builder, uint32_t source, int64_t key,
                           int64_t ordinal);
struct nl_device_row *nl_builder_device_row(struct nl_builder *builder, uint32_t device);

struct nl_lane_key {
    enum nl_lanekind kind;
    uint32_t process, thread, device; /* NL_NULL_ROW where it does not apply */
    int64_t context, stream;          /* NL_NULL_I64 where it does not apply */
    uint32_t domain;                  /* nl_builder_name id, 0 = none */
};
/* Slices whose launching API shares a lane with ops nest below them: use NL_LANE_THREAD for ops,
 * API calls, graph captures; keep Python frames, annotations, NVTX domains and OS runtime calls on
 * lanes of separate kinds, because they cross each other in real files. */
uint32_t nl_builder_lane(struct nl_builder *builder, const struct nl_lane_key *key);
void nl_builder_lane_name(struct nl_builder *builder, uint32_t lane, struct nl_str name);

uint32_t nl_builder_series(struct nl_builder *builder, uint32_t lane, struct nl_str name,
                           struct nl_str unit);

/* A name usable in the rows of every stage of this builder. */
uint32_t nl_builder_name(struct nl_builder *builder, struct nl_str text);

/* The trace of a kernel profiler's reports, or of the capture of graphs: finishing gives its
 * metrics to the kernels of this profile (kernel_measurements), and the ranges of captures to the
 * replays of these graphs (captured_ranges); nothing else of it becomes part of the timeline. Takes
 * `report`; once per builder. Its files become sources, with their facts and coverage. */
void nl_builder_join(struct nl_builder *builder, struct nl_trace *report);

/* Metadata. Values whose key looks like a secret (token, key, password, …), and environments, are
 * replaced by "(redacted)" and counted in coverage. Text over 4 KiB is cut. Secrets inside of
 * values, and of names and labels of processes, are replaced, too (nl_redact_text). */
void nl_builder_meta(struct nl_builder *builder, uint32_t source, const char *key,
                     struct nl_str value);

/* Adds `count` to what coverage says about `item` of this source; the first detail is kept. */
void nl_builder_coverage(struct nl_builder *builder, uint32_t source, const char *item,
                         int64_t count, const char *detail);

/* ---- Stages: one per thread. Owned by the builder; valid until it is finished or freed. ---- */

struct nl_stage *nl_stage_new(struct nl_builder *builder);
void nl_stage_begin(struct nl_stage *stage, uint32_t source, uint64_t sequence);
uint32_t nl_stage_name(struct nl_stage *stage, struct nl_str text);

/* Forgets the rows of all units of a stage: its file turned out to be none. */
void nl_stage_drop(struct nl_stage *stage);

/* For column args.text alone: the text of `pattern`, a name of this stage, with these numbers in it
 * (store/filled.h). 0, unknown, beyond 2^30 of them. */
uint32_t nl_stage_filled(struct nl_stage *stage, uint32_t pattern, const void *packed, size_t len);

/* The rows of a table that wait to be packed: the next rows go right after them. A stage begins
 * with one per table. */
struct nl_waiting {
    char *rows;
    uint32_t used, room;
    uint32_t packed; /* rows of the unit before them */
};

/* Makes room for a row. */
void nl_stage_pack(struct nl_stage *stage, enum nl_table_id table);

/* nl_stage_T(stage, &row) appends a row to table T; returns its number within the unit. */
#define NL_TABLE(table, sql, doc)                                                                  \
    static inline uint32_t nl_stage_##table(struct nl_stage *stage,                                \
                                            const struct nl_##table##_row *row)                    \
    {                                                                                              \
        struct nl_waiting *waiting = (struct nl_waiting *)(void *)stage + NL_T_##table;            \
        if (waiting->used == waiting->room)                                                        \
            nl_stage_pack(stage, NL_T_##table);                                                    \
        ((struct nl_##table##_row *)(void *)waiting->rows)[waiting->used] = *row;                  \
        return waiting->packed + waiting->used++;                                                  \
    }
#define NL_COLUMN(table, column, type, unit, doc)
#define NL_REF(table, column, target, doc)
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"

/* Rows of table instance, many at once: values of metrics of one kernel. What they are of is staged
 * once and serves any number of runs of values of the same unit; it must serve one at least. NULL
 * arrays: unknown. Arrays are copied. These rows are not to be staged one by one. */
#define NL_MAX_KEYS 8192u
struct nl_instance_keys {
    uint32_t count; /* NL_MAX_KEYS at most */
    const int64_t *number, *offset;
    const uint32_t *file, *line, *opcode, *ptx; /* names, a number, names */
};
struct nl_instance_values {
    const double *value;
    uint32_t metric; /* of all; or `metrics` */
    const uint32_t *metrics, *key, *text;
};
/* NULL: over the budget. */
struct nl_staged_keys *nl_stage_keys(struct nl_stage *stage, const struct nl_instance_keys *keys);
void nl_stage_instances(struct nl_stage *stage, uint32_t slice, struct nl_staged_keys *keys,
                        const struct nl_instance_values *values);

/* The memory budget of the job does not suffice: rows are being dropped and finishing will fail
 * with NL_MEMORY. Readers stop early when they see it. */
bool nl_builder_over_budget(const struct nl_builder *builder);

#endif

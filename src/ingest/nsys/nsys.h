/*
 * nsys — inside the reader of Nsight Systems exports; other rooms see only its row of formats.def.
 *
 * How a load goes: dbfile opens the database; nsysinfo reads what describes the recording (strings,
 * enums, devices, domains, metadata) in one thread; nsystables lists which table is loaded by which
 * handler and runs the handlers over units of leaf pages on all threads; nsysnames gives names to
 * the processes, threads and streams that turned up; nsyscoverage says what the file lacks.
 * Handlers live in nsysgpu (device work), nsyscontexts (which context has a GPU), nsyshost (calls
 * of the CPU), nsyscpu (scheduling, samples), nsysnvtx (ranges) and nsysseries (counters, memory).
 *
 * Nothing depends on the release that wrote the file: a table or column that is not there reads as
 * unknown.
 */
#ifndef NSYS_H
#define NSYS_H

#include "ingest/ingest.h"
#include "base/map.h"
#include "base/pool.h"
#include "ingest/lib/gpurows.h"
#include "ingest/nsys/nsysids.h"

/* ---- Data anomalies: counted per worker, reported once (messages in nsyscoverage.c) ---- */

enum nsys_odd {
    NSYS_ODD_NO_START,
    NSYS_ODD_TIME_RANGE,
    NSYS_ODD_NEGATIVE,
    NSYS_ODD_NO_STRING,
    NSYS_ODD_EVENT_NO_TIME,
    NSYS_ODD_NVTX_TYPE,
    NSYS_ODD_SCHED,
    NSYS_ODD_NO_STACK,
    NSYS_ODD_CONTEXT,
    NSYS_ODD_CONTEXT_STAGE,
    NSYS_ODDITIES
};

/* ---- Workers: one per thread ---- */

struct nsys_known_lane {
    uint64_t who; /* globalTid, globalPid, or NSYS_NOBODY */
    int64_t device, context, stream;
    uint32_t domain, lane;
    uint8_t kind;
    bool thread, gpu; /* gpu: `device` is the machine's number of it, not CUDA's */
};

/* Call chains of a table: nodes of a prefix tree, and each chain's innermost one. */
struct nsys_chains {
    struct nl_stack_row *nodes;
    size_t count, cap;
    struct gpurows_map innermost; /* id → node */
};

/* Positions of the nodes in the worker's unit; those of another stamp are not staged. */
struct nsys_chain_rows {
    const struct nsys_chains *of;
    size_t unit, path_cap;
    uint32_t *row, *stamps, *path;
    uint32_t stamp;
};

struct nsys_load;
struct nsys_table_def;

struct nsys_worker {
    struct nsys_load *load;
    struct nl_stage *stage;
    struct sqlitepages_scratch scratch;
    struct sqlitepages_damage damage;
    struct nsys_known_lane *lanes;
    size_t lane_count, lane_cap;
    struct nl_lookup by_key;          /* of lanes */
    size_t last_lane;                 /* asked for: rows of a thread come together */
    const struct nsys_table_def *def; /* of the rows at hand */
    uint32_t domain;                  /* lane domain of that table, builder's name */
    size_t unit;                      /* number of the unit at hand + 1 */
    struct nsys_chain_rows chain_rows;
    uint64_t rows, odd[NSYS_ODDITIES];
    bool stop;
    uint32_t nvtx_domain; /* name of the domain asked for last */
    int64_t nvtx_number;
    uint64_t nvtx_process;
    NL_APART;
};

struct nsys_load {
    struct nl_builder *builder;
    uint32_t source;
    struct nl_job *job;
    const struct nl_input *input;
    struct dbfile db;
    struct nsys_strings strings;
    struct nsys_enum_map enums[NSYS_ENUMS];
    struct nsys_named_list domains, categories, nvtx_threads, metrics, nic_metrics, contexts;
    struct dbfile_table *frames; /* SAMPLING_CALLCHAINS */
    struct nsys_chains cuda_chains, osrt_chains;
    struct nsys_field *fields; /* by domain, schema, index */
    size_t field_count, field_cap;
    struct nsys_gpu *gpus;
    size_t gpu_count, gpu_cap;
    struct nsys_worker *workers;
    unsigned worker_count;
    struct nl_str version;  /* of the program that wrote the file */
    bool times_normalized;  /* event times are UTC already */
    int64_t time_shift;     /* added to them by the export */
    int64_t rank;           /* from the environment of the launched program */
    unsigned rank_variable; /* which variable gave it */
    uint64_t variables, mpi_ranks;
};

/* How rows of a table become rows of the store. A row is handled by `row`; a table whose rows make
 * sense only together is given to `whole` instead. */
struct nsys_handler {
    const char *const *columns; /* cells in this order, "a|b" = either name; NULL ends the list */
    void (*row)(struct nsys_worker *worker, dbfile_cells cells);
    void (*whole)(struct nsys_worker *worker, struct dbfile_table *table);
};

struct nsys_table_def {
    const char *tables; /* "A|B": every one of them that the file has */
    const struct nsys_handler *handler;
    enum nl_kind kind;     /* of slices, for handlers that serve several tables */
    enum nl_lanekind lane; /* of their lanes */
    const char *domain;    /* of their lanes, or NULL */
};

/* ---- nsysenums.c ---- */

void nsys_enums_load(struct nsys_load *load);

/* ---- nsysinfo.c ---- */

/* Device row of a GPU of the machine. */
uint32_t nsys_gpu(struct nsys_load *load, int64_t gpu);

/* Lane of the GPU that a type of GPU_METRICS is about. */
uint32_t nsys_metric_lane(struct nsys_load *load, int64_t type, uint32_t domain);

/* Before the events are read. */
void nsys_info_load(struct nsys_load *load);

/* ---- nsysnames.c, nsyscoverage.c: after them ---- */

void nsys_names_load(struct nsys_load *load);
void nsys_coverage_load(struct nsys_load *load);

/* A whole small table, in this thread, into `row` with `context`. False when there is none. */
bool nsys_each(struct nsys_load *load, const char *table, const char *const *columns,
               sqlitepages_row_fn *row, void *context);
/* Domain, category and thread names of NVTX_EVENTS. */
void nsys_nvtx_prepare(struct nsys_load *load);

/* ---- nsyschain.c ---- */

void nsys_chains_load(struct nsys_load *load, struct nsys_chains *chains, const char *table);
void nsys_chains_release(struct nsys_chains *chains);
/* Stages the call stack of a slice of this unit, when the cell names one. */
void nsys_chain(struct nsys_worker *worker, const struct nsys_chains *chains, dbfile_cells id,
                uint32_t slice);

/* ---- nsystables.c ---- */

/* Loads every event table. False: interrupted. */
bool nsys_tables_load(struct nsys_load *load);
/* True when a table's rows are looked at by some part of this reader, or need no look. */
bool nsys_table_is_known(const struct dbfile_table *table);

/* ---- nsys.c ---- */

/* Loads an export, with a choice of the way its pages are read; for tests. */
NL_MUST_CHECK bool nsys_load_way(const struct nl_reading *reading, enum dbfile_way way,
                                 struct nl_err *err);
/* Loads a plain file that stands for `input` (a converted or decompressed copy of it). */
NL_MUST_CHECK bool nsys_load_copy(const struct nl_reading *reading, const char *path,
                                  struct nl_err *err);

#endif

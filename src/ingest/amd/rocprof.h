/*
 * rocprof — inside the reader of AMD's profilers' CSV files (rocprof v1 and v2, rocprofv3,
 * rocprofiler-compute); other rooms see only the format's row.
 *
 * The header identifies a file (kinds[] in rocprof.c); a kind's `open` finds its columns, `row`
 * stages a row of the file. Handlers are in rocprofrows.c (dispatches, copies, calls, memory) and
 * rocprofsums.c (counters per dispatch, statistics, samples, agents). rocprofv3 writes a file per
 * table; given together they are one recording (rocprofrun.c): calls and kernels join by
 * correlation id, counters go to the dispatches of the kernel trace.
 */
#ifndef ROCPROF_H
#define ROCPROF_H

#include "parse/csvread.h"
#include "ingest/lib/gpurows.h"
#include "ingest/ingest.h"

#define ROCPROF_COLUMNS 48

/* What the files of one recording have in common: all rows are of its first file's source. */
struct rocprof {
    struct gpurows rows;
    bool parts;                    /* other files of the recording may follow */
    struct gpurows_map dispatches; /* process, agent, number → slice, of kernels */
    struct gpurows_map pids;       /* hash of a Guid → process */
    struct gpurows_map guids;      /* process → hash of its Guid */
    int64_t only_pid;              /* the process of all rows so far; unknown: none or several */
    bool several_pids, pidless;    /* pidless: kernels whose process no earlier file named */
    int64_t next_ts;               /* of dispatches without times */
    /* of the file at hand */
    struct csvread csv;
    uint32_t source;
    int column[ROCPROF_COLUMNS]; /* by the handler's enum; -1 = not there */
    int guid_column;
    int64_t file_pid; /* "<pid>_kernel_trace.csv"; else unknown */
    struct gpurows_map stacks;
    int sum_power;           /* of ten: the file's sums of time → ns */
    uint32_t *counter_names; /* by column, of wide tables; 0 = no counter */
    uint64_t bad_rows, timeless, untold_length, no_value, ambiguous;
};

struct rocprof_kind {
    const char *name;           /* "kernel trace", for messages and coverage */
    const char *needs;          /* columns "a|b&c&d": each by one of its names */
    const char *not_with;       /* columns of which none may be there, or NULL */
    const char *const *columns; /* names "a|b" in the order of the handler's enum, NULL ends */
    void (*row)(struct rocprof *load);
    void (*open)(struct rocprof *load); /* or NULL */
};

/* rocprofrun.c: nl_format.recording of "<stem>_kernel_trace.csv", "<stem>_hip_api_trace.csv", … */
size_t rocprof_recording(const struct nl_input *input, unsigned *place);

struct rocprof *rocprof_new(struct nl_builder *builder, uint32_t source, struct nl_job *job);
void rocprof_free(void *load);

extern const char *const rocprof_kernel_columns[],
    *const rocprof_copy_columns[], *const rocprof_call_columns[],
                                       *const rocprof_allocation_columns[],
                                           *const rocprof_scratch_columns[],
                                               *const rocprof_counter_columns[],
                                                   *const rocprof_stat_columns[],
                                                       *const rocprof_sample_columns[],
                                                           *const rocprof_agent_columns[];

void rocprof_kernel_open(struct rocprof *load);
void rocprof_kernel_row(struct rocprof *load);
void rocprof_copy_row(struct rocprof *load);
void rocprof_call_row(struct rocprof *load);
void rocprof_allocation_row(struct rocprof *load);
void rocprof_scratch_row(struct rocprof *load);
void rocprof_counter_row(struct rocprof *load);
void rocprof_stat_open(struct rocprof *load);
void rocprof_stat_row(struct rocprof *load);
void rocprof_sample_row(struct rocprof *load);
void rocprof_agent_row(struct rocprof *load);

/* ---- Cells of the row at hand, by the handler's enum ---- */

static inline struct nl_str rocprof_text(const struct rocprof *load, int what)
{
    return csvread_cell(&load->csv, load->column[what]);
}
/* NL_NULL_I64 when it is no number. */
/* A whole number; one with a fraction (times of rocprof-compute) is rounded to the nearest. */
bool rocprof_ns(struct nl_str text, int64_t *value);

static inline int64_t rocprof_i64(const struct rocprof *load, int what)
{
    int64_t value = NL_NULL_I64;
    (void)rocprof_ns(rocprof_text(load, what), &value);
    return value;
}
static inline uint32_t rocprof_u32(const struct rocprof *load, int what)
{
    return gpurows_u32(rocprof_i64(load, what));
}
/* Ids of which 0 means none. */
static inline uint64_t rocprof_id(const struct rocprof *load, int what)
{
    int64_t value = rocprof_i64(load, what);
    return value > 0 ? (uint64_t)value : NL_NULL_U64;
}
/* "Agent 4", "4" → 4. */
int64_t rocprof_agent(const struct rocprof *load, int what);
/* rocprofrun.c: process of the row: by its column, the Guid, the file's name, or as all others of
 * the recording. */
int64_t rocprof_pid(struct rocprof *load, int what);
/* Correlation id of a row of that process; unknown where two recordings in one file (Guid) have a
 * process of that number, since their ids would mix. */
uint64_t rocprof_correlation(struct rocprof *load, int what, int64_t pid);

/* Slice of a dispatch: made as unknown (UINT64_MAX) when it is new. */
uint64_t *rocprof_dispatch(struct rocprof *load, int64_t pid, int agent, int number, bool *made);

/* A counter's value as a row of metrics; false when there is none. */
bool rocprof_metric(struct rocprof *load, uint32_t slice, uint32_t name, struct nl_str value);

#endif

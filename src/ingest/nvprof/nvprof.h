/*
 * nvprof — inside the reader of nvprof's SQLite exports; other rooms see only the format's row.
 * nvprof.c reads what describes the recording, nvprofrows.c the activity tables.
 */
#ifndef NVPROF_H
#define NVPROF_H

#include "ingest/lib/dbrows.h"

struct nvprof_range {
    int64_t ts, pid, tid;
    uint32_t name, domain;
    bool open;
};

struct nvprof {
    struct dbrows db;
    struct dbrows_strings strings;
    struct gpurows_map contexts; /* context → device */
    struct gpurows_map marks;    /* id of a range → place */
    struct nvprof_range *range;
    size_t range_count, range_cap;
    int64_t pid; /* of the calls; unknown when there are several */
    bool called, driver;
    uint64_t lost_ends, unknown_calls;
};

/* nvprofrows.c */
void nvprof_rows_load(struct nvprof *load);

#endif

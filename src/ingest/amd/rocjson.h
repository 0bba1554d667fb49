/*
 * rocjson — inside the reader of rocprofv3's JSON results; other rooms see only the format's row.
 * rocjson.c reads what describes a process (agents, names, symbols), rocjsonrows.c its records.
 */
#ifndef ROCJSON_H
#define ROCJSON_H

#include "ingest/lib/gpurows.h"
#include "ingest/ingest.h"
#include "parse/jsonpull.h"

/* Numbers of a record, NL_NULL_I64 where it has none. */
struct rocjson_record {
    int64_t kind, operation, thread, correlation, start, end, agent, from, to, queue, stream,
        symbol, dispatch, shared, bytes, size, address, vgprs;
    int64_t grid[3], block[3];
};

struct rocjson_sample {
    uint64_t counter;
    double value;
};

struct rocjson {
    struct gpurows rows;
    struct jsonpull reader;
    int64_t pid;
    struct gpurows_map symbols;  /* kernel id → name */
    struct gpurows_map words;    /* kind << 16 | operation → name */
    struct gpurows_map messages; /* correlation → text of a marker */
    struct gpurows_map counters; /* handle → name */
    struct gpurows_map dispatches;
    struct rocjson_record record;
    struct rocjson_sample *samples;
    size_t sample_count, sample_cap;
    uint64_t counter; /* of the value that comes next */
    uint64_t kinds;   /* read so far */
    uint64_t unknown_names, processes, twice;
};

/* { "kernel_dispatch": [ {record}, … ], … }, the reader being inside. */
void rocjson_sections(struct rocjson *load);

#endif

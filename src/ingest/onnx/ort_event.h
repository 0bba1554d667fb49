/*
 * ort — ONNX Runtime profiling JSON, shared by the reader's parts.
 *
 * ort.c recognises the format and walks the list of events; ort_event.c reads one event into a
 * struct ort_event; ort_rows.c makes rows of it. A struct ort_load is one file being loaded. The
 * format has no version field: every key is optional, and keys that are not known are kept as text.
 */
#ifndef ORT_EVENT_H
#define ORT_EVENT_H

#include "ingest/ingest.h"
#include "parse/jsonpull.h"

enum ort_number {
    ORT_PARAMETER_SIZE,
    ORT_ACTIVATION_SIZE,
    ORT_OUTPUT_SIZE,
    ORT_NODE_INDEX,
    ORT_STREAM,
    ORT_GRID_X,
    ORT_GRID_Y,
    ORT_GRID_Z,
    ORT_BLOCK_X,
    ORT_BLOCK_Y,
    ORT_BLOCK_Z,
    ORT_NUMBERS
};

enum ort_name {
    ORT_OP_NAME,
    ORT_PROVIDER,
    ORT_INPUT_SHAPES,
    ORT_INPUT_TYPES,
    ORT_OUTPUT_SHAPES,
    ORT_OUTPUT_TYPES,
    ORT_NAMES
};

#define ORT_COUNTERS 4 /* memory counters of a node, see ort_counters[] */

/* One event. Names are ids of the load's stage; 0 and NL_NULL_I64 are unknown. */
struct ort_event {
    int64_t pid, tid, ts, dur; /* ns */
    int64_t number[ORT_NUMBERS], counter[ORT_COUNTERS];
    uint32_t name; /* without its suffix */
    uint32_t names[ORT_NAMES];
    uint64_t full, parent; /* hashes of the whole name, and of the parent's that a kernel names */
    char cat[16], phase;
    char copy[32];      /* the name's first bytes, to see copies */
    bool node, fence;   /* by the name's suffix */
    bool time_is_odd;   /* ts or dur was no number */
    struct nl_buf rest; /* other arguments, as the members of a JSON object */
};

/* What is counted while loading, for coverage. */
enum ort_odd {
    ORT_ODD_DAMAGED,
    ORT_ODD_NO_TIME,
    ORT_ODD_NEGATIVE,
    ORT_ODD_PHASE,
    ORT_ODD_FENCE,
    ORT_ODD_NO_PARENT,
    ORT_ODD_ARGS_CUT,
    ORT_ODDS
};

#define ORT_THREADS 64

struct ort_load {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t source;
    struct jsonpull *json;
    struct ort_event event;
    struct nl_buf shapes, types;
    struct ort_thread { /* cache of lanes, by tid */
        int64_t pid, tid;
        uint32_t ops, notes;           /* lane + 1, 0 = not made yet */
        uint32_t series[ORT_COUNTERS]; /* likewise */
    } threads[ORT_THREADS];
    int64_t pid;         /* of the process: kernels do not have it */
    uint64_t parent;     /* hash of the last node's name */
    int64_t nodes, runs; /* so far */
    uint64_t events, odd[ORT_ODDS];
    uint64_t odd_at[ORT_ODDS]; /* byte of the first */
    uint32_t providers[16];    /* names met */
    struct nl_buf provider_list;
};

struct ort_counter {
    const char *key, *name;
};
extern const struct ort_counter ort_counters[ORT_COUNTERS];

void ort_odd(struct ort_load *load, enum ort_odd odd);

/* Reads the members of the object that load->json just opened into load->event; false when the text
 * is damaged in it. */
NL_MUST_CHECK bool ort_read_event(struct ort_load *load);

/* Makes rows of load->event. */
void ort_take_event(struct ort_load *load);

#endif

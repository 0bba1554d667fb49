/*
 * perfetto_rows — what a Perfetto trace becomes while it is read: records on tracks (perfetto.h).
 */
#ifndef NL_PERFETTO_ROWS_H
#define NL_PERFETTO_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/schema.h"

enum perfetto_type {
    PERFETTO_BEGIN = 1,
    PERFETTO_END,
    PERFETTO_INSTANT,
    PERFETTO_COUNTER, /* value in `real` */
    PERFETTO_COMPLETE,
    PERFETTO_SCHED, /* a thread on a processor */
    PERFETTO_FLOW,  /* an arrow passes here: id in `dur` */
    PERFETTO_FLOW_END,
    PERFETTO_STATE, /* lasts until the next one of its track; no name: none */
};

/* What a slice is, by its category. */
enum perfetto_role {
    ROLE_SLICE,
    ROLE_KERNEL,
    ROLE_COPY,
    ROLE_CALL,
    ROLE_RANGE,
    ROLE_OPERATOR,
    ROLE_FILL,
    ROLE_WAIT,
    ROLE_DEVICE_RANGE,
    ROLE_GRAPH,
    ROLE_PYTHON,
    ROLE_LAYER,
    ROLE_OVERHEAD,
    ROLE_MARK,
};

struct perfetto_record {
    int64_t ts;
    union {
        int64_t dur; /* PERFETTO_COMPLETE, PERFETTO_SCHED; id of a flow */
        double real;
    };
    uint32_t track, name, args;
    uint32_t launch;           /* row of load->launches + 1, 0 = none */
    uint32_t stack;            /* row of stacks + 1, 0 = none */
    uint8_t type, role, flags; /* flags: NL_SLICE_… */
};

/* What a kernel or call says besides its times. */
struct perfetto_launch {
    uint64_t correlation, bytes;
    uint32_t grid[3], block[3];       /* 0 in front = not given */
    uint32_t grid_items, group_items; /* over all dimensions; NL_NULL_U32 = not given */
    uint32_t shared_bytes;            /* likewise; so do the next */
    uint32_t dynamic_shared_bytes, registers;
    uint64_t graph, graph_node;
    double occupancy;
    uint8_t direction; /* of a copy: enum nl_copykind */
};

/* The correlation id of an event: a number, or a text. */
struct perfetto_tag {
    struct nl_str text;
    uint64_t number;
    bool is_number;
};

struct perfetto_track {
    uint64_t uuid, parent;
    int64_t pid, tid;                              /* NL_NULL_I64 unknown */
    uint32_t name;                                 /* name ids of the stage */
    struct nl_str text, process_name, thread_name; /* in the arena */
    uint32_t unit;
    struct nl_str unit_text;
    int64_t multiplier, device; /* of a GPU: its number, else NL_NULL_I64 */
    int64_t queue;
    double last;
    uint32_t lane, series; /* NL_NULL_ROW until resolved */
    uint8_t lane_kind;     /* enum nl_lanekind of its events; 0 = by what the track is */
    bool described, counter, incremental, sched, on_device;
};

/* What coverage counts; texts in perfetto.c. */
enum perfetto_note {
    PERFETTO_NOTE_CUT,
    PERFETTO_NOTE_DAMAGED,
    PERFETTO_NOTE_STATE,
    PERFETTO_NOTE_CLOCK,
    PERFETTO_NOTE_NO_SNAPSHOT,
    PERFETTO_NOTE_INTERNED,
    PERFETTO_NOTE_OPEN,
    PERFETTO_NOTE_LONE_END,
    PERFETTO_NOTE_PACKETS,
    PERFETTO_NOTE_FTRACE,
    PERFETTO_NOTE_LOST,
    PERFETTO_NOTE_COMPRESSED,
    PERFETTO_NOTE_TIME,
    PERFETTO_NOTE_DEEP,
    PERFETTO_NOTE_LEGACY,
    PERFETTO_NOTE_FULL,
    PERFETTO_NOTE_NO_STACK,
    PERFETTO_NOTE_DEEP_STACK,
    PERFETTO_NOTE_SAMPLES_LOST,
    PERFETTO_NOTE_SAMPLES_SKIPPED,
    PERFETTO_NOTE_HEAP_PARTIAL,
    PERFETTO_NOTE_TYPED,
    PERFETTO_NOTES,
};

/* Nothing is known. */
static inline struct perfetto_launch perfetto_no_launch(void)
{
    return (struct perfetto_launch){.correlation = NL_NULL_U64,
                                    .bytes = NL_NULL_U64,
                                    .grid_items = NL_NULL_U32,
                                    .group_items = NL_NULL_U32,
                                    .shared_bytes = NL_NULL_U32,
                                    .dynamic_shared_bytes = NL_NULL_U32,
                                    .registers = NL_NULL_U32,
                                    .graph = NL_NULL_U64,
                                    .graph_node = NL_NULL_U64,
                                    .occupancy = NL_NULL_F64};
}

#endif

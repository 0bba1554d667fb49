/*
 * graphcapture — graphs as a program captured them: the launches between the calls that begin and
 * end a capture, and the ranges (operators, modules, Python functions) in which each was made. Not
 * for other rooms; graphjoin.c gives them to the kernels of replays.
 *
 * A capture is usable when each of its launches names its kernel (ROCm does, CUPTI does not) and no
 * other capture of the process was open meanwhile. A capture whose begin or end is missing, and a
 * graph whose nodes were set by calls, stand in the list as unusable ones without launches.
 * Launches that ran at once are not part of it. It may be forked: it made a stream wait for
 * another, so that replays may run its kernels in another order.
 */
#ifndef NL_GRAPHCAPTURE_H
#define NL_GRAPHCAPTURE_H

#include "base/map.h"
#include "store/trace.h"

struct nl_capture {
    uint32_t process, first, count; /* its launches: first .. first + count - 1 */
    int64_t end;                    /* when the capture had ended */
    uint64_t in_order, as_set;      /* hashes of the names of its kernels */
    bool usable, forked;
    bool doubted; /* a graph of the same kernels was launched before it: graphfind.c */
    bool said[2]; /* whether says[] is known: graphfind.c */
    uint64_t says[2];
};

struct nl_graph_captures {
    const struct nl_trace *trace; /* borrowed: where they were recorded */
    struct nl_capture *items;     /* by process and time */
    size_t count, cap;
    struct nl_captured_launch {
        uint32_t slice; /* of the call */
        uint32_t name;  /* of the kernel, an id of the other trace; NL_NULL_U32: it has none */
    } * launches;
    size_t launch_count, launch_cap;
};

/* The captures of `trace`; names as `of` has them, the trace with the replays (may be the same). */
void nl_graph_captures_find(struct nl_graph_captures *captures, const struct nl_trace *trace,
                            const struct nl_trace *of);
void nl_graph_captures_release(struct nl_graph_captures *captures);

/* Slices of the operators, modules and Python functions that were open on the thread of a call when
 * it began, outer ones first. Begins zeroed. */
struct nl_chain {
    uint32_t *items;
    size_t count, cap;
    const struct nl_trace *trace; /* of the last call */
    uint32_t thread;              /* whose lanes are listed */
    uint32_t *lanes;
    size_t lane_count, lane_cap;
};

void nl_chain_find(struct nl_chain *chain, const struct nl_trace *trace, uint32_t call);
void nl_chain_release(struct nl_chain *chain);

/* Of the names of kernels in order: nl_capture.in_order, from 0. */
static inline uint64_t nl_capture_next(uint64_t in_order, uint32_t name)
{
    return nl_hash_pair(in_order, name);
}

#endif

/*
 * recgpu — GPU work in a raw recording (recformat.h), as CUPTI or rocprofiler reported it to the
 * recorded process.
 *
 * These cells are in blocks whose THREAD cell has the number NL_REC_DRIVER, which stands for no
 * thread. Their `time` is not in ticks: it is ns of CLOCK_MONOTONIC, as are all times below; 0 =
 * not given. Behind the first cell follows the struct that enum nl_rec_gpu names; all are whole
 * cells long. Numbers that mean something (kinds of copies, memory, waits, operations) are CUPTI's.
 */
#ifndef NL_RECGPU_H
#define NL_RECGPU_H

#include "nlrec/recformat.h"

#define NL_REC_DRIVER     0xfffffffeu
#define NL_REC_GPU_NUMBER 0xffffffffu /* CUPTI's "unknown" of streams, events, devices */

/* Kinds of cells. `id` is a name; where none is given below it is 0. */
enum nl_rec_gpu {
    NL_REC_GPU_KERNEL = 32, /* work with `detail` registers, then shape; id its name */
    NL_REC_GPU_COPY,        /* work; depth kind of copy, detail = memory from | memory to << 8 */
    NL_REC_GPU_PEER_COPY,   /* likewise, then peers */
    NL_REC_GPU_MEMSET,      /* work with `detail` the value; depth kind of memory */
    NL_REC_GPU_GRAPH,       /* work: a whole graph as one interval */
    NL_REC_GPU_SYNC,        /* work with `detail` the event, device not given; depth kind of wait */
    NL_REC_GPU_CALL,        /* call; id the function, depth its result (65535: that or more) */
    NL_REC_GPU_OVERHEAD,    /* call without a correlation; id kind of overhead */
    NL_REC_GPU_MEMORY,      /* work with `node` the address; depth operation, detail kind of memory;
                             * id who allocated */
    NL_REC_GPU_POOL,        /* likewise of a memory pool; detail 1 local, 2 imported */
    NL_REC_GPU_DEVICE,      /* device; id its name, depth its vendor */
    NL_REC_GPU_CONTEXT,     /* work: device, context, stream = its null stream */
    NL_REC_GPU_STREAM,      /* work: context, stream; detail its priority, a signed number */
    NL_REC_GPU_NOTE,        /* more: coverage; id what, value how many, a = name of the detail */
    NL_REC_GPU_FACT,        /* more: metadata; id key, a = name of the value */
    NL_REC_GPU_COMPILE,     /* call; id what the driver compiled, or had from its cache */
    NL_REC_GPU_PAGING, /* work with `node` the address; id what the driver did with pages, depth 1
                             * when it took no time that is reported */
    NL_REC_GPU_BEHIND
};

/* Kinds of copies that the driver made of pages, beyond CUPTI's numbers. */
enum nl_rec_pages {
    NL_REC_GPU_PAGES_TO_DEVICE = 11,
    NL_REC_GPU_PAGES_TO_HOST,
    NL_REC_GPU_PAGES_BETWEEN
};

enum nl_rec_vendor { NL_REC_GPU_NVIDIA, NL_REC_GPU_AMD };

struct nl_rec_work {
    uint64_t end;
    uint32_t correlation, device;
    uint32_t context, stream;
    uint32_t graph, detail; /* graph: 0 = none */
    uint64_t node, bytes;   /* node of the graph, 0 = none */
};
struct nl_rec_shape {
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared;
};
struct nl_rec_peers {
    uint32_t from, to, reserved[2];
};
struct nl_rec_call {
    uint64_t end;
    uint32_t correlation, thread; /* thread 0 = not given */
};
struct nl_rec_device {
    uint64_t memory_bytes, bandwidth; /* bytes/s */
    uint64_t clock_hz;
    uint32_t number, processors; /* multiprocessors */
    uint32_t major, minor, warps, warp_size;
    unsigned char uuid[16];
};
_Static_assert(sizeof(struct nl_rec_work) == 48 && sizeof(struct nl_rec_shape) == 32 &&
                   sizeof(struct nl_rec_peers) == 16 && sizeof(struct nl_rec_call) == 16 &&
                   sizeof(struct nl_rec_device) == 64,
               "whole cells");

/* FACTs whose key is this: "begun", then "ended" when everything was handed over before the process
 * ended. */
#define NL_REC_GPU_STATE "GPU recording"
/* CPU time of the thread in the program that reads the driver's records; written at the end. */
#define NL_REC_GPU_COST "GPU records: processor time (ns)"

#endif

/*
 * nsysids — how an nsys export names things: strings by id, enumerations by number, processes and
 * threads by packed global ids; and cells of a row as values of the store.
 *
 * All of it is read before the event tables and then only looked at, by any thread.
 */
#ifndef NSYSIDS_H
#define NSYSIDS_H

#include <stdatomic.h>

#include "ingest/lib/dbcells.h"
#include "store/builder.h"

struct nsys_load;
struct nsys_worker;

/* ---- StringIds ---- */

struct nsys_string {
    int64_t id;
    const char *text; /* in the mapping or in the arena */
    uint32_t len;
    _Atomic uint32_t name, api; /* builder's names once needed; api: without its ABI suffix */
};

struct nsys_strings {
    struct nsys_string *list; /* ascending ids */
    size_t count, cap;
    uint32_t *direct; /* id → place in list + 1, when ids are dense enough */
    size_t direct_count;
};

/* ---- Enumerations of the file, mapped to ours by their symbols ---- */

enum nsys_enum {
    NSYS_COPY_KIND,
    NSYS_MEMORY_KIND,
    NSYS_SYNC_KIND,
    NSYS_EVENT_TYPE,
    NSYS_OVERHEAD_TYPE,
    NSYS_MEMORY_OPERATION,
    NSYS_CONTEXT_TAG,
    NSYS_ENUMS
};
#define NSYS_ENUM_VALUES 256

/* Our values of NSYS_EVENT_TYPE: what a row of NVTX_EVENTS is. */
enum nsys_nvtx {
    NSYS_NVTX_OTHER,
    NSYS_NVTX_PUSH_POP,
    NSYS_NVTX_START_END,
    NSYS_NVTX_MARK,
    NSYS_NVTX_CATEGORY,
    NSYS_NVTX_DOMAIN,
    NSYS_NVTX_THREAD,
    NSYS_NVTX_IGNORED /* domain destroyed, names of CUDA objects (TARGET_INFO_NVTX_* has them) */
};
/* Our values of NSYS_CONTEXT_TAG: what a switch of GPU contexts is about. */
enum nsys_context_tag {
    NSYS_CONTEXT_OTHER, /* requests and acknowledgements on the way out */
    NSYS_CONTEXT_BEGINS,
    NSYS_CONTEXT_RUNS,
    NSYS_CONTEXT_ENDS,
    NSYS_CONTEXT_RESET,
    NSYS_CONTEXT_NO_TIME
};
enum nsys_memory_operation { NSYS_MEMORY_UNKNOWN, NSYS_MEMORY_ALLOCATE, NSYS_MEMORY_FREE };

struct nsys_enum_map {
    uint8_t value[NSYS_ENUM_VALUES];  /* ours; 0 = unknown */
    uint32_t name[NSYS_ENUM_VALUES];  /* shown name of the slice, builder's */
    uint32_t label[NSYS_ENUM_VALUES]; /* the file's label, builder's */
};

/* ---- Small sorted tables of facts read beforehand ---- */

struct nsys_named {
    uint64_t process;         /* globalPid */
    int64_t a, b;             /* domain, category; or list, index of a metric */
    int64_t device;           /* CUDA's number of it, of a context */
    uint32_t name;            /* the builder's, or a series */
    struct nl_str text, unit; /* where the text itself is needed (in the arena) */
    uint32_t order;           /* in which they were added */
};
struct nsys_named_list {
    struct nsys_named *list;
    size_t count, cap;
};

/* One field of a payload's structure. */
struct nsys_field {
    int64_t domain, schema, index, type, offset;
    struct nl_str name; /* terminated, in the arena */
};

struct nsys_gpu {
    int64_t pid, cuda, gpu; /* CUDA's number `cuda` in process `pid` (or all: -1) is GPU `gpu` */
};

void nsys_strings_release(struct nsys_strings *strings);
/* NULL when there is no such string. */
struct nsys_string *nsys_string_find(const struct nsys_strings *strings, int64_t id);

/* `text` without `_v3020`, `_ptsz`, `_ptds` at its end. */
struct nl_str nsys_api_text(struct nl_str text);

const struct nsys_named *nsys_named_find(const struct nsys_named_list *list, uint64_t process,
                                         int64_t a, int64_t b);
void nsys_named_add(struct nsys_named_list *list, struct nsys_named named);
void nsys_named_sort(struct nsys_named_list *list); /* of equal keys the first added stays */

/* globalTid, globalPid: hardware 8 bits, VM 8, process 24, thread 24. */
#define NSYS_NOBODY UINT64_MAX /* no such id */

static inline uint64_t nsys_global(dbfile_cells cell)
{
    return cell->type == SQLITEPAGES_INTEGER ? (uint64_t)cell->integer : NSYS_NOBODY;
}

static inline int64_t nsys_pid(uint64_t global)
{
    return global == NSYS_NOBODY ? NL_NULL_I64 : (int64_t)(global >> 24 & 0xffffff);
}

static inline int64_t nsys_tid(uint64_t global)
{
    return global == NSYS_NOBODY ? NL_NULL_I64 : (int64_t)(global & 0xffffff);
}

static inline uint64_t nsys_process_of(uint64_t global)
{
    return global == NSYS_NOBODY ? NSYS_NOBODY : global & ~(uint64_t)0xffffff;
}

static inline unsigned nsys_enum_index(dbfile_cells cell)
{
    return cell->type == SQLITEPAGES_INTEGER && cell->integer >= 0 &&
                   cell->integer < NSYS_ENUM_VALUES
               ? (unsigned)cell->integer
               : NSYS_ENUM_VALUES - 1;
}

void nsys_strings_load(struct nsys_load *load);

/* A name cell: an id of StringIds or text. For use in rows of this worker's stage. */
uint32_t nsys_name(struct nsys_worker *worker, dbfile_cells cell);
/* The same for a function name: cudaLaunchKernel_v7000 → cudaLaunchKernel. */
uint32_t nsys_api_name(struct nsys_worker *worker, dbfile_cells cell);
/* Text of a name cell; empty when unknown. Borrows. */
struct nl_str nsys_text(const struct nsys_load *load, dbfile_cells cell);
/* Device row of a process's CUDA device number. */
uint32_t nsys_device(struct nsys_load *load, uint64_t global, int64_t cuda);

/* Lane of a stream; and of a thread, or, with thread = false, of its process. */
uint32_t nsys_stream_lane(struct nsys_worker *worker, enum nl_lanekind kind, dbfile_cells process,
                          dbfile_cells device, dbfile_cells context, dbfile_cells stream);
uint32_t nsys_thread_lane(struct nsys_worker *worker, enum nl_lanekind kind, dbfile_cells who,
                          bool thread, uint32_t domain);

/* Lane of a process's context on a GPU of the machine; NL_NULL_U32 = not given. */
uint32_t nsys_gpu_lane(struct nsys_worker *worker, uint64_t process, uint32_t gpu,
                       uint32_t context);

/* Start and length from two cells. False: the row has no usable start (counted). An end before its
 * start gives length 0 (counted); a missing one is left to the builder, which clamps it. */
bool nsys_times(struct nsys_worker *worker, dbfile_cells start, dbfile_cells end,
                struct nl_slice_row *slice);

#endif

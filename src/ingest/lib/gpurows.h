/*
 * gpurows — what readers of device profiles have in common when they read on one thread: lanes of
 * streams and threads with a small cache before the builder's lock, times with the oddities
 * counted, work-items as blocks, names of copies and kernels as tools spell them.
 *
 *     gpurows_begin(&rows, builder, source, job);
 *     if (gpurows_times(&rows, start, end, &slice)) {
 *         slice.lane = gpurows_stream(&rows, pid, device, NL_NULL_I64, stream); ...
 *     }
 *     gpurows_end(&rows);          // coverage
 */
#ifndef GPUROWS_H
#define GPUROWS_H

#include "store/builder.h"

#define GPUROWS_CACHE 256

struct gpurows_slot {
    bool used;
    uint8_t kind;
    uint32_t domain, lane;
    int64_t pid, who, context, stream; /* who: thread or device */
};

struct gpurows_map {
    size_t count;
    uint64_t *small;           /* dense part: values of small keys, indexed by key */
    unsigned char *small_used; /* which of them are set */
    size_t small_count, small_size;
    struct gpurows_pair {
        uint64_t key, value;
        bool used;
    } * pairs; /* all others: open addressing */
    size_t pair_count, size;
};

struct gpurows {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source, units;
    uint64_t rows, no_start, no_end, negative; /* of gpurows_times */
    struct gpurows_map live;                   /* allocations by address */
    struct gpurows_map ordinals;               /* devices' numbers by key */
    struct gpurows_slot cache[GPUROWS_CACHE];
};

/* Makes a stage and begins its unit 0. */
void gpurows_begin(struct gpurows *rows, struct nl_builder *builder, uint32_t source,
                   struct nl_job *job);
/* What follows is of another source, whose processes and devices have nothing to do with those
 * before. Rows refer to slices since then only. */
void gpurows_source(struct gpurows *rows, uint32_t source);
/* Tells oddities. */
void gpurows_end(struct gpurows *rows);

/* The load must stop: cancelled, or no memory left. */
bool gpurows_stop(const struct gpurows *rows);

/* Start and length in ns, NL_NULL_I64 = not there. False, and counted: no start. An end before the
 * start gives length 0. Times over ±2^62 are no times. */
bool gpurows_times(struct gpurows *rows, int64_t start, int64_t end, struct nl_slice_row *slice);

/* Lane of a stream of a device (NL_NULL_I64: not known), with its process; and of a thread. A
 * device that the builder does not know yet by this key gets the key as its number. */
uint32_t gpurows_stream(struct gpurows *rows, int64_t pid, int64_t device, int64_t context,
                        int64_t stream);
/* The same for another kind of lane than NL_LANE_STREAM: NL_LANE_SYNC. */
uint32_t gpurows_device(struct gpurows *rows, enum nl_lanekind kind, int64_t pid, int64_t device,
                        int64_t context, int64_t stream);
uint32_t gpurows_thread(struct gpurows *rows, enum nl_lanekind kind, int64_t pid, int64_t tid,
                        uint32_t domain);

/* Sets grid (in blocks) and block from sizes in work-items; unknown (NL_NULL_U32) stays unknown. */
void gpurows_work_items(struct nl_kernel_row *kernel, const uint32_t items[3],
                        const uint32_t block[3]);

/* The name without what ROCm puts after it: " [clone .kd]", ".kd". */
struct nl_str gpurows_kernel_name(struct nl_str name);

/* CUPTI's numbers of kinds of memory and waits as the store's (of copies: store/copykind.h);
 * 0 what it does not know. */
uint8_t gpurows_cupti_memory(int64_t number);
uint8_t gpurows_cupti_sync(int64_t number);

/* Names of copies and waits without recorded names: "[CUDA memcpy HtoD]". */
uint32_t gpurows_copy_name(const struct gpurows *rows, uint8_t kind);
uint32_t gpurows_sync_name(const struct gpurows *rows, uint8_t kind);

/* Value as a count that fits, else unknown. */
static inline uint32_t gpurows_u32(int64_t value)
{
    return value < 0 || value >= UINT32_MAX ? NL_NULL_U32 : (uint32_t)value;
}

/* Number of the device with this key as given to rocagent_device; the key when it did not. */
int64_t gpurows_ordinal(const struct gpurows *rows, int64_t key);

/* Bytes and device of a row of table memory (its address set): frees have no size, so a free gets
 * that of the allocation at its address. bytes <= 0: not given. */
void gpurows_allocation(struct gpurows *rows, struct nl_memory_row *row, int64_t bytes, bool freed);

/* ---- Numbers by id ---- */

/* The value of a key, made with `value` when it is new; *made says whether it is new (may be
 * NULL). */
uint64_t *gpurows_map_put(struct gpurows_map *map, uint64_t key, uint64_t value, bool *made);
const uint64_t *gpurows_map_find_pair(const struct gpurows_map *map, uint64_t key);
void gpurows_map_release(struct gpurows_map *map);

/* NULL: there is none. */
static inline const uint64_t *gpurows_map_find(const struct gpurows_map *map, uint64_t key)
{
    if (key < map->small_size && map->small_used[key])
        return &map->small[key];
    return map->pair_count ? gpurows_map_find_pair(map, key) : NULL;
}

#endif

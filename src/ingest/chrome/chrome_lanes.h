/*
 * chrome_lanes — an event's pid and tid (or device and stream) → lanes of the store, through a
 * cache per worker.
 */
#ifndef CHROME_LANES_H
#define CHROME_LANES_H

#include "ingest/chrome/chrome_event.h"
#include "store/builder.h"

struct chrome_worker;
struct chrome_load;
struct chrome_flow_end;

/* A pid or tid: a number, or a name given a number that no system gives out. */
struct chrome_actor {
    int64_t number; /* NL_NULL_I64 = absent */
    const struct chrome_value *name;
};

struct chrome_lane_key {
    int64_t pid, tid; /* of a lane of a device: its number and the stream */
    int64_t context, rank;
    uint32_t kind, domain;
};

#define CHROME_LANE_SLOTS 1024
#define CHROME_NO_STREAM  UINT32_MAX /* what CUPTI calls CUPTI_SYNCHRONIZATION_INVALID_VALUE */

struct chrome_lane_slot {
    struct chrome_lane_key key;
    uint32_t lane; /* + 1; 0 = empty */
};

struct chrome_actor chrome_actor(const struct chrome_event *event, enum chrome_field field);
/* Lane of the event's pid and tid. */
uint32_t chrome_thread_lane(struct chrome_worker *worker, enum nl_lanekind kind, uint32_t domain);
/* Lane of the event's process alone; in Kineto files, of the main process for named pids. */
uint32_t chrome_process_lane(struct chrome_worker *worker, enum nl_lanekind kind, uint32_t domain);
/* Lane of the event's device and stream. */
uint32_t chrome_device_lane(struct chrome_worker *worker, enum nl_lanekind kind);

/* Lane of a pid and tid after all blocks: a stream where they name one, else a thread. */
uint32_t chrome_find_lane(struct chrome_load *load, struct chrome_worker *workers, unsigned count,
                          struct chrome_flow_end end);
/* Did any worker make a process of this pid? */
bool chrome_pid_seen(const struct chrome_worker *workers, unsigned count, int64_t pid);

#endif

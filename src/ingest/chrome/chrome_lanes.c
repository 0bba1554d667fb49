/*
 * pids and tids → processes, threads, devices and lanes.
 *
 * The format lets both be numbers or any text ("stream 7", "Spans", ""). Texts that hold a number
 * are that number; other texts get a negative number made from their hash, which is the same in
 * every thread and run, and their text as name. A lock guards the builder's entities, so each
 * worker keeps a cache in front.
 */
#include "base/chars.h"
#include "ingest/chrome/chrome_work.h"
#include "ingest/chrome/chrome_value.h"

struct chrome_actor chrome_actor(const struct chrome_event *event, enum chrome_field field)
{
    struct chrome_actor actor = {NL_NULL_I64, NULL};
    if (!chrome_has(event, field))
        return actor;
    const struct chrome_value *value = &event->field[field];
    if (value->type == CHROME_NULL || chrome_integer(value, &actor.number))
        return actor;
    actor.name = value;
    uint64_t hash = nl_hash(value->ptr, value->len);
    actor.number = -(int64_t)(hash >> 2) - ((int64_t)1 << 32); /* below all that systems give out */
    return actor;
}

/* "stream 7" → 7, "0x0" → 0, 7 → 7. */
static int64_t stream_number(const struct chrome_value *value)
{
    int64_t number;
    if (chrome_integer(value, &number))
        return number;
    struct chrome_value rest = *value;
    while (rest.len && !nl_is_digit(rest.ptr[0])) {
        rest.ptr++;
        rest.len--;
    }
    return value->type == CHROME_STRING && chrome_integer(&rest, &number) ? number : NL_NULL_I64;
}

/* What keeps the keys of threads, processes and devices apart. */
#define PROCESS_ONLY 1                   /* in `context`, which is 0 for threads */
#define ON_DEVICE    ((uint32_t)1 << 31) /* in `kind` */

static bool same_key(const struct chrome_lane_key *a, const struct chrome_lane_key *b)
{
    return a->pid == b->pid && a->tid == b->tid && a->context == b->context && a->rank == b->rank &&
           a->kind == b->kind && a->domain == b->domain;
}

/* The cached slot of a key; slot->lane is 0 when it must be made. */
static struct chrome_lane_slot *find_slot(struct chrome_worker *worker,
                                          const struct chrome_lane_key *key)
{
    if (worker->last_lane && same_key(&worker->last_lane->key, key))
        return worker->last_lane;
    uint64_t mix = (uint64_t)key->pid * 0x9E3779B97F4A7C15u;
    mix = (mix ^ (uint64_t)key->tid) * 0xD6E8FEB86659FD93u;
    mix = (mix ^ (uint64_t)key->context ^ key->kind ^ (uint64_t)key->domain << 20) *
          0x9E3779B97F4A7C15u;
    struct chrome_lane_slot *slot = &worker->lanes[(mix >> 40) % CHROME_LANE_SLOTS];
    if (!slot->lane || !same_key(&slot->key, key)) {
        slot->key = *key;
        slot->lane = 0;
    }
    worker->last_lane = slot;
    return slot;
}

static struct nl_str actor_text(struct chrome_worker *worker, const struct chrome_value *name)
{
    return chrome_names_decode(&worker->names, chrome_text(name), name->escaped);
}

/* The rank that a fused trace notes in every event. */
static int64_t event_rank(const struct chrome_event *event)
{
    const struct chrome_value *rank = chrome_arg(event, CHROME_ARG_RANK);
    int64_t number;
    if (!rank || !chrome_arg(event, CHROME_ARG_RANK_RAW) || !chrome_integer(rank, &number))
        return NL_NULL_I64;
    return number;
}

static uint32_t make_process(struct chrome_worker *worker, struct chrome_actor pid, int64_t rank)
{
    struct nl_builder *builder = worker->load->builder;
    uint32_t process = nl_builder_process(builder, worker->load->source, pid.number);
    nl_idmap_put(&worker->pids, (uint64_t)pid.number, 0);
    if (rank != NL_NULL_I64)
        nl_builder_process_rank(builder, process, rank);
    if (pid.name && pid.name->len)
        nl_builder_process_name(builder, process, actor_text(worker, pid.name));
    return process;
}

static struct nl_lane_key no_lane(enum nl_lanekind kind, uint32_t process, uint32_t domain)
{
    return (struct nl_lane_key){.kind = kind,
                                .process = process,
                                .thread = NL_NULL_ROW,
                                .device = NL_NULL_ROW,
                                .context = NL_NULL_I64,
                                .stream = NL_NULL_I64,
                                .domain = domain};
}

uint32_t chrome_thread_lane(struct chrome_worker *worker, enum nl_lanekind kind, uint32_t domain)
{
    struct chrome_actor pid = chrome_actor(&worker->event, CHROME_F_PID);
    struct chrome_actor tid = chrome_actor(&worker->event, CHROME_F_TID);
    int64_t rank = event_rank(&worker->event);
    struct chrome_lane_key key = {pid.number, tid.number, 0, rank, kind, domain};
    struct chrome_lane_slot *slot = find_slot(worker, &key);
    if (!slot->lane) {
        struct nl_builder *builder = worker->load->builder;
        struct nl_lane_key lane = no_lane(kind, make_process(worker, pid, rank), domain);
        if (tid.number != NL_NULL_I64) {
            lane.thread = nl_builder_thread(builder, lane.process, tid.number);
            if (tid.name && tid.name->len)
                nl_builder_thread_name(builder, lane.thread, actor_text(worker, tid.name));
        }
        slot->lane = nl_builder_lane(builder, &lane) + 1;
    }
    return slot->lane - 1;
}

uint32_t chrome_process_lane(struct chrome_worker *worker, enum nl_lanekind kind, uint32_t domain)
{
    struct chrome_actor pid = chrome_actor(&worker->event, CHROME_F_PID);
    int64_t rank = event_rank(&worker->event);
    if (worker->load->kineto && (pid.name || pid.number < 0)) {
        pid = (struct chrome_actor){worker->load->main_pid, NULL};
        rank = NL_NULL_I64; /* one process for what all ranks of a fused trace share */
    }
    struct chrome_lane_key key = {pid.number, 0, PROCESS_ONLY, rank, kind, domain};
    struct chrome_lane_slot *slot = find_slot(worker, &key);
    if (!slot->lane) {
        struct nl_lane_key lane = no_lane(kind, make_process(worker, pid, rank), domain);
        slot->lane = nl_builder_lane(worker->load->builder, &lane) + 1;
    }
    return slot->lane - 1;
}

/* Device and stream: from the arguments, else pid and tid. A fused trace has each rank's devices
 * under separate pids, and a process per rank. */
uint32_t chrome_device_lane(struct chrome_worker *worker, enum nl_lanekind kind)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *device = chrome_arg(event, CHROME_ARG_DEVICE);
    const struct chrome_value *stream = chrome_arg(event, CHROME_ARG_STREAM);
    struct chrome_actor pid = chrome_actor(event, CHROME_F_PID);
    int64_t rank = event_rank(event), number = pid.number, context = NL_NULL_I64;
    if (device)
        chrome_integer(device, &number);
    if (!stream && kind == NL_LANE_GPU_ANNOTATION)
        stream = chrome_arg(event, CHROME_ARG_RANGE_STREAM);
    if (!stream && chrome_has(event, CHROME_F_TID))
        stream = &event->field[CHROME_F_TID];
    if (chrome_arg(event, CHROME_ARG_CONTEXT) && kind != NL_LANE_SYNC)
        chrome_integer(chrome_arg(event, CHROME_ARG_CONTEXT), &context);
    struct chrome_lane_key key = {
        number, stream ? stream_number(stream) : NL_NULL_I64, context, rank, kind | ON_DEVICE, 0};
    if (key.tid == -1 || key.tid == CHROME_NO_STREAM)
        key.tid = NL_NULL_I64; /* the whole context */
    struct chrome_lane_slot *slot = find_slot(worker, &key);
    if (!slot->lane) {
        struct chrome_load *load = worker->load;
        struct chrome_actor owner = {rank == NL_NULL_I64 ? load->main_pid : pid.number, NULL};
        struct nl_lane_key lane = no_lane(kind, make_process(worker, owner, rank), 0);
        int64_t device_key =
            rank == NL_NULL_I64 ? number : (rank + 1) * ((int64_t)1 << 32) + number;
        lane.device = nl_builder_device(load->builder, load->source, device_key, number);
        lane.context = context;
        lane.stream = key.tid;
        slot->lane = nl_builder_lane(load->builder, &lane) + 1;
        if (kind == NL_LANE_STREAM) {
            nl_grow(&worker->device_lanes, &worker->device_lane_cap, ++worker->device_lane_count);
            worker->device_lanes[worker->device_lane_count - 1] =
                (struct chrome_device_lane){pid.number, key.tid, slot->lane - 1};
        }
    }
    return slot->lane - 1;
}

bool chrome_pid_seen(const struct chrome_worker *workers, unsigned count, int64_t pid)
{
    for (unsigned w = 0; w < count; w++)
        if (nl_idmap_get(&workers[w].pids, (uint64_t)pid) != NL_NO_ROW)
            return true;
    return false;
}

uint32_t chrome_find_lane(struct chrome_load *load, struct chrome_worker *workers, unsigned count,
                          struct chrome_flow_end end)
{
    bool process = chrome_pid_seen(workers, count, end.pid);
    uint32_t found = NL_NULL_ROW;
    for (unsigned w = 0; w < count && !process; w++)
        for (size_t i = 0; i < workers[w].device_lane_count; i++) {
            const struct chrome_device_lane *lane = &workers[w].device_lanes[i];
            if (lane->device == end.pid && lane->stream == end.tid && lane->lane < found)
                found = lane->lane;
        }
    if (found != NL_NULL_ROW)
        return found;
    struct nl_lane_key lane =
        no_lane(NL_LANE_THREAD, nl_builder_process(load->builder, load->source, end.pid), 0);
    if (end.tid != NL_NULL_I64)
        lane.thread = nl_builder_thread(load->builder, lane.process, end.tid);
    return nl_builder_lane(load->builder, &lane);
}

/*
 * The JSON lines of NCCL's inspector. A line is an object with a few objects inside; the members
 * that matter are picked out by a table of (object, key) and kept as text until the line is whole,
 * because the one that says what the line is may come last. Lines are written when an event ends,
 * and event addresses are used again, so nothing is joined by them.
 */

#include <stdio.h>

#include "base/stream.h"
#include "base/utf8.h"
#include "ingest/ingest.h"
#include "base/mem.h"
#include "parse/csvread.h"
#include "ingest/lib/gpurows.h"
#include "base/map.h"
#include "parse/jsonpull.h"

#define MAX_LINE 65536 /* of what is kept of a line */

enum slot {
    RECORD,
    TYPE,
    RANK,
    COMM,
    EXTERNAL,
    DEVICE,
    NAME,
    STREAM,
    PID,
    TID,
    START,
    STOP,
    FUNC,
    SEQUENCE,
    COUNT,
    DTYPE,
    PEER,
    RANKS,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    ALGORITHM,
    PROTOCOL,
    CHANNEL,
    I_COMM,
    I_RANK,
    I_RANKS,
    I_VERSION,
    I_STAMP,
    I_PID,
    I_COLLECTIVE,
    I_SEQUENCE,
    I_BYTES,
    I_TIME,
    I_ALGBW,
    I_BUSBW,
    SLOTS
};
static const struct {
    const char *object, *key; /* object "": the line itself */
} places[SLOTS] = {
    [RECORD] = {"", "recordType"},
    [TYPE] = {"", "type"},
    [RANK] = {"", "rank"},
    [COMM] = {"", "commId"},
    [EXTERNAL] = {"", "extCorrId"},
    [DEVICE] = {"", "deviceId"},
    [NAME] = {"", "name"},
    [STREAM] = {"", "stream"},
    [PID] = {"start", "pid"},
    [TID] = {"start", "tid"},
    [START] = {"start", "ts"},
    [STOP] = {"stop", "ts"},
    [FUNC] = {"details", "func"},
    [SEQUENCE] = {"details", "seq"},
    [COUNT] = {"details", "count"},
    [DTYPE] = {"details", "dtype"},
    [PEER] = {"details", "peer"},
    [RANKS] = {"details", "nranks"},
    [GRID_X] = {"details", "gridX"},
    [GRID_Y] = {"details", "gridY"},
    [GRID_Z] = {"details", "gridZ"},
    [BLOCK_X] = {"details", "blockX"},
    [BLOCK_Y] = {"details", "blockY"},
    [BLOCK_Z] = {"details", "blockZ"},
    [ALGORITHM] = {"details", "algo"},
    [PROTOCOL] = {"details", "proto"},
    [CHANNEL] = {"details", "channel"},
    [I_COMM] = {"header", "id"},
    [I_RANK] = {"header", "rank"},
    [I_RANKS] = {"header", "n_ranks"},
    [I_VERSION] = {"metadata", "inspector_output_format_version"},
    [I_STAMP] = {"metadata", "dump_timestamp_us"},
    [I_PID] = {"metadata", "pid"},
    [I_COLLECTIVE] = {"coll_perf", "coll"},
    [I_SEQUENCE] = {"coll_perf", "coll_sn"},
    [I_BYTES] = {"coll_perf", "coll_msg_size_bytes"},
    [I_TIME] = {"coll_perf", "coll_exec_time_us"},
    [I_ALGBW] = {"coll_perf", "coll_algobw_gbs"},
    [I_BUSBW] = {"coll_perf", "coll_busbw_gbs"},
};

struct lines {
    struct gpurows rows;
    struct jsonpull json;
    struct nl_buf text; /* of the slots */
    struct {
        size_t at, len;
    } slot[SLOTS];
    struct nl_idmap comms; /* communicator → ranks */
    int64_t events, states, others, odd, no_ranks, dumps;
    bool plugin, inspector;
};

/* ---- one line ---- */

static void keep_value(struct lines *l, struct nl_str object, struct nl_str key)
{
    for (int i = 0; i < SLOTS; i++)
        if (nl_str_is(object, places[i].object) && nl_str_is(key, places[i].key)) {
            size_t at = l->text.len;
            if (jsonpull_next(&l->json) == JSONPULL_STRING || l->json.type == JSONPULL_NUMBER) {
                nl_buf_add(&l->text, l->json.text.ptr, l->json.text.len);
                l->slot[i].at = at;
                l->slot[i].len = l->text.len - at;
            }
            jsonpull_skip(&l->json);
            return;
        }
    jsonpull_skip(&l->json);
}

static bool is_object(struct nl_str key)
{
    for (int i = 0; i < SLOTS; i++)
        if (places[i].object[0] && nl_str_is(key, places[i].object))
            return true;
    return false;
}

/* The members of the object that was opened. */
static void read_line(struct lines *l)
{
    char inner[16];
    nl_buf_clear(&l->text);
    memset(l->slot, 0, sizeof l->slot);
    while (jsonpull_member(&l->json)) {
        if (!is_object(l->json.text)) {
            keep_value(l, nl_str(""), l->json.text);
            continue;
        }
        (void)snprintf(inner, sizeof inner, "%.*s", (int)l->json.text.len, l->json.text.ptr);
        if (jsonpull_next(&l->json) == JSONPULL_OBJECT)
            while (jsonpull_member(&l->json))
                keep_value(l, nl_str(inner), l->json.text);
        else
            jsonpull_skip(&l->json);
    }
}

static struct nl_str slot_text(const struct lines *l, enum slot slot)
{
    return l->slot[slot].len ? (struct nl_str){l->text.ptr + l->slot[slot].at, l->slot[slot].len}
                             : (struct nl_str){"", 0};
}

static int64_t i64_of(const struct lines *l, enum slot slot)
{
    int64_t value = NL_NULL_I64;
    (void)csvread_i64(slot_text(l, slot), &value);
    return value;
}

/* Communicators are beyond int64, streams are hexadecimal. */
static uint64_t u64_of(const struct lines *l, enum slot slot)
{
    uint64_t value = NL_NULL_U64;
    (void)csvread_u64(slot_text(l, slot), &value);
    return value;
}

static int64_t ns_of(const struct lines *l, enum slot slot)
{
    int64_t value = NL_NULL_I64;
    (void)csvread_scaled(slot_text(l, slot), 3, &value); /* from µs */
    return value;
}

static uint32_t u32_of(const struct lines *l, enum slot slot)
{
    return gpurows_u32(i64_of(l, slot));
}

/* ---- the plug-in's events ---- */

/* Words in the names of ncclDataType_t; those of "ncclUint8" and "ncclBfloat16" hold another's. */
static uint64_t element_bytes(struct nl_str dtype)
{
    static const struct {
        const char *word;
        unsigned bytes;
    } sizes[] = {{"Float8", 1},  {"Int8", 1},  {"Float16", 2}, {"Half", 2},
                 {"Float32", 4}, {"Int32", 4}, {"Float64", 8}, {"Double", 8},
                 {"Int64", 8},   {"Float", 4}, {"Int", 4},     {"Char", 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (nl_str_find_nocase(dtype, sizes[i].word) >= 0)
            return sizes[i].bytes;
    return 0;
}

/* Ranks share a process and their events cross: a lane per rank and kind of event. */
static uint32_t event_lane(struct lines *l, struct nl_str type)
{
    char title[120];
    int len = snprintf(title, sizeof title, "rank %.*s %.*s", (int)slot_text(l, RANK).len,
                       slot_text(l, RANK).ptr, NL_UP_TO(80, type));
    struct nl_str name = {title, len < (int)sizeof title ? (size_t)len : sizeof title - 1};
    uint32_t domain = nl_builder_name(l->rows.builder, name);
    uint32_t lane = gpurows_thread(&l->rows, NL_LANE_ASYNC, i64_of(l, PID), NL_NULL_I64, domain);
    nl_builder_lane_name(l->rows.builder, lane, name);
    return lane;
}

static void add_collective(struct lines *l, struct nl_slice_row *slice)
{
    struct nl_collective_row row = nl_collective_row();
    struct nl_stage *stage = l->rows.stage;
    uint64_t count = u64_of(l, COUNT), element = element_bytes(slot_text(l, DTYPE));
    slice->kind = NL_KIND_LIBRARY; /* it lasts as long as enqueueing did */
    slice->name = nl_stage_name(stage, slot_text(l, FUNC));
    row.slice = nl_stage_slice(stage, slice);
    row.operation = slice->name;
    row.in_elements = count;
    if (count == NL_NULL_U64 || element == 0 || __builtin_mul_overflow(count, element, &row.bytes))
        row.bytes = NL_NULL_U64;
    row.dtype = slot_text(l, DTYPE).len ? nl_stage_name(stage, slot_text(l, DTYPE)) : NL_NO_NAME;
    row.group_name = slot_text(l, COMM).len ? nl_stage_name(stage, slot_text(l, COMM)) : NL_NO_NAME;
    row.sequence = i64_of(l, SEQUENCE);
    row.peer = i64_of(l, PEER);
    uint32_t ranks = nl_idmap_get(&l->comms, u64_of(l, COMM));
    l->no_ranks += ranks == NL_NO_ROW;
    row.ranks = ranks == NL_NO_ROW ? NL_NULL_U32 : ranks;
    nl_stage_collective(stage, &row);
}

static void add_launch(struct lines *l, struct nl_slice_row *slice)
{
    struct nl_api_row call = nl_api_row();
    slice->kind = NL_KIND_API;
    slice->lane = gpurows_thread(&l->rows, NL_LANE_THREAD, i64_of(l, PID), i64_of(l, TID), 0);
    call.slice = nl_stage_slice(l->rows.stage, slice);
    call.correlation = u64_of(l, EXTERNAL);
    nl_stage_api(l->rows.stage, &call);
}

static void add_event(struct lines *l)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_str type = slot_text(l, TYPE), func = slot_text(l, FUNC);
    if (!gpurows_times(&l->rows, ns_of(l, START), ns_of(l, STOP), &slice))
        return;
    slice.name = nl_stage_name(l->rows.stage, type);
    if (nl_str_is(type, "ncclProfileKernelLaunch")) {
        add_launch(l, &slice);
        return;
    }
    slice.lane = event_lane(l, type);
    if (func.len && (nl_str_is(type, "ncclProfileColl") || nl_str_is(type, "ncclProfileP2p"))) {
        add_collective(l, &slice);
        return;
    }
    slice.kind = NL_KIND_LIBRARY;
    (void)nl_stage_slice(l->rows.stage, &slice);
}

static void add_kernel(struct lines *l)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_kernel_row kernel = nl_kernel_row();
    if (!gpurows_times(&l->rows, ns_of(l, START), ns_of(l, STOP), &slice))
        return;
    uint64_t stream = u64_of(l, STREAM);
    slice.kind = NL_KIND_KERNEL;
    slice.name = nl_stage_name(l->rows.stage, slot_text(l, NAME));
    slice.lane = gpurows_stream(&l->rows, i64_of(l, PID), i64_of(l, DEVICE), NL_NULL_I64,
                                stream > INT64_MAX ? NL_NULL_I64 : (int64_t)stream);
    kernel.slice = nl_stage_slice(l->rows.stage, &slice);
    kernel.correlation = u64_of(l, EXTERNAL);
    kernel.grid_x = u32_of(l, GRID_X);
    kernel.grid_y = u32_of(l, GRID_Y);
    kernel.grid_z = u32_of(l, GRID_Z);
    kernel.block_x = u32_of(l, BLOCK_X);
    kernel.block_y = u32_of(l, BLOCK_Y);
    kernel.block_z = u32_of(l, BLOCK_Z);
    nl_stage_kernel(l->rows.stage, &kernel);
}

/* ---- the inspector's collectives ---- */

static void add_bandwidth(struct lines *l, uint32_t slice, const char *name, enum slot slot)
{
    struct nl_metric_row metric = nl_metric_row();
    if (!csvread_f64(slot_text(l, slot), &metric.value))
        return;
    metric.slice = slice;
    metric.name = nl_stage_name(l->rows.stage, nl_str(name));
    metric.unit = nl_stage_name(l->rows.stage, nl_str("bytes/s"));
    metric.value *= 1e9;
    nl_stage_metric(l->rows.stage, &metric);
}

/* A line says how long a collective took and when the line was written, but not when it ran. */
static void add_performance(struct lines *l)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_collective_row row = nl_collective_row();
    struct nl_stage *stage = l->rows.stage;
    int64_t stop = ns_of(l, I_STAMP), length = ns_of(l, I_TIME), start;
    if (stop == NL_NULL_I64 || length < 0 || __builtin_sub_overflow(stop, length, &start))
        start = NL_NULL_I64;
    if (!gpurows_times(&l->rows, start, stop, &slice))
        return;
    uint32_t process = nl_builder_process(l->rows.builder, l->rows.source, i64_of(l, I_PID));
    if (i64_of(l, I_RANK) != NL_NULL_I64)
        nl_builder_process_rank(l->rows.builder, process, i64_of(l, I_RANK));
    slice.kind = NL_KIND_COLLECTIVE;
    slice.name = nl_stage_name(stage, slot_text(l, I_COLLECTIVE));
    slice.lane = gpurows_thread(&l->rows, NL_LANE_ASYNC, i64_of(l, I_PID), NL_NULL_I64,
                                nl_builder_name(l->rows.builder, slot_text(l, I_COMM)));
    row.slice = nl_stage_slice(stage, &slice);
    row.operation = slice.name;
    row.bytes = u64_of(l, I_BYTES);
    row.group_name =
        slot_text(l, I_COMM).len ? nl_stage_name(stage, slot_text(l, I_COMM)) : NL_NO_NAME;
    row.sequence = i64_of(l, I_SEQUENCE);
    row.ranks = u32_of(l, I_RANKS);
    nl_stage_collective(stage, &row);
    add_bandwidth(l, row.slice, "algbw", I_ALGBW);
    add_bandwidth(l, row.slice, "busbw", I_BUSBW);
    l->dumps++;
}

/* ---- the file ---- */

static void take_line(struct lines *l)
{
    struct nl_str record = slot_text(l, RECORD), type = slot_text(l, TYPE);
    l->events++;
    if (slot_text(l, I_COLLECTIVE).len) {
        l->inspector = true;
        add_performance(l);
    } else if (nl_str_is(record, "event") && type.len) {
        l->plugin = true;
        add_event(l);
    } else if (nl_str_is(record, "cuptiActivity") && nl_str_is(type, "KERNEL")) {
        l->plugin = true;
        add_kernel(l);
    } else if (nl_str_is(type, "ProfilerLifecycle")) {
        l->plugin = true;
        if (u32_of(l, RANKS) != NL_NULL_U32)
            nl_idmap_put(&l->comms, u64_of(l, COMM), u32_of(l, RANKS));
    } else if (nl_str_is(record, "state")) {
        l->states++;
    } else {
        l->others++;
    }
}

static void report_coverage(struct lines *l)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not recorded: when collectives ran", l->dumps,
         "the inspector tells how long each took; they end when it wrote its line"},
        {"not loaded: states of events", l->states, NULL},
        {"not loaded: lines of other kinds", l->others, NULL},
        {"collectives of a communicator of unknown size", l->no_ranks,
         "its first lines are not in the file"},
        {"truncated: the file ends within a line", l->json.cut, "lines before it are loaded"},
        {"skipped: lines that are not JSON", l->odd, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(l->rows.builder, l->rows.source, rows[i].item, rows[i].count,
                                rows[i].detail);
    nl_builder_tool(l->rows.builder, l->rows.source,
                    nl_str(l->inspector ? "NCCL inspector" : "NCCL profiler plug-in"));
    if (l->inspector && !l->plugin)
        nl_builder_clock(l->rows.builder, l->rows.source, "unix", 0);
    else
        nl_builder_clock(l->rows.builder, l->rows.source, "steady", NL_NULL_I64);
}

/* Goes on after a line that is not JSON; false at the end. */
static bool next_line(struct lines *l)
{
    for (;;) {
        enum jsonpull_type type = jsonpull_next(&l->json);
        if (type == JSONPULL_OBJECT)
            return true;
        if (type == JSONPULL_END || l->json.cut)
            return false;
        l->odd++;
        if (type == JSONPULL_ERROR ? !jsonpull_resume(&l->json, 0, "\n{") : false)
            return false;
        if (type != JSONPULL_ERROR)
            jsonpull_skip(&l->json);
    }
}

static bool nccljson_load(struct nl_reading *reading, struct nl_err *err)
{
    struct lines *l = nl_zalloc(sizeof *l);
    gpurows_begin(&l->rows, reading->builder, reading->source, reading->job);
    nl_buf_init(&l->text, MAX_LINE);
    jsonpull_stream(&l->json, reading->stream, JSONPULL_MANY | JSONPULL_LINES, err);
    while (!gpurows_stop(&l->rows) && next_line(l)) {
        read_line(l);
        if (!l->json.problem && !l->text.overflow)
            take_line(l);
    }
    report_coverage(l);
    bool done = err->code == NL_OK;
    if (done && nl_job_cancelled(reading->job))
        done = nl_fail(err, NL_INTERRUPTED, "interrupted");
    else if (done && l->rows.rows == 0)
        done =
            nl_fail(err, NL_FORMAT, "none of its %lld lines holds an event", (long long)l->events);
    gpurows_end(&l->rows);
    jsonpull_release(&l->json);
    nl_buf_release(&l->text);
    nl_idmap_release(&l->comms);
    nl_free(l);
    return done;
}

static int nccljson_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    if (input->head_len == 0 || input->head[0] != '{')
        return 0;
    bool events = nl_str_contains(head, "\"recordType\"") && nl_str_contains(head, "ncclProfile");
    bool inspector = nl_str_contains(head, "\"coll_perf\"") && nl_str_contains(head, "\"header\"");
    if (events || inspector)
        return 92;
    if (nl_str_contains(head, "\"inspector_output_format_version\"") ||
        nl_str_contains(head, "\"ProfilerLifecycle\"")) {
        *why = "a log of NCCL's profiler without any event";
        return NL_NEAR_MISS;
    }
    return 0;
}

const struct nl_format nl_format_nccljson = {.name = "nccl-json",
                                             .title = "JSON lines of NCCL's profiler or inspector",
                                             .sniff = nccljson_sniff,
                                             .load = nccljson_load,
                                             .feed = NL_FEED_STREAM,
                                             .doc = "formats/nccllog.md"};

/* The lists of a run document, in the order in which they refer to each other: sources, devices,
 * processes, lanes, then events on lanes. */
#include "base/utf8.h"
#include "ingest/rundoc/runjson.h"

#include "base/search.h"

#include <stdio.h>

static void add_json_row(struct runjson_rows *rows, uint32_t row)
{
    nl_grow(&rows->items, &rows->cap, rows->count + 1);
    rows->items[rows->count++] = row;
}

/* Calls `take` for every object of a list; something else counts as an empty object, so that places
 * stay what they are. */
static void each(struct runjson *load, enum runjson_part part,
                 void (*take)(struct runjson *load, struct jsonpull *reader))
{
    struct jsonpull reader;
    struct nl_str text = load->parts[part];
    if (!text.ptr)
        return;
    jsonpull_memory(&reader, text.ptr, text.len, 0);
    if (jsonpull_next(&reader) == JSONPULL_ARRAY)
        while (!runjson_stopped(load) && jsonpull_item(&reader))
            take(load, &reader);
    jsonpull_release(&reader);
}

static void read_object(struct runjson *load, struct jsonpull *reader,
                        const struct runjson_member *members, void *row)
{
    if (reader->type == JSONPULL_OBJECT) {
        runjson_read_row(load, reader, members, row);
    } else {
        load->odd++;
        jsonpull_skip(reader);
    }
}

struct source_row {
    struct nl_str name, format, tool;
    uint64_t bytes;
};

static void count_source(struct runjson *load, struct jsonpull *reader)
{
    load->source_count++;
    jsonpull_skip(reader);
}

/* The only source of a document is the document itself: it needs no second row. */
static uint32_t new_source(struct runjson *load, const struct source_row *row)
{
    if (load->source_count == 1)
        return load->source;
    uint32_t source = nl_builder_source(load->builder, row->name.len ? row->name.ptr : "unknown",
                                        row->format.len ? row->format.ptr : "unknown");
    if (row->tool.len)
        nl_builder_tool(load->builder, source, row->tool);
    if (row->bytes != NL_NULL_U64)
        nl_builder_source_bytes(load->builder, source, row->bytes);
    return source;
}

static void take_source(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_MEMBER("name", TEXT, source_row, name),
        RUNJSON_NOT_READ("sha256"),
        RUNJSON_MEMBER("bytes", U64, source_row, bytes),
        RUNJSON_MEMBER("format", TEXT, source_row, format),
        RUNJSON_MEMBER("tool", TEXT, source_row, tool),
        RUNJSON_NOT_READ("clock"),
        RUNJSON_NOT_READ("epoch_ns"),
        RUNJSON_NOT_READ("rank"),
        RUNJSON_END};
    static const char *const per_process[] = {"nsys", "nsys-rep", "rocpd", "rocprofv3"};
    struct source_row row = {.bytes = NL_NULL_U64};
    read_object(load, reader, members, &row);
    uint32_t source = new_source(load, &row);
    for (size_t i = 0; i < sizeof per_process / sizeof per_process[0]; i++)
        if (nl_str_is(row.format, per_process[i]))
            nl_builder_correlation_per_process(load->builder, source);
    add_json_row(&load->sources, source);
}

/* The source at a place; the document itself if it names none. */
static uint32_t source_at(const struct runjson *load, int64_t place)
{
    uint32_t source = runjson_row(&load->sources, place);
    return source == NL_NULL_ROW ? load->source : source;
}

struct device_row {
    int64_t rank, ordinal, source;
    struct nl_str name, vendor, capability, uuid, bus;
    uint32_t sm_count, max_warps_per_sm, warp_size;
    uint64_t memory_bytes, memory_bytes_per_s, clock_hz;
};

static void fill_device(struct runjson *load, struct nl_device_row *device,
                        const struct device_row *row)
{
    unsigned major, minor;
    device->rank = row->rank;
    device->name = nl_builder_name(load->builder, row->name);
    device->vendor = nl_builder_name(load->builder, row->vendor);
    device->uuid = nl_builder_name(load->builder, row->uuid);
    device->bus = nl_builder_name(load->builder, row->bus);
    device->sm_count = row->sm_count;
    device->max_warps_per_sm = row->max_warps_per_sm;
    device->warp_size = row->warp_size;
    device->memory_bytes = row->memory_bytes;
    device->bandwidth_bytes_per_s = row->memory_bytes_per_s;
    device->clock_hz = row->clock_hz;
    if (row->capability.len && sscanf(row->capability.ptr, "%3u.%3u", &major, &minor) == 2) {
        device->compute_major = major;
        device->compute_minor = minor;
    }
}

static void take_device(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_MEMBER("rank", I64, device_row, rank),
        RUNJSON_MEMBER("ordinal", I64, device_row, ordinal),
        RUNJSON_MEMBER("name", TEXT, device_row, name),
        RUNJSON_MEMBER("vendor", TEXT, device_row, vendor),
        RUNJSON_MEMBER("sm_count", U32, device_row, sm_count),
        RUNJSON_MEMBER("memory_bytes", U64, device_row, memory_bytes),
        RUNJSON_MEMBER("memory_bytes_per_s", U64, device_row, memory_bytes_per_s),
        RUNJSON_MEMBER("clock_hz", U64, device_row, clock_hz),
        RUNJSON_MEMBER("compute_capability", TEXT, device_row, capability),
        RUNJSON_MEMBER("max_warps_per_sm", U32, device_row, max_warps_per_sm),
        RUNJSON_MEMBER("warp_size", U32, device_row, warp_size),
        RUNJSON_MEMBER("uuid", TEXT, device_row, uuid),
        RUNJSON_MEMBER("bus", TEXT, device_row, bus),
        RUNJSON_MEMBER("source", I64, device_row, source),
        RUNJSON_END};
    struct device_row row = {.rank = NL_NULL_I64,
                             .ordinal = NL_NULL_I64,
                             .source = NL_NULL_I64,
                             .sm_count = NL_NULL_U32,
                             .max_warps_per_sm = NL_NULL_U32,
                             .warp_size = NL_NULL_U32,
                             .memory_bytes = NL_NULL_U64,
                             .memory_bytes_per_s = NL_NULL_U64,
                             .clock_hz = NL_NULL_U64};
    read_object(load, reader, members, &row);
    uint32_t device = nl_builder_device(load->builder, source_at(load, row.source),
                                        (int64_t)load->devices.count, row.ordinal);
    fill_device(load, nl_builder_device_row(load->builder, device), &row);
    add_json_row(&load->devices, device);
}

struct process_row {
    int64_t rank, pid, source;
    struct nl_str name, label;
};

static void take_process(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_MEMBER("rank", I64, process_row, rank),
        RUNJSON_MEMBER("pid", I64, process_row, pid),
        RUNJSON_MEMBER("name", TEXT, process_row, name),
        RUNJSON_MEMBER("label", TEXT, process_row, label),
        RUNJSON_MEMBER("source", I64, process_row, source),
        RUNJSON_END};
    struct process_row row = {.rank = NL_NULL_I64, .pid = NL_NULL_I64, .source = NL_NULL_I64};
    read_object(load, reader, members, &row);
    uint32_t process = nl_builder_process(load->builder, source_at(load, row.source), row.pid);
    if (row.rank != NL_NULL_I64)
        nl_builder_process_rank(load->builder, process, row.rank);
    if (row.name.len)
        nl_builder_process_name(load->builder, process, row.name);
    if (row.label.len)
        nl_builder_process_label(load->builder, process, row.label);
    nl_grow(&load->ranks, &load->rank_cap, load->processes.count + 1);
    load->ranks[load->processes.count] = row.rank;
    add_json_row(&load->processes, process);
}

struct lane_row {
    uint8_t kind;
    struct nl_str name, thread_name, domain;
    int64_t process, tid, device, context, stream;
};

static void take_lane(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        {"kind", RUNJSON_ENUM, offsetof(struct lane_row, kind), NL_ENUM_lanekind, NULL},
        RUNJSON_MEMBER("name", TEXT, lane_row, name),
        RUNJSON_MEMBER("process", I64, lane_row, process),
        RUNJSON_MEMBER("tid", I64, lane_row, tid),
        RUNJSON_MEMBER("thread_name", TEXT, lane_row, thread_name),
        RUNJSON_MEMBER("device", I64, lane_row, device),
        RUNJSON_MEMBER("context", I64, lane_row, context),
        RUNJSON_MEMBER("stream", I64, lane_row, stream),
        RUNJSON_MEMBER("domain", TEXT, lane_row, domain),
        RUNJSON_END};
    struct lane_row row = {.process = NL_NULL_I64,
                           .tid = NL_NULL_I64,
                           .device = NL_NULL_I64,
                           .context = NL_NULL_I64,
                           .stream = NL_NULL_I64};
    read_object(load, reader, members, &row);
    struct nl_lane_key key = {.kind = row.kind,
                              .process = runjson_row(&load->processes, row.process),
                              .thread = NL_NULL_ROW,
                              .device = runjson_row(&load->devices, row.device),
                              .context = row.context,
                              .stream = row.stream,
                              .domain = nl_builder_name(load->builder, row.domain)};
    if (row.tid != NL_NULL_I64 && key.process != NL_NULL_ROW) {
        key.thread = nl_builder_thread(load->builder, key.process, row.tid);
        if (row.thread_name.len)
            nl_builder_thread_name(load->builder, key.thread, row.thread_name);
    }
    uint32_t lane = nl_builder_lane(load->builder, &key);
    if (row.name.len)
        nl_builder_lane_name(load->builder, lane, row.name);
    add_json_row(&load->lanes, lane);
    if (key.process == NL_NULL_ROW)
        return;
    nl_grow(&load->rank_lanes, &load->rank_lane_cap, load->rank_lane_count + 1);
    load->rank_lanes[load->rank_lane_count++] =
        (struct nl_keyed){nl_sort_key(load->ranks[row.process]), lane};
}

/* ---- steps: only those that the program marked are facts; others are found again ---- */

/* Makes lane_of_rank a search: a document may have many ranks. */
static void sort_lanes(struct runjson *load)
{
    size_t count = load->rank_lane_count;
    struct nl_keyed *scratch = nl_alloc((count + 1) * sizeof *scratch);
    nl_sort_keyed(load->rank_lanes, scratch, count);
    nl_free(scratch);
}

/* A lane of the rank, for the rows of its steps. */
static uint32_t lane_of_rank(const struct runjson *load, int64_t rank)
{
    uint64_t key = nl_sort_key(rank);
    size_t low = NL_FIRST(i, 0, load->rank_lane_count, load->rank_lanes[i].key >= key);
    bool found = low < load->rank_lane_count && load->rank_lanes[low].key == key;
    return found ? load->rank_lanes[low].row : NL_NULL_ROW;
}

static void take_steps_of(struct runjson *load, struct nl_str items, int64_t rank)
{
    static const struct runjson_member members[] = {
        {"index", RUNJSON_I64, offsetof(struct nl_step_row, index), 0, NULL},
        {"name", RUNJSON_NAME, offsetof(struct nl_step_row, name), 0, NULL},
        {"start_ns", RUNJSON_I64, offsetof(struct nl_step_row, ts), 0, NULL},
        {"dur_ns", RUNJSON_I64, offsetof(struct nl_step_row, dur), 0, NULL},
        RUNJSON_NOT_READ("phase"),
        RUNJSON_END};
    struct jsonpull reader;
    uint32_t lane = lane_of_rank(load, rank);
    jsonpull_memory(&reader, items.ptr, items.len, 0);
    if (jsonpull_next(&reader) == JSONPULL_ARRAY)
        while (!runjson_stopped(load) && jsonpull_item(&reader)) {
            struct nl_step_row row = nl_step_row();
            read_object(load, &reader, members, &row);
            row.lane = lane;
            if (row.ts == NL_NULL_I64 || row.dur == NL_NULL_I64 || row.dur < 0 ||
                __builtin_add_overflow(row.ts, load->origin, &row.ts) ||
                row.ts <= -RUNJSON_MAX_TIME || row.ts >= RUNJSON_MAX_TIME ||
                row.dur >= RUNJSON_MAX_TIME)
                load->skipped++;
            else
                nl_stage_step(load->stage, &row);
        }
    jsonpull_release(&reader);
}

static void take_group(struct runjson *load, struct jsonpull *reader)
{
    int64_t rank = NL_NULL_I64;
    bool marked = false;
    struct nl_str items = {NULL, 0};
    if (reader->type != JSONPULL_OBJECT) {
        jsonpull_skip(reader);
        return;
    }
    while (jsonpull_member(reader)) {
        if (nl_str_is(reader->text, "rank")) {
            jsonpull_next(reader);
            (void)jsonpull_i64(reader, &rank);
            jsonpull_skip(reader);
        } else if (nl_str_is(reader->text, "method")) {
            marked = jsonpull_next(reader) == JSONPULL_STRING && nl_str_is(reader->text, "marked");
            jsonpull_skip(reader);
        } else if (!nl_str_is(reader->text, "items") || !jsonpull_raw(reader, &items)) {
            jsonpull_skip(reader);
        }
    }
    if (marked && items.ptr)
        take_steps_of(load, items, rank);
}

/* ---- nodes that are known without single times ---- */

static void take_node(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_MEMBER("name", NAME, nl_node_row, name),
        RUNJSON_MEMBER("type", NAME, nl_node_row, type),
        RUNJSON_MEMBER("provider", NAME, nl_node_row, provider),
        RUNJSON_MEMBER("precision", NAME, nl_node_row, precision),
        RUNJSON_MEMBER("tactic", NAME, nl_node_row, tactic),
        RUNJSON_MEMBER("input_shapes", NAME, nl_node_row, input_shapes),
        RUNJSON_MEMBER("output_shapes", NAME, nl_node_row, output_shapes),
        RUNJSON_MEMBER("count", I64, nl_node_row, count),
        RUNJSON_MEMBER("total_ns", I64, nl_node_row, total_ns),
        RUNJSON_MEMBER("mean_ns", I64, nl_node_row, mean_ns),
        RUNJSON_MEMBER("median_ns", I64, nl_node_row, median_ns),
        RUNJSON_END};
    struct nl_node_row row = nl_node_row();
    read_object(load, reader, members, &row);
    row.source = load->source;
    nl_stage_node(load->stage, &row);
}

/* ---- what a joined report measured ---- */

/* A profile's own measurements follow from the counters of its events, as they did before. */
static void take_measurement(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_NOT_READ("name"),
        RUNJSON_MEMBER("measured_name", NAME, nl_measurement_row, measured_name),
        RUNJSON_MEMBER("launches", I64, nl_measurement_row, launches),
        RUNJSON_MEMBER("measured", I64, nl_measurement_row, measured),
        RUNJSON_MEMBER("measured_ns", F64, nl_measurement_row, measured_ns),
        RUNJSON_MEMBER("achieved_occupancy_share", F64, nl_measurement_row, achieved_occupancy),
        RUNJSON_MEMBER("warp_efficiency_share", F64, nl_measurement_row, warp_efficiency),
        RUNJSON_MEMBER("l2_hit_share", F64, nl_measurement_row, l2_hit_rate),
        RUNJSON_MEMBER("dram_bytes_per_s", F64, nl_measurement_row, dram_bytes_per_s),
        RUNJSON_MEMBER("sm_throughput_share", F64, nl_measurement_row, sm_throughput),
        RUNJSON_MEMBER("memory_throughput_share", F64, nl_measurement_row, memory_throughput),
        RUNJSON_MEMBER("dram_throughput_share", F64, nl_measurement_row, dram_throughput),
        RUNJSON_MEMBER("source", U32, nl_measurement_row, source),
        {"counters", RUNJSON_COUNTERS, 0, 0, NULL},
        RUNJSON_END};
    struct nl_measurement_row row = nl_measurement_row();
    load->metric_count = 0;
    read_object(load, reader, members, &row);
    if (row.source == NL_NULL_ROW) {
        add_json_row(&load->measurements, NL_NULL_ROW);
        return;
    }
    row.source = source_at(load, row.source);
    uint32_t place = load->measured++;
    add_json_row(&load->measurements, place);
    nl_stage_measurement(load->stage, &row);
    for (size_t i = 0; i < load->metric_count; i++) {
        load->metrics[i].measurement = place;
        nl_stage_metric(load->stage, &load->metrics[i]);
    }
}

/* ---- coverage ---- */

struct count_row {
    struct nl_str kind, part;
    int64_t total, listed;
};

static void take_count(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_MEMBER("kind", TEXT, count_row, kind),
        RUNJSON_MEMBER("part", TEXT, count_row, part),
        RUNJSON_MEMBER("total", I64, count_row, total),
        RUNJSON_MEMBER("listed", I64, count_row, listed), RUNJSON_END};
    struct count_row row = {0};
    char item[128];
    read_object(load, reader, members, &row);
    struct nl_str what = row.kind.len ? row.kind : row.part.len ? row.part : nl_str("events");
    if (load->covered++ >= RUNJSON_MAX_COVERAGE || row.listed < 0 || row.total <= row.listed)
        return;
    snprintf(item, sizeof item, "not in the run document: %.*s", NL_UP_TO(60, what));
    nl_builder_coverage(load->builder, load->source, item, row.total - row.listed,
                        row.part.len ? "the document holds sums of them, or nothing"
                                     : "its timeline was cut; export with --events all");
}

struct item_row {
    struct nl_str item, detail;
    int64_t count, source;
};

static void take_item(struct runjson *load, struct jsonpull *reader)
{
    static const struct runjson_member members[] = {
        RUNJSON_MEMBER("item", TEXT, item_row, item), RUNJSON_MEMBER("count", I64, item_row, count),
        RUNJSON_MEMBER("detail", TEXT, item_row, detail),
        RUNJSON_MEMBER("source", I64, item_row, source), RUNJSON_END};
    struct item_row row = {.source = NL_NULL_I64};
    struct nl_buf item;
    read_object(load, reader, members, &row);
    if (load->covered++ >= RUNJSON_MAX_COVERAGE)
        return;
    bool again = row.source == NL_NULL_I64; /* said by finishing, which finishes again */
    if (!row.item.len || (again && load->complete))
        return;
    nl_buf_init(&item, 1024);
    nl_buf_format(&item, "%s%s", again ? "when exported: " : "", row.item.ptr);
    if (!item.overflow)
        nl_builder_coverage(load->builder, source_at(load, row.source), item.ptr, row.count,
                            row.detail.len ? row.detail.ptr : NULL);
    nl_buf_release(&item);
}

void runjson_read_lists(struct runjson *load)
{
    each(load, RUNJSON_SOURCES, count_source);
    each(load, RUNJSON_SOURCES, take_source);
    each(load, RUNJSON_DEVICES, take_device);
    each(load, RUNJSON_PROCESSES, take_process);
    each(load, RUNJSON_LANES, take_lane);
    sort_lanes(load);
    each(load, RUNJSON_STEPS, take_group);
    each(load, RUNJSON_NODES, take_node);
    each(load, RUNJSON_MEASUREMENTS, take_measurement);
    each(load, RUNJSON_KINDS, take_count);
    each(load, RUNJSON_TABLES, take_count);
    each(load, RUNJSON_ITEMS, take_item);
}

/*
 * Records are nested objects of numbers; a record is flattened by the pair (key, key of the object
 * around it), without recursion, and given to the function of its section.
 */
#include "base/utf8.h"
#include "ingest/amd/rocjson.h"

#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"

#define NESTING      8
#define MAX_COUNTERS 65536

/* ---- Records ---- */

static const struct {
    const char *around, *key; /* around "": whatever it is */
    size_t at;
} fields[] = {
#define FIELD(around, key, member)                                                                 \
    {                                                                                              \
        around, key, offsetof(struct rocjson_record, member)                                       \
    }
    FIELD("", "kind", kind),
    FIELD("", "operation", operation),
    FIELD("", "thread_id", thread),
    FIELD("correlation_id", "internal", correlation),
    FIELD("", "start_timestamp", start),
    FIELD("", "end_timestamp", end),
    FIELD("agent_id", "handle", agent),
    FIELD("src_agent_id", "handle", from),
    FIELD("dst_agent_id", "handle", to),
    FIELD("queue_id", "handle", queue),
    FIELD("stream_id", "handle", stream),
    FIELD("", "kernel_id", symbol),
    FIELD("", "dispatch_id", dispatch),
    FIELD("", "group_segment_size", shared),
    FIELD("workgroup_size", "x", block[0]),
    FIELD("workgroup_size", "y", block[1]),
    FIELD("workgroup_size", "z", block[2]),
    FIELD("grid_size", "x", grid[0]),
    FIELD("grid_size", "y", grid[1]),
    FIELD("grid_size", "z", grid[2]),
    FIELD("", "bytes", bytes),
    FIELD("", "allocation_size", size),
    FIELD("", "address", address),
    FIELD("", "arch_vgpr_count", vgprs),
#undef FIELD
};
#define FIELDS (sizeof fields / sizeof fields[0])

/* Keys that only name objects. */
static const char *const around_words[] = {
    "correlation_id", "agent_id",  "src_agent_id", "dst_agent_id", "queue_id",       "stream_id",
    "workgroup_size", "grid_size", "counter_id",   "address",      "allocation_size"};

enum { KEY_OTHER = -1, KEY_HANDLE = 100, KEY_VALUE, KEY_AROUND = 200 };

/* A key as a number: place in around_words + KEY_AROUND, or a leaf's first place in fields. */
static int key_of(struct nl_str text)
{
    if (nl_str_is(text, "handle"))
        return KEY_HANDLE;
    if (nl_str_is(text, "value") || nl_str_is(text, "counter_value"))
        return KEY_VALUE;
    for (size_t i = 0; i < sizeof around_words / sizeof around_words[0]; i++)
        if (nl_str_is(text, around_words[i]))
            return KEY_AROUND + (int)i;
    for (size_t i = 0; i < FIELDS; i++)
        if (nl_str_is(text, fields[i].key))
            return (int)i;
    return KEY_OTHER;
}

static const char *around_of(int key)
{
    return key >= KEY_AROUND ? around_words[key - KEY_AROUND] : "";
}

static void take_sample(struct rocjson *load)
{
    struct rocjson_sample sample = {.counter = load->counter};
    if (load->counter == NL_NULL_U64 || load->sample_count >= MAX_COUNTERS ||
        !jsonpull_f64(&load->reader, &sample.value))
        return;
    nl_grow(&load->samples, &load->sample_cap, load->sample_count + 1);
    load->samples[load->sample_count++] = sample;
}

static bool is_field(size_t i, const char *around, int key)
{
    bool named = key == KEY_HANDLE
                     ? strcmp(fields[i].key, "handle") == 0
                     : key < (int)FIELDS && key >= 0 && strcmp(fields[i].key, fields[key].key) == 0;
    return named && (!fields[i].around[0] || strcmp(fields[i].around, around) == 0);
}

/* A number at `key` inside the object at key `outer`. */
static void take_leaf(struct rocjson *load, int outer, int key)
{
    const char *around = around_of(outer);
    int64_t value;
    if (key == KEY_VALUE && strcmp(around, "address") == 0)
        (void)jsonpull_i64(&load->reader, &load->record.address);
    else if (key == KEY_VALUE)
        take_sample(load);
    else if (key >= KEY_AROUND && strcmp(around_of(key), "address") == 0)
        (void)jsonpull_i64(&load->reader, &load->record.address);
    else if (key >= KEY_AROUND && strcmp(around_of(key), "allocation_size") == 0)
        (void)jsonpull_i64(&load->reader, &load->record.size);
    else if (key == KEY_HANDLE && strcmp(around, "counter_id") == 0 &&
             jsonpull_i64(&load->reader, &value))
        load->counter = (uint64_t)value;
    for (size_t i = 0; i < FIELDS; i++)
        if (is_field(i, around, key)) {
            (void)jsonpull_i64(&load->reader,
                               (int64_t *)(void *)((char *)&load->record + fields[i].at));
            return;
        }
}

static void forget_record(struct rocjson *load)
{
    int64_t *values = (int64_t *)(void *)&load->record;
    for (size_t i = 0; i < sizeof load->record / sizeof *values; i++)
        values[i] = NL_NULL_I64;
    load->sample_count = 0;
    load->counter = NL_NULL_U64;
}

/* Reads the rest of the object just entered into load->record. */
static void read_record(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    unsigned outside = reader->depth - 1;
    int keys[NESTING] = {KEY_OTHER};
    int outer[NESTING] = {KEY_OTHER}; /* key of the object at this level */
    forget_record(load);
    while (reader->depth > outside) {
        enum jsonpull_type type = jsonpull_next(reader);
        unsigned level = reader->depth - outside;
        if (type == JSONPULL_ERROR || type == JSONPULL_END)
            return;
        if (level >= NESTING)
            continue;
        if (type == JSONPULL_KEY)
            keys[level] = key_of(reader->text);
        else if ((type == JSONPULL_OBJECT || type == JSONPULL_ARRAY) && level > 1)
            outer[level] = keys[level - 1], keys[level] = KEY_OTHER;
        else if (type == JSONPULL_NUMBER)
            take_leaf(load, outer[level], keys[level]);
    }
}

/* ---- What becomes of them ---- */

static uint32_t word_of(struct rocjson *load, int64_t kind, int64_t operation)
{
    if (kind < 0 || operation < 0 || operation >= 0xffff || kind > 0xffff)
        return NL_NO_NAME;
    const uint64_t *name =
        gpurows_map_find(&load->words, (uint64_t)kind << 16 | (uint64_t)operation);
    load->unknown_names += !name;
    return name ? (uint32_t)*name : NL_NO_NAME;
}

static uint64_t correlation_of(const struct rocjson_record *record)
{
    return record->correlation > 0 ? (uint64_t)record->correlation : NL_NULL_U64;
}

static bool begin_slice(struct rocjson *load, struct nl_slice_row *slice)
{
    *slice = nl_slice_row();
    return gpurows_times(&load->rows, load->record.start, load->record.end, slice);
}

static uint32_t device_lane(struct rocjson *load, int64_t agent)
{
    const struct rocjson_record *record = &load->record;
    return gpurows_stream(&load->rows, load->pid, agent, NL_NULL_I64,
                          record->stream == NL_NULL_I64 ? record->queue : record->stream);
}

static void kernel_name(struct rocjson *load, struct nl_slice_row *slice)
{
    const uint64_t *name = load->record.symbol < 0
                               ? NULL
                               : gpurows_map_find(&load->symbols, (uint64_t)load->record.symbol);
    load->unknown_names += !name;
    slice->name = name ? (uint32_t)*name : NL_NO_NAME;
}

static uint32_t stage_kernel(struct rocjson *load)
{
    const struct rocjson_record *record = &load->record;
    struct nl_slice_row slice;
    struct nl_kernel_row kernel = nl_kernel_row();
    uint32_t grid[3], block[3];
    if (!begin_slice(load, &slice))
        return NL_NULL_ROW;
    for (int i = 0; i < 3; i++) {
        grid[i] = gpurows_u32(record->grid[i]);
        block[i] = gpurows_u32(record->block[i]);
    }
    kernel_name(load, &slice);
    slice.kind = NL_KIND_KERNEL;
    slice.lane = device_lane(load, record->agent);
    kernel.slice = nl_stage_slice(load->rows.stage, &slice);
    kernel.correlation = correlation_of(record);
    kernel.static_shared_bytes = gpurows_u32(record->shared);
    kernel.registers = gpurows_u32(record->vgprs);
    gpurows_work_items(&kernel, grid, block);
    nl_stage_kernel(load->rows.stage, &kernel);
    return kernel.slice;
}

/* Counters come with their dispatch, before the kernel trace that repeats it. */
static void take_counted(struct rocjson *load)
{
    uint32_t slice = stage_kernel(load);
    if (slice == NL_NULL_ROW)
        return;
    if (load->record.dispatch >= 0)
        (void)gpurows_map_put(&load->dispatches, (uint64_t)load->record.dispatch, slice, NULL);
    for (size_t i = 0; i < load->sample_count; i++) {
        const uint64_t *name = gpurows_map_find(&load->counters, load->samples[i].counter);
        struct nl_metric_row metric = nl_metric_row();
        metric.slice = slice;
        metric.value = load->samples[i].value;
        metric.name = name ? (uint32_t)*name : NL_NO_NAME;
        load->unknown_names += !name;
        nl_stage_metric(load->rows.stage, &metric);
    }
}

static void take_kernel(struct rocjson *load)
{
    if (load->record.dispatch >= 0 &&
        gpurows_map_find(&load->dispatches, (uint64_t)load->record.dispatch))
        load->twice++;
    else
        (void)stage_kernel(load);
}

static void take_copy(struct rocjson *load)
{
    const struct rocjson_record *record = &load->record;
    struct nl_slice_row slice;
    struct nl_copy_row copy = nl_copy_row();
    /* Operations in the order of rocprofiler-sdk. */
    static const uint8_t kinds[] = {NL_COPY_UNKNOWN, NL_COPY_HTOH, NL_COPY_HTOD, NL_COPY_DTOH,
                                    NL_COPY_DTOD};
    if (!begin_slice(load, &slice))
        return;
    if (record->operation >= 0 && record->operation < (int64_t)sizeof kinds)
        copy.kind = kinds[record->operation];
    slice.kind = NL_KIND_MEMCPY;
    slice.name = word_of(load, record->kind, record->operation);
    slice.lane = device_lane(load, copy.kind == NL_COPY_HTOD ? record->to : record->from);
    copy.slice = nl_stage_slice(load->rows.stage, &slice);
    copy.bytes = record->bytes < 0 ? NL_NULL_U64 : (uint64_t)record->bytes;
    copy.correlation = correlation_of(record);
    if (copy.kind == NL_COPY_DTOD) {
        copy.src_device = gpurows_ordinal(&load->rows, record->from);
        copy.dst_device = gpurows_ordinal(&load->rows, record->to);
    }
    nl_stage_copy(load->rows.stage, &copy);
}

static void take_allocation(struct rocjson *load)
{
    const struct rocjson_record *record = &load->record;
    struct nl_slice_row when = nl_slice_row();
    struct nl_memory_row row = nl_memory_row();
    if (!gpurows_times(&load->rows, record->start, record->start, &when))
        return;
    row.ts = when.ts;
    row.lane = gpurows_thread(&load->rows, NL_LANE_THREAD, load->pid, record->thread, 0);
    row.device = gpurows_ordinal(&load->rows, record->agent);
    if (record->address > 0)
        row.address = (uint64_t)record->address;
    /* Operations: 1 allocate, 2 the same of virtual memory, 3 free, 4 the
     * same of virtual memory. */
    bool is_virtual = record->operation == 2 || record->operation == 4;
    gpurows_allocation(&load->rows, &row, record->size, record->operation >= 3);
    row.kind = nl_stage_name(load->rows.stage, nl_str(is_virtual ? "VIRTUAL" : "REAL"));
    nl_stage_memory(load->rows.stage, &row);
}

static void take_scratch(struct rocjson *load)
{
    struct nl_slice_row slice;
    if (!begin_slice(load, &slice))
        return;
    slice.kind = NL_KIND_DEVICE_OTHER;
    slice.name = word_of(load, load->record.kind, load->record.operation);
    slice.lane = device_lane(load, load->record.agent);
    (void)nl_stage_slice(load->rows.stage, &slice);
}

static void take_api(struct rocjson *load)
{
    const struct rocjson_record *record = &load->record;
    struct nl_slice_row slice;
    struct nl_api_row api = nl_api_row();
    if (!begin_slice(load, &slice))
        return;
    slice.kind = NL_KIND_API;
    slice.name = word_of(load, record->kind, record->operation);
    slice.lane = gpurows_thread(&load->rows, NL_LANE_THREAD, load->pid, record->thread, 0);
    api.slice = nl_stage_slice(load->rows.stage, &slice);
    api.correlation = correlation_of(record);
    nl_stage_api(load->rows.stage, &api);
}

static void take_library(struct rocjson *load)
{
    struct nl_slice_row slice;
    if (!begin_slice(load, &slice))
        return;
    slice.kind = NL_KIND_LIBRARY;
    slice.name = word_of(load, load->record.kind, load->record.operation);
    slice.lane = gpurows_thread(&load->rows, NL_LANE_THREAD, load->pid, load->record.thread, 0);
    (void)nl_stage_slice(load->rows.stage, &slice);
}

static void take_marker(struct rocjson *load)
{
    const struct rocjson_record *record = &load->record;
    struct nl_slice_row slice;
    struct nl_nvtx_row range = nl_nvtx_row();
    if (!begin_slice(load, &slice))
        return;
    const uint64_t *message =
        record->correlation < 0 ? NULL
                                : gpurows_map_find(&load->messages, (uint64_t)record->correlation);
    bool mark = slice.dur == 0;
    range.domain = nl_builder_name(load->rows.builder, nl_str("roctx"));
    range.style = mark ? NL_RANGE_MARK : NL_RANGE_PUSH_POP;
    slice.kind = NL_KIND_NVTX;
    slice.flags |= mark ? NL_SLICE_INSTANT : 0;
    slice.name = message ? (uint32_t)*message : word_of(load, record->kind, record->operation);
    slice.lane = gpurows_thread(&load->rows, NL_LANE_NVTX, load->pid, record->thread, range.domain);
    range.slice = nl_stage_slice(load->rows.stage, &slice);
    nl_stage_nvtx(load->rows.stage, &range);
}

static const struct section {
    const char *name;
    void (*take)(struct rocjson *load);
} sections[] = {
    {"kernel_dispatch", take_kernel},
    {"counter_collection", take_counted},
    {"memory_copy", take_copy},
    {"memory_allocation", take_allocation},
    {"scratch_memory", take_scratch},
    {"hip_api", take_api},
    {"hsa_api", take_api},
    {"marker_api", take_marker},
    {"rccl_api", take_library},
    {"rocdecode_api", take_library},
    {"rocjpeg_api", take_library},
};

static const struct section *section_of(struct nl_str name)
{
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (nl_str_is(name, sections[i].name))
            return &sections[i];
    return NULL;
}

/* { "kernel_dispatch": [ {record}, … ], … } */
void rocjson_sections(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    while (jsonpull_member(reader)) {
        const struct section *section = section_of(reader->text);
        char item[96];
        (void)snprintf(item, sizeof item, "not loaded: %.*s", NL_UP_TO(64, reader->text));
        int64_t left_out = 0;
        uint32_t count = 0;
        if (jsonpull_next(reader) != JSONPULL_ARRAY) {
            jsonpull_skip(reader);
            continue;
        }
        while (jsonpull_item(reader)) {
            if ((++count & 4095) == 0 && gpurows_stop(&load->rows))
                return;
            if (!section || reader->type != JSONPULL_OBJECT) {
                left_out++;
                jsonpull_skip(reader);
                continue;
            }
            read_record(load);
            section->take(load);
        }
        if (left_out > 0)
            nl_builder_coverage(load->rows.builder, load->rows.source, item, left_out,
                                "records that this reader does not use");
    }
}

/*
 * Memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot).
 *
 * The trace of a device is a ring: it may begin with frees of what it never saw allocated. The
 * total after each event is therefore counted backwards from the end, where the segments show what
 * was active.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "ingest/torch/picklewatch.h"
#include "ingest/torch/pickle.h"
#include "ingest/ingest.h"
#include "ingest/lib/wholefile.h"
#include "ingest/torch/torchstack.h"
#include "ingest/lib/wholefile.h"

#define MAX_OPEN 256

/* What an event says. */
enum event_field { EV_ACTION, EV_ADDRESS, EV_SIZE, EV_TIME, EV_FRAMES, EV_FIELDS };
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
static const struct nl_str event_keys[EV_FIELDS] = {TEXT("action"), TEXT("addr"), TEXT("size"),
                                                    TEXT("time_us"), TEXT("frames")};

/* What an action does to the two totals: 1 adds its size, -1 takes it away. */
static const struct action {
    const char *name;
    int allocated, reserved;
} actions[] = {
    {"alloc", 1, 0},       {"free_completed", -1, 0}, {"segment_alloc", 0, 1},
    {"segment_map", 0, 1}, {"segment_free", 0, -1},   {"segment_unmap", 0, -1},
};

/* An action by its value in the pickle, which holds equal texts once. */
struct known_action {
    uint64_t bits; /* all ones = none */
    const struct action *action;
    uint32_t name;
};
#define KNOWN_ACTIONS 16

/* Of an event, what is kept until the totals before the first one are known. */
struct event {
    uint64_t address;
    int64_t us, size;
    uint32_t action; /* name; 0: it makes no sense */
    uint32_t stack;
    int8_t allocated, reserved;
};

struct trace {
    struct event *events;
    size_t count, cap;
};
#define MAX_TRACES 1024

struct annotation {
    struct nl_str name;
    int64_t device, ts;
};

struct snapshot {
    struct pickle *pickle;
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source, process, blocks_kind, segments_kind;
    struct torchstack stacks;
    struct pickle_layout layout; /* of events */
    struct known_action actions[KNOWN_ACTIONS];
    struct trace *traces; /* by device */
    size_t trace_count, trace_cap;
    int64_t last_ts, events, untimed, odd, inactive, unpaired;
    bool stopped;
};

static struct pickle_value get(const struct snapshot *s, struct pickle_value dict, const char *key)
{
    return pickle_get(s->pickle, dict, key);
}

static int64_t i64_of(const struct snapshot *s, struct pickle_value dict, const char *key)
{
    return pickle_i64(s->pickle, get(s, dict, key));
}

static struct nl_str member_text(const struct snapshot *s, struct pickle_value dict,
                                 const char *key)
{
    return pickle_text(s->pickle, get(s, dict, key));
}

static bool go_on(struct snapshot *s, uint64_t cost)
{
    if (!s->stopped && (nl_builder_over_budget(s->builder) || !pickle_spend(s->pickle, cost) ||
                        nl_job_cancelled(s->job)))
        s->stopped = true;
    return !s->stopped;
}

static uint32_t stack_of(struct snapshot *s, struct pickle_value frames)
{
    return s->stopped ? NL_NULL_ROW : torchstack_row(&s->stacks, frames, &s->stopped);
}

/* ---- events ---- */

static uint32_t device_lane(struct snapshot *s, int64_t device, enum nl_lanekind kind)
{
    struct nl_lane_key key = {.kind = kind,
                              .process = s->process,
                              .thread = NL_NULL_ROW,
                              .device = nl_builder_device(s->builder, s->source, device, device),
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    return nl_builder_lane(s->builder, &key);
}

static const struct action *action_called(struct nl_str name)
{
    static const struct action other = {"", 0, 0};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (nl_str_is(name, actions[i].name))
            return &actions[i];
    return &other;
}

static const struct known_action *action_of(struct snapshot *s, struct pickle_value value)
{
    struct known_action *known = &s->actions[(value.bits >> 4) % KNOWN_ACTIONS];
    if (known->bits != value.bits) {
        struct nl_str name = pickle_text(s->pickle, value);
        *known =
            (struct known_action){value.bits, action_called(name), nl_stage_name(s->stage, name)};
    }
    return known;
}

struct totals {
    int64_t allocated, reserved; /* NL_NULL_I64 unknown */
};

/* What the segments of a device hold at the end. */
static struct totals totals_at_end(struct snapshot *s, struct pickle_value segments, int64_t device)
{
    struct totals totals = {NL_NULL_I64, NL_NULL_I64};
    for (uint32_t i = 0; i < pickle_count(s->pickle, segments); i++) {
        struct pickle_value segment = pickle_item(s->pickle, segments, i);
        int64_t active = i64_of(s, segment, "active_size");
        int64_t all = i64_of(s, segment, "total_size");
        if (i64_of(s, segment, "device") != device || active < 0 || all < 0)
            continue;
        if (totals.allocated == NL_NULL_I64)
            totals = (struct totals){0, 0};
        if (active < INT64_MAX / 2 - totals.allocated)
            totals.allocated += active;
        if (all < INT64_MAX / 2 - totals.reserved)
            totals.reserved += all;
    }
    return totals;
}

static int64_t size_of(const struct snapshot *s, struct pickle_value value)
{
    int64_t size = pickle_i64(s->pickle, value);
    return size >= 0 && size < (int64_t)1 << 56 ? size : NL_NULL_I64;
}

static void add_total(int64_t *total, int64_t bytes)
{
    int64_t sum;
    if (*total != NL_NULL_I64 && !__builtin_add_overflow(*total, bytes, &sum))
        *total = sum;
}

/* Totals before the first event: those at the end less all that happened. */
static struct totals totals_at_start(const struct trace *trace, struct totals totals)
{
    for (size_t i = 0; i < trace->count; i++) {
        const struct event *event = &trace->events[i];
        if (event->size == NL_NULL_I64)
            continue;
        add_total(&totals.allocated, -event->allocated * event->size);
        add_total(&totals.reserved, -event->reserved * event->size);
    }
    return totals;
}

static uint64_t shown(int64_t total)
{
    return total < 0 ? NL_NULL_U64 : (uint64_t)total;
}

static struct nl_memory_row memory_row(struct snapshot *s, uint32_t lane, int64_t device)
{
    struct nl_memory_row row = nl_memory_row();
    row.lane = lane;
    row.device = device;
    row.device_type = 1;
    row.ts = s->last_ts;
    row.kind = s->blocks_kind;
    return row;
}

static void put_event(struct snapshot *s, const struct event *event, uint32_t lane, int64_t device,
                      struct totals *totals)
{
    struct nl_memory_row row = memory_row(s, lane, device);
    if (!event->action) {
        s->odd++;
        return;
    }
    if (event->us >= 0 && event->us < INT64_MAX / 2000) {
        row.ts = event->us * 1000;
    } else { /* old files have an order only; else one event was cut in its middle */
        row.ts = s->events > s->untimed ? s->last_ts : s->untimed;
        s->untimed++;
    }
    if (row.ts > s->last_ts)
        s->last_ts = row.ts;
    row.address = event->address;
    row.action = event->action;
    if (event->reserved)
        row.kind = s->segments_kind;
    if (event->size != NL_NULL_I64 && (event->allocated || event->reserved)) {
        row.bytes = (event->allocated + event->reserved) * event->size;
        add_total(&totals->allocated, event->allocated * event->size);
        add_total(&totals->reserved, event->reserved * event->size);
    }
    row.total_allocated = shown(totals->allocated);
    row.total_reserved = shown(totals->reserved);
    row.stack = event->stack;
    nl_stage_memory(s->stage, &row);
    s->events++;
}

/* Keeps an event; while the pickle is read, or afterwards. */
static void take_event(void *context, size_t device, const struct pickle_value *pairs, size_t count)
{
    struct snapshot *s = context;
    struct pickle_value fields[EV_FIELDS + 1];
    if (device >= MAX_TRACES || !go_on(s, 16))
        return;
    while (s->trace_count <= device) {
        nl_grow(&s->traces, &s->trace_cap, s->trace_count + 1);
        s->traces[s->trace_count++] = (struct trace){0};
    }
    struct trace *trace = &s->traces[device];
    pickle_fields(s->pickle, &s->layout, pairs, count, fields);
    const struct known_action *known = action_of(s, fields[EV_ACTION]);
    nl_grow(&trace->events, &trace->cap, trace->count + 1);
    trace->events[trace->count++] = (struct event){
        .address = pickle_u64(s->pickle, fields[EV_ADDRESS]),
        .us = pickle_i64(s->pickle, fields[EV_TIME]),
        .size = size_of(s, fields[EV_SIZE]),
        .action = known->name,
        .stack = known->name ? stack_of(s, fields[EV_FRAMES]) : NL_NULL_ROW,
        .allocated = (int8_t)known->action->allocated,
        .reserved = (int8_t)known->action->reserved,
    };
}

/* The events that were not taken while the pickle was read. */
static void take_rest(struct snapshot *s, struct pickle_value traces)
{
    const struct pickle *p = s->pickle;
    for (uint32_t d = 0; d < pickle_count(p, traces) && d < MAX_TRACES; d++) {
        struct pickle_value trace = pickle_item(p, traces, d);
        size_t first = p->lost && d < s->trace_count ? s->traces[d].count : 0;
        for (size_t i = first; i < pickle_count(p, trace) && go_on(s, 1); i++) {
            size_t count;
            const struct pickle_value *pairs =
                pickle_pairs(p, pickle_item(p, trace, (uint32_t)i), &count);
            take_event(s, d, pairs, count);
        }
    }
}

static void put_traces(struct snapshot *s, struct pickle_value segments)
{
    for (size_t d = 0; d < s->trace_count; d++) {
        const struct trace *trace = &s->traces[d];
        if (!trace->count || !go_on(s, pickle_count(s->pickle, segments) * (uint64_t)4))
            continue;
        struct totals totals = totals_at_end(s, segments, (int64_t)d);
        if (s->pickle->cut) /* the end is not there */
            totals = (struct totals){NL_NULL_I64, NL_NULL_I64};
        totals = totals_at_start(trace, totals);
        uint32_t lane = device_lane(s, (int64_t)d, NL_LANE_DEVICE);
        for (size_t i = 0; i < trace->count && go_on(s, 1); i++)
            put_event(s, &trace->events[i], lane, (int64_t)d, &totals);
    }
}

/* ---- the state at the end ---- */

static void take_blocks(struct snapshot *s, struct pickle_value segment, uint32_t lane,
                        int64_t device)
{
    struct pickle_value blocks = get(s, segment, "blocks");
    uint64_t address = pickle_u64(s->pickle, get(s, segment, "address"));
    for (uint32_t i = 0; i < pickle_count(s->pickle, blocks) && go_on(s, 16); i++) {
        struct pickle_value block = pickle_item(s->pickle, blocks, i);
        struct nl_str state = member_text(s, block, "state");
        struct nl_memory_row row = memory_row(s, lane, device);
        uint64_t own = pickle_u64(s->pickle, get(s, block, "address"));
        int64_t size = size_of(s, get(s, block, "size"));
        if (own != NL_NULL_U64)
            address = own;
        row.address = address;
        if (address != NL_NULL_U64 && size != NL_NULL_I64)
            address += (uint64_t)size; /* old blocks have no address: they follow each other */
        if (!nl_str_starts(state, "active")) {
            s->inactive++;
            continue;
        }
        row.bytes = size;
        row.action = nl_stage_name(s->stage, state);
        row.kind = nl_stage_name(s->stage, nl_str("snapshot blocks"));
        row.stack = stack_of(s, get(s, block, "frames"));
        nl_stage_memory(s->stage, &row);
    }
}

static void take_segments(struct snapshot *s, struct pickle_value segments)
{
    for (uint32_t i = 0; i < pickle_count(s->pickle, segments) && go_on(s, 16); i++) {
        struct pickle_value segment = pickle_item(s->pickle, segments, i);
        int64_t device = i64_of(s, segment, "device");
        if (pickle_type(segment) != PICKLE_DICT || device < 0 || device > 4096) {
            s->odd++;
            continue;
        }
        uint32_t lane = device_lane(s, device, NL_LANE_DEVICE);
        struct nl_memory_row row = memory_row(s, lane, device);
        int64_t size = i64_of(s, segment, "total_size");
        row.address = pickle_u64(s->pickle, get(s, segment, "address"));
        row.bytes = size >= 0 ? size : NL_NULL_I64;
        row.action = nl_stage_name(s->stage, member_text(s, segment, "segment_type"));
        row.kind = nl_stage_name(s->stage, nl_str("snapshot segments"));
        row.stack = stack_of(s, get(s, segment, "frames"));
        nl_stage_memory(s->stage, &row);
        take_blocks(s, segment, lane, device);
    }
}

/* ---- annotations: START and END of the same name ---- */

static void take_annotation(struct snapshot *s, const struct annotation *from, int64_t end)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_nvtx_row row = nl_nvtx_row();
    slice.kind = NL_KIND_NVTX;
    slice.ts = from->ts;
    slice.dur = end < 0 ? NL_NULL_I64 : end - from->ts;
    slice.name = nl_stage_name(s->stage, from->name);
    slice.lane = device_lane(s, from->device >= 0 ? from->device : 0, NL_LANE_ANNOTATION);
    row.slice = nl_stage_slice(s->stage, &slice);
    row.style = NL_RANGE_ANNOTATION;
    nl_stage_nvtx(s->stage, &row);
}

static void take_annotations(struct snapshot *s, struct pickle_value list)
{
    struct annotation open[MAX_OPEN];
    size_t depth = 0;
    for (uint32_t i = 0; i < pickle_count(s->pickle, list) && go_on(s, MAX_OPEN); i++) {
        struct pickle_value item = pickle_item(s->pickle, list, i);
        int64_t us = i64_of(s, item, "time_us");
        bool told = us >= 0 && us < INT64_MAX / 2000;
        struct annotation now = {member_text(s, item, "name"), i64_of(s, item, "device"),
                                 told ? us * 1000 : 0};
        if (!told || now.device > 4096) {
            s->unpaired++;
        } else if (nl_str_is(member_text(s, item, "stage"), "START")) {
            if (depth < MAX_OPEN)
                open[depth++] = now;
            else
                s->unpaired++;
        } else {
            size_t at = depth;
            while (at > 0 &&
                   (open[at - 1].device != now.device || !nl_str_eq(open[at - 1].name, now.name)))
                at--;
            if (!at || now.ts < open[at - 1].ts) {
                s->unpaired++;
                continue;
            }
            take_annotation(s, &open[at - 1], now.ts);
            memmove(&open[at - 1], &open[at], (depth - at) * sizeof *open);
            depth--;
        }
    }
    for (size_t i = 0; i < depth; i++)
        take_annotation(s, &open[i], -1);
}

static void tell_settings(struct snapshot *s, struct pickle_value settings)
{
    static const char *const shown_keys[] = {"PYTORCH_CUDA_ALLOC_CONF", "max_split_size",
                                             "garbage_collection_threshold", "expandable_segments"};
    for (size_t i = 0; i < sizeof shown_keys / sizeof shown_keys[0]; i++) {
        struct pickle_value value = get(s, settings, shown_keys[i]);
        char text[400];
        int len = 0;
        struct nl_str words = pickle_text(s->pickle, value);
        if (words.len)
            len = snprintf(text, sizeof text, "%.*s", NL_UP_TO(380, words));
        else if (pickle_type(value) == PICKLE_BOOL)
            len = snprintf(text, sizeof text, "%s", pickle_bool(value) ? "true" : "false");
        else if (pickle_type(value) == PICKLE_INT || pickle_type(value) == PICKLE_FLOAT)
            len = snprintf(text, sizeof text, "%.15g", pickle_f64(s->pickle, value));
        if (len > 0)
            nl_builder_meta(s->builder, s->source, shown_keys[i],
                            (struct nl_str){text, (size_t)len});
    }
}

static void report_coverage(struct snapshot *s)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not recorded: times of memory events", s->untimed, "they are numbered in their order"},
        {"not loaded: inactive blocks of segments", s->inactive, "cached, not in use"},
        {"not loaded: annotations without their other end", s->unpaired, NULL},
        {"cut: stacks of more than 1024 frames", s->stacks.cut, NULL},
        {"skipped: entries that cannot be interpreted", s->odd, NULL},
        {"truncated: the pickle ends early", s->pickle->cut,
         "everything before the cut is loaded; totals are unknown"},
        {"stopped before the end", s->stopped, "memory budget, or a file that refers to itself"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(s->builder, s->source, rows[i].item, rows[i].count, rows[i].detail);
}

static void begin_snapshot(struct snapshot *s)
{
    s->stage = nl_stage_new(s->builder);
    s->stacks.pickle = s->pickle;
    s->stacks.stage = s->stage;
    s->layout.keys = event_keys;
    s->layout.count = EV_FIELDS;
    for (size_t i = 0; i < KNOWN_ACTIONS; i++)
        s->actions[i].bits = UINT64_MAX;
    nl_stage_begin(s->stage, s->source, 0);
    s->blocks_kind = nl_stage_name(s->stage, nl_str("blocks"));
    s->segments_kind = nl_stage_name(s->stage, nl_str("segments"));
}

static bool finish_snapshot(struct snapshot *s, struct nl_err *err)
{
    const struct pickle *pickle = s->pickle;
    bool list = pickle_type(pickle->root) == PICKLE_LIST; /* memory_snapshot() alone */
    struct pickle_value segments = list ? pickle->root : get(s, pickle->root, "segments");
    struct pickle_value traces = get(s, pickle->root, "device_traces");
    if (pickle->lost)
        torchstack_forget(&s->stacks);
    s->process = nl_builder_process(s->builder, s->source, NL_NULL_I64);
    take_rest(s, traces);
    put_traces(s, segments);
    if (s->events > s->untimed)
        nl_builder_clock(s->builder, s->source, "unix", 0);
    take_segments(s, segments);
    take_annotations(s, get(s, pickle->root, "external_annotations"));
    tell_settings(s, get(s, pickle->root, "allocator_settings"));
    report_coverage(s);
    if (nl_job_cancelled(s->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return pickle_type(segments) == PICKLE_LIST || pickle_type(traces) == PICKLE_LIST ||
           nl_fail(err, NL_FORMAT, "this pickle has neither segments nor device traces");
}

static void free_snapshot(struct snapshot *s)
{
    for (size_t d = 0; d < s->trace_count; d++)
        nl_free(s->traces[d].events);
    nl_free(s->traces);
    torchstack_release(&s->stacks);
    nl_free(s);
}

static bool torchmem_load(struct nl_reading *reading, struct nl_err *err)
{
    const void *bytes = reading->file->bytes;
    size_t len = reading->file->size;
    struct pickle pickle = {.len = 0};
    struct snapshot *s = nl_zalloc(sizeof *s);
    const struct pickle_watch watch = {
        .key = "device_traces", .nested = true, .keep = true, .take = take_event, .context = s};
    s->pickle = &pickle, s->builder = reading->builder, s->source = reading->source,
    s->job = reading->job;
    begin_snapshot(s);
    bool done = pickle_read_watched(&pickle, bytes, len, &watch, reading->job, err) &&
                finish_snapshot(s, err);
    if (!done)
        nl_stage_drop(s->stage);
    pickle_free(&pickle);
    free_snapshot(s);
    return done;
}

static int torchmem_sniff(const struct nl_input *input, const char **why)
{
    static const char *const marks[] = {"segments",     "device_traces",  "allocated_size",
                                        "segment_type", "free_completed", "requested_size",
                                        "active_size",  "blocks"};
    struct nl_str head = {(const char *)input->head, input->head_len};
    if (input->head_len < 4 || input->head[0] != 0x80 || input->head[1] < 2 || input->head[1] > 5)
        return 0;
    unsigned found = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        found += nl_str_contains(head, marks[i]);
    if (found >= 4)
        return 94;
    *why = "a pickle of something else";
    return 0;
}

/* A pickle is a program; the same as JSON is not. */
static bool torchmem_risky(const struct nl_input *input)
{
    return input->head_len > 0 && input->head[0] == 0x80;
}

const struct nl_format nl_format_torchmem = {
    .name = "torch-memory",
    .title = "PyTorch memory snapshot",
    .sniff = torchmem_sniff,
    .load = torchmem_load,
    .feed = NL_FEED_WHOLE,
    .risky = torchmem_risky,
    .doc = "docs/formats/torchmem.md",
};

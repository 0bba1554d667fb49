/*
 * Planes of devices. On a GPU the lines "Stream #N" are what the hardware did; every other line is
 * derived from them by the profiler (modules, operators, name scopes, steps) and would count the
 * same time again, so those become annotations, which no sum includes. On a TPU the line "XLA Ops"
 * is the core's work; of "Async XLA Ops" (what those started, from start to done) copies
 * count as copies and the rest does not count; the rest is annotation too.
 */
#include <math.h>

#include "base/chars.h"
#include "base/sum.h"
#include "base/units.h"
#include "ingest/xplane/xplanefields.h"
#include "ingest/xplane/xplane.h"
#include "ingest/xplane/xplane_nodes.h"
#include "ingest/xplane/xplane_text.h"

enum line_role {
    ROLE_STREAM,     /* kernels, copies, fills of a GPU */
    ROLE_HLO,        /* instructions of a TPU core */
    ROLE_ASYNC,      /* what such instructions started, from start to done */
    ROLE_ANNOTATION, /* derived from the others */
    ROLE_STEPS,
    ROLE_OTHER, /* on the device, but neither work nor derived */
};

struct device_line {
    struct xplane_load *load;
    const struct xplane_plane *plane;
    uint32_t lane;
    enum line_role role;
    bool steps_wanted;
};

struct device {
    uint32_t device;
    int64_t key;
    enum { DEVICE_GPU, DEVICE_TPU, DEVICE_CUSTOM } type;
    uint32_t domain; /* of a part of a device: "SparseCore 0" */
};

/* ---- the device itself ---- */

static void device_facts(const struct xplane_load *load, struct nl_device_row *row)
{
    const struct xplane_stats *stats = &load->stats;
    struct nl_str vendor = xplane_text(stats, XPLANE_VENDOR);
    struct nl_str type = xplane_text(stats, XPLANE_DEVICE_TYPE);
    uint64_t khz = xplane_u64(stats, XPLANE_CLOCK), major = xplane_u64(stats, XPLANE_MAJOR);
    uint64_t minor = xplane_u64(stats, XPLANE_MINOR), cores = xplane_u64(stats, XPLANE_CORES);
    if (nl_str_find_nocase(vendor, "nvidia") == 0)
        vendor = nl_str("nvidia");
    else if (nl_str_find_nocase(vendor, "amd") == 0)
        vendor = nl_str("amd");
    if (vendor.len)
        row->vendor = nl_builder_name(load->builder, vendor);
    if (type.len)
        row->name = nl_builder_name(load->builder, type);
    if (khz != NL_NULL_U64 && khz < UINT64_MAX / 1000)
        row->clock_hz = khz * 1000;
    if (cores < UINT32_MAX)
        row->sm_count = (uint32_t)cores;
    if (major < UINT32_MAX)
        row->compute_major = (uint32_t)major;
    if (minor < UINT32_MAX)
        row->compute_minor = (uint32_t)minor;
    row->memory_bytes = xplane_u64(stats, XPLANE_MEMORY_SIZE);
    row->bandwidth_bytes_per_s = xplane_u64(stats, XPLANE_BANDWIDTH);
    const struct xplane_value *hbm = &stats->value[XPLANE_HBM_BANDWIDTH];
    if (xplane_has(stats, XPLANE_HBM_BANDWIDTH) && hbm->type == XPLANE_REAL && hbm->number.f > 0 &&
        hbm->number.f < 1e9)
        row->bandwidth_bytes_per_s = nl_whole_u64(round(hbm->number.f * 1e9));
}

/* "/device:GPU:4", "/device:TPU:0 SparseCore 1", "/device:CUSTOM:Megascale Trace". */
static void find_device(struct xplane_load *load, const struct xplane_plane *plane,
                        struct device *device)
{
    static const char *const types[] = {"/device:GPU:", "/device:TPU:"};
    struct nl_str rest = plane->name;
    int64_t ordinal = NL_NULL_I64;
    *device = (struct device){.type = DEVICE_CUSTOM};
    for (unsigned i = 0; i < 2; i++) {
        size_t at = strlen(types[i]), start = at;
        if (!nl_str_starts(plane->name, types[i]))
            continue;
        while (at < plane->name.len && nl_is_digit(plane->name.ptr[at]))
            at++;
        if (!nl_parse_i64((struct nl_str){plane->name.ptr + start, at - start}, &ordinal))
            break;
        while (at < plane->name.len && plane->name.ptr[at] == ' ')
            at++;
        rest = (struct nl_str){plane->name.ptr + at, plane->name.len - at};
        device->type = i == 0 ? DEVICE_GPU : DEVICE_TPU;
    }
    bool numbered = device->type != DEVICE_CUSTOM && ordinal < (int64_t)1 << 32;
    device->key = numbered ? ordinal + ((int64_t)device->type << 32)
                           : (int64_t)(nl_hash(plane->name.ptr, plane->name.len) >> 2);
    device->device = nl_builder_device(load->builder, load->source, device->key,
                                       numbered ? ordinal : NL_NULL_I64);
    device->domain = nl_builder_name(load->builder, rest);
    struct nl_device_row *row = nl_builder_device_row(load->builder, device->device);
    xplane_stats_read(load, plane, &plane->bytes, XPLANE_FIELD_STATS, &load->stats);
    device_facts(load, row);
    if (device->type == DEVICE_TPU)
        row->vendor = nl_builder_name(load->builder, nl_str("google"));
    else if (device->type == DEVICE_CUSTOM)
        row->name = device->domain;
}

/* ---- events ---- */

/* Name and facts of an instruction, decoded once per row of metadata. */
static void describe(struct device_line *line, struct xplane_meta *meta)
{
    struct xplane_load *load = line->load;
    struct xplane_stats *stats = &load->meta_stats;
    struct nl_str dtype;
    xplane_stats_read(load, line->plane, &meta->stats, XEVENT_METADATA_STATS, stats);
    meta->read = true;
    meta->args_id = xplane_args(load, stats);
    if (line->role != ROLE_HLO && line->role != ROLE_ASYNC)
        return;
    struct nl_str name = meta->display.len ? meta->display : meta->name;
    meta->name_id = nl_stage_name(load->stage, name);
    if (line->role == ROLE_HLO) {
        meta->facts = xplane_instruction(load, stats, name);
        xplane_recorded(load, meta->facts, stats);
    }
    struct nl_str category = xplane_text(stats, XPLANE_HLO_CATEGORY);
    const char *operation = xplane_hlo_operation(category);
    if (operation) {
        meta->class = NL_CLASS_COMMUNICATION;
        meta->operation = nl_stage_name(load->stage, nl_str(operation));
        if (xplane_hlo_shape(meta->name, &dtype, &meta->bytes))
            meta->dtype = nl_stage_name(load->stage, dtype);
        else
            meta->bytes = NL_NULL_U64;
    } else if (xplane_hlo_is_copy(category)) {
        meta->class = NL_CLASS_COPY;
        meta->is_copy = nl_str_is(category, "copy-start");
        meta->copy = (uint8_t)xplane_hlo_copy_kind(xplane_text(stats, XPLANE_LAYOUT));
        meta->bytes = xplane_u64(stats, XPLANE_BYTES_ACCESSED);
    }
}

static uint32_t add_slice(struct device_line *line, const struct xplane_event *event,
                          enum nl_kind kind)
{
    struct nl_slice_row row = nl_slice_row();
    row.ts = event->ts;
    row.dur = event->dur;
    row.name = xplane_name(line->load, event->meta);
    row.kind = (uint8_t)kind;
    row.lane = line->lane;
    xplane_link(line->load, event, row.lane, true);
    return nl_stage_slice(line->load->stage, &row);
}

static void add_arg(struct xplane_load *load, uint32_t slice, uint32_t text)
{
    struct nl_arg_row row = nl_arg_row();
    if (text == NL_NO_NAME)
        return;
    row.slice = slice;
    row.text = text;
    nl_stage_arg(load->stage, &row);
}

static uint32_t add_copy(struct device_line *line, const struct xplane_event *event,
                         enum nl_copykind kind, uint64_t bytes)
{
    struct xplane_stats *stats = &line->load->stats;
    struct nl_copy_row row = nl_copy_row();
    row.slice = add_slice(line, event, NL_KIND_MEMCPY);
    row.kind = (uint8_t)kind;
    row.bytes = bytes;
    if (xplane_has(stats, XPLANE_MEMCPY_DETAILS))
        row.bytes = xplane_copy_details(xplane_text(stats, XPLANE_MEMCPY_DETAILS), &row.src_memory,
                                        &row.dst_memory);
    row.correlation = xplane_u64(stats, XPLANE_CORRELATION);
    nl_stage_copy(line->load->stage, &row);
    return row.slice;
}

static uint32_t add_memset(struct device_line *line, const struct xplane_event *event)
{
    struct xplane_stats *stats = &line->load->stats;
    struct nl_memset_row row = nl_memset_row();
    uint8_t unused = 0;
    row.slice = add_slice(line, event, NL_KIND_MEMSET);
    row.bytes =
        xplane_copy_details(xplane_text(stats, XPLANE_MEMSET_DETAILS), &row.memory, &unused);
    row.correlation = xplane_u64(stats, XPLANE_CORRELATION);
    nl_stage_memset(line->load->stage, &row);
    return row.slice;
}

static uint32_t add_kernel(struct device_line *line, const struct xplane_event *event)
{
    struct xplane_load *load = line->load;
    const struct xplane_meta *meta = event->meta;
    struct nl_kernel_row row = nl_kernel_row();
    row.slice = add_slice(line, event, NL_KIND_KERNEL);
    row.correlation = xplane_u64(&load->stats, XPLANE_CORRELATION);
    if (xplane_has(&load->stats, XPLANE_KERNEL_DETAILS) &&
        !xplane_kernel_details(xplane_text(&load->stats, XPLANE_KERNEL_DETAILS), &row))
        load->notes[XPLANE_NOTE_DETAILS]++;
    if (meta && line->role == ROLE_HLO)
        row.class = meta->class ? meta->class : NL_CLASS_COMPUTE;
    nl_stage_kernel(load->stage, &row);
    if (meta && meta->operation) {
        struct nl_collective_row collective = nl_collective_row();
        collective.slice = row.slice;
        collective.operation = meta->operation;
        collective.dtype = meta->dtype;
        collective.bytes = meta->bytes;
        nl_stage_collective(load->stage, &collective);
    }
    return row.slice;
}

static uint32_t add_work(struct device_line *line, const struct xplane_event *event)
{
    struct nl_str name = event->meta ? event->meta->name : (struct nl_str){"", 0};
    const struct xplane_stats *stats = &line->load->stats;
    if (line->role == ROLE_HLO)
        return add_kernel(line, event);
    if (line->role == ROLE_ASYNC && !(event->meta && event->meta->is_copy))
        return add_slice(line, event, NL_KIND_DEVICE_OTHER);
    if (line->role == ROLE_ASYNC)
        return add_copy(line, event, (enum nl_copykind)event->meta->copy, event->meta->bytes);
    if (xplane_has(stats, XPLANE_MEMSET_DETAILS) || nl_str_starts_nocase(name, "memset"))
        return add_memset(line, event);
    if (xplane_has(stats, XPLANE_MEMCPY_DETAILS) || nl_str_starts(name, "Memcpy"))
        return add_copy(line, event, xplane_copy_kind(name), NL_NULL_U64);
    return add_kernel(line, event);
}

/* The instruction of an HLO program that this work belongs to. */
static void add_instruction(struct device_line *line, const struct xplane_event *event,
                            uint32_t slice)
{
    struct xplane_load *load = line->load;
    uint32_t facts = XPLANE_NO_FACTS;
    if (line->role == ROLE_HLO && event->meta)
        facts = event->meta->facts;
    else if (line->role == ROLE_STREAM && xplane_has(&load->stats, XPLANE_HLO_OP))
        facts = xplane_instruction(load, &load->stats, xplane_text(&load->stats, XPLANE_HLO_OP));
    xplane_ran(load, slice, event, facts);
}

static void add_step(struct device_line *line, const struct xplane_event *event)
{
    struct xplane_load *load = line->load;
    struct nl_step_row row = nl_step_row();
    if (!line->steps_wanted) {
        load->notes[XPLANE_NOTE_STEPS]++;
        return;
    }
    row.index = xplane_i64(&load->stats, XPLANE_STEP_NUM);
    if (row.index == NL_NULL_I64 && event->meta && !nl_parse_i64(event->meta->name, &row.index))
        row.index = xplane_i64(&load->stats, XPLANE_GROUP_ID);
    row.ts = event->ts;
    row.dur = event->dur;
    row.name = xplane_name(load, event->meta);
    row.lane = line->lane;
    nl_stage_step(load->stage, &row);
}

static void take_device_event(void *context, struct xplane_event *event)
{
    struct device_line *line = context;
    struct xplane_load *load = line->load;
    uint32_t slice;
    xplane_stats_read(load, line->plane, &event->stats, XEVENT_STATS, &load->stats);
    if (event->meta && !event->meta->read)
        describe(line, event->meta);
    switch (line->role) {
    case ROLE_STREAM:
    case ROLE_HLO:
    case ROLE_ASYNC:
        slice = add_work(line, event);
        add_instruction(line, event, slice);
        break;
    case ROLE_STEPS:
        slice = add_slice(line, event, NL_KIND_GPU_ANNOTATION);
        add_step(line, event);
        break;
    case ROLE_ANNOTATION: slice = add_slice(line, event, NL_KIND_GPU_ANNOTATION); break;
    default: slice = add_slice(line, event, NL_KIND_DEVICE_OTHER); break;
    }
    if (event->meta)
        add_arg(load, slice, event->meta->args_id);
    add_arg(load, slice, xplane_args(load, &load->stats));
}

/* ---- lines ---- */

static enum line_role role_of(const struct device *device, struct nl_str name)
{
    if (nl_str_is(name, "Steps"))
        return ROLE_STEPS;
    if (device->type == DEVICE_GPU)
        return nl_str_starts(name, "Stream #") ? ROLE_STREAM : ROLE_ANNOTATION;
    if (device->type == DEVICE_CUSTOM)
        return ROLE_OTHER;
    if (nl_str_is(name, "XLA Ops"))
        return ROLE_HLO;
    if (nl_str_is(name, "Async XLA Ops"))
        return ROLE_ASYNC;
    if (nl_str_is(name, "XLA TraceMe"))
        return ROLE_OTHER;
    return ROLE_ANNOTATION;
}

static bool take_device_line(struct xplane_load *load, struct xplane_plane *plane,
                             struct xplane_line *line, void *context)
{
    const struct device *device = context;
    static const enum nl_lanekind kinds[] = {
        [ROLE_STREAM] = NL_LANE_STREAM,        [ROLE_HLO] = NL_LANE_STREAM,
        [ROLE_ASYNC] = NL_LANE_STREAM,         [ROLE_ANNOTATION] = NL_LANE_GPU_ANNOTATION,
        [ROLE_STEPS] = NL_LANE_GPU_ANNOTATION, [ROLE_OTHER] = NL_LANE_DEVICE};
    struct device_line own = {.load = load, .plane = plane, .role = role_of(device, line->name)};
    bool work = kinds[own.role] == NL_LANE_STREAM;
    struct nl_lane_key key = {.kind = kinds[own.role],
                              .process = load->process,
                              .thread = NL_NULL_ROW,
                              .device = device->device,
                              .context = NL_NULL_I64,
                              .stream = work ? line->id : NL_NULL_I64,
                              .domain = device->domain};
    if (!work)
        key.domain = nl_builder_name(load->builder, line->name);
    own.lane = nl_builder_lane(load->builder, &key);
    nl_builder_lane_name(load->builder, own.lane, line->name);
    if (own.role == ROLE_STEPS && !load->host_steps) {
        if (load->steps_of == NL_NULL_I64)
            load->steps_of = device->key;
        own.steps_wanted = load->steps_of == device->key;
    }
    return xplane_events(load, plane, line, take_device_event, &own);
}

bool xplane_device(struct xplane_load *load, struct xplane_plane *plane)
{
    struct device device;
    find_device(load, plane, &device);
    return xplane_lines(load, plane, take_device_line, &device);
}

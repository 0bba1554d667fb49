/*
 * GPU render stages: work on a hardware queue. Those of category compute, or that name a compute
 * kernel, are kernels; the others (vertex, fragment, …) are device work of another kind. GPU
 * counters are series of their device.
 */
#include <stdio.h>

#include "ingest/perfetto/perfetto.h"
#include "ingest/perfetto/perfettoprofile.h"
#include "ingest/perfetto/perfettofields.h"

struct stage {
    struct nl_str name, queue;
    uint32_t name_id;
    uint64_t duration, queue_key;
    int64_t gpu;
    bool compute, has_queue;
    struct perfetto_launch launch;
};

static void read_size(const struct wire_field *data, uint32_t *size)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    size[0] = size[1] = size[2] = 1;
    while (wire_next(&wire, &field))
        if (field.number >= DIM3_X && field.number <= DIM3_Z && field.value < UINT32_MAX)
            size[field.number - DIM3_X] = (uint32_t)field.value;
}

static void read_launch(const struct wire_field *data, struct perfetto_launch *launch)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == LAUNCH_GRID_SIZE && wire_is_text(&field))
            read_size(&field, launch->grid);
        else if (field.number == LAUNCH_WORKGROUP_SIZE && wire_is_text(&field))
            read_size(&field, launch->block);
    }
}

static void read_names(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct wire_field *field, struct stage *stage)
{
    const struct perfetto_sequence *sequence = packet->sequence;
    const struct perfetto_interned *text;
    bool kernel = field->number == STAGE_KERNEL_IID;
    uint32_t kind = kernel                            ? PERFETTO_KERNELS
                    : field->number == STAGE_NAME_IID ? PERFETTO_NAMES
                                                      : PERFETTO_STAGES;
    text = perfetto_text(load, sequence, kind, field->value);
    if (field->number == STAGE_HW_QUEUE_IID) {
        stage->queue = text->text;
        stage->queue_key = field->value;
        stage->has_queue = text->text.len > 0;
        return;
    }
    stage->compute |=
        kernel || (field->number == STAGE_STAGE_IID && text->category == STAGE_CATEGORY_COMPUTE);
    if (text->name && (!stage->name_id || kernel)) {
        stage->name_id = text->name;
        stage->name = text->text;
    }
}

static void read_stage(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct wire_field *data, struct stage *stage)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case STAGE_DURATION: stage->duration = field.value; break;
        case STAGE_HW_QUEUE_ID:
            stage->queue_key = field.value;
            stage->has_queue = true;
            break;
        case STAGE_GPU_ID: stage->gpu = wire_i64(&field); break;
        case STAGE_NAME: stage->name_id = nl_stage_name(load->stage, wire_str(&field)); break;
        case STAGE_LAUNCH: read_launch(&field, &stage->launch); break;
        case STAGE_HW_QUEUE_IID:
        case STAGE_STAGE_IID:
        case STAGE_KERNEL_IID:
        case STAGE_NAME_IID: read_names(load, packet, &field, stage); break;
        default: break;
        }
    }
}

void perfetto_stage_event(struct perfetto_load *load, const struct perfetto_packet *packet,
                          const struct wire_field *data)
{
    struct stage stage = {.name = {"", 0}, .queue = {"", 0}};
    struct perfetto_record record = {.type = PERFETTO_COMPLETE};
    stage.launch = perfetto_no_launch();
    read_stage(load, packet, data, &stage);
    if (stage.duration == 0 && !stage.has_queue)
        return; /* only specifications */
    if (!stage.has_queue || !packet->has_time || stage.duration > INT64_MAX) {
        load->notes[PERFETTO_NOTE_TIME]++;
        return;
    }
    if (!perfetto_time(load, packet, &record.ts))
        return;
    char text[32];
    (void)snprintf(text, sizeof text, "queue %llu", (unsigned long long)stage.queue_key);
    record.track = perfetto_named_track(load, "gpu queue", (uint64_t)stage.gpu,
                                        stage.queue.len ? stage.queue : nl_str(text));
    struct perfetto_track *track = &load->tracks[record.track];
    track->on_device = true;
    track->device = stage.gpu;
    track->queue = (int64_t)(stage.queue_key & INT64_MAX);
    record.dur = (int64_t)stage.duration;
    record.name = stage.name_id;
    record.role = stage.compute ? ROLE_KERNEL : ROLE_SLICE;
    nl_grow(&load->launches, &load->launch_cap, load->launch_count + 1);
    load->launches[load->launch_count++] = stage.launch;
    record.launch = (uint32_t)load->launch_count;
    perfetto_add(load, &record);
}

/* ---- counters ---- */

/* Counters of a device by number; those of an interned description have separate numbers. */
struct counters {
    int64_t gpu, ts;
    uint64_t description; /* its iid, 0 = the device's */
    struct wire specs;
    bool has_specs;
};

static uint32_t counter_track(struct perfetto_load *load, const struct counters *counters,
                              uint64_t id)
{
    uint64_t key[4] = {0x636f756e746572, (uint64_t)counters->gpu, counters->description, id};
    return perfetto_track_of(load, nl_hash(key, sizeof key));
}

/* MeasureUnit by number. */
static const char *const units[] = {
    "",   "bit", "kbit", "Mbit",   "Gbit",  "Tbit",      "Pbit",     "bytes",      "kB", "MB", "GB",
    "TB", "PB",  "Hz",   "kHz",    "MHz",   "GHz",       "THz",      "PHz",        "ns", "us", "ms",
    "s",  "min", "h",    "vertex", "pixel", "triangle",  "mW",       "W",          "kW", "J",  "V",
    "A",  "°C",  "°F",   "K",      "%",     "primitive", "fragment", "instruction"};

static void add_unit(struct nl_buf *text, const struct wire_field *field, const char *join)
{
    struct wire packed = wire_inside(field);
    uint64_t unit = field->value;
    bool more = wire_is_varint(field) || wire_varint(&packed, &unit);
    for (; more; more = wire_varint(&packed, &unit))
        if (unit > 0 && unit < sizeof units / sizeof units[0])
            nl_buf_format(text, "%s%s", text->len || join[0] == '/' ? join : "", units[unit]);
}

static void read_spec(struct perfetto_load *load, const struct counters *counters,
                      const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    uint64_t id = 0;
    struct nl_str name = {"", 0};
    nl_buf_clear(&load->text);
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case COUNTER_SPEC_ID: id = field.value; break;
        case COUNTER_SPEC_NAME: name = wire_str(&field); break;
        case COUNTER_SPEC_NUMERATOR_UNITS: add_unit(&load->text, &field, "*"); break;
        case COUNTER_SPEC_DENOMINATOR_UNITS: add_unit(&load->text, &field, "/"); break;
        default: break;
        }
    }
    uint32_t row = counter_track(load, counters, id);
    struct perfetto_track *track = &load->tracks[row];
    if (!track->text.len)
        track->text = perfetto_keep(load, name);
    if (!track->unit_text.len)
        track->unit_text = perfetto_keep(load, (struct nl_str){load->text.ptr, load->text.len});
}

static void read_specs(struct perfetto_load *load, const struct counters *counters)
{
    struct wire wire = counters->specs;
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number == COUNTER_DESCRIPTOR_SPECS && wire_is_text(&field))
            read_spec(load, counters, &field);
}

static void read_value(struct perfetto_load *load, const struct counters *counters,
                       const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    uint64_t id = 0;
    struct perfetto_record record = {.ts = counters->ts, .type = PERFETTO_COUNTER};
    bool has = false;
    while (wire_next(&wire, &field)) {
        if (field.number == GPU_COUNTER_ID) {
            id = field.value;
        } else if (field.number == GPU_COUNTER_INT_VALUE) {
            record.real = (double)wire_i64(&field);
            has = true;
        } else if (field.number == GPU_COUNTER_DOUBLE_VALUE) {
            record.real = wire_f64(&field);
            has = true;
        }
    }
    record.track = counter_track(load, counters, id);
    struct perfetto_track *track = &load->tracks[record.track];
    if (!track->described && counters->description)
        read_specs(load, counters);
    track = &load->tracks[record.track];
    track->described = true;
    track->on_device = true;
    track->device = counters->gpu;
    if (has)
        perfetto_add(load, &record);
}

/* The description within the event, or the interned one that it names. */
static void find_specs(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct wire_field *data, struct counters *counters)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == COUNTER_EVENT_GPU_ID) {
            counters->gpu = wire_i64(&field);
        } else if (field.number == COUNTER_EVENT_DESCRIPTOR && wire_is_text(&field)) {
            counters->specs = wire_inside(&field);
            counters->has_specs = true;
        } else if (field.number == COUNTER_EVENT_DESCRIPTOR_IID && wire_is_varint(&field)) {
            struct nl_str text =
                perfetto_text(load, packet->sequence, PERFETTO_GPU_COUNTERS, field.value)->text;
            uint64_t key[2] = {packet->sequence->id, field.value};
            counters->specs = wire_over(text.ptr, text.len);
            counters->description = nl_hash(key, sizeof key) | 1;
        }
    }
}

void perfetto_gpu_counters(struct perfetto_load *load, const struct perfetto_packet *packet,
                           const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    struct counters counters = {0};
    find_specs(load, packet, data, &counters);
    if (counters.has_specs)
        read_specs(load, &counters);
    if (!packet->has_time || !perfetto_time(load, packet, &counters.ts))
        return;
    while (wire_next(&wire, &field))
        if (field.number == COUNTER_EVENT_COUNTERS && wire_is_text(&field))
            read_value(load, &counters, &field);
}

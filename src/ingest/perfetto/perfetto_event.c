/*
 * Track events → records. New writers say the type; old ones a phase as in Chrome's JSON. What a
 * slice is comes from its category, where a GPU profiler wrote it (rocprofv3's names).
 */
#include "ingest/lib/gpurows.h"
#include "ingest/perfetto/perfettofields.h"
#include "ingest/perfetto/perfetto.h"
#include "store/copykind.h"

struct event {
    struct nl_str name, category;
    uint32_t name_id, stack;
    uint64_t track, type;
    struct perfetto_tag tag;
    bool has_track;
    double counter;
    bool has_counter;
    struct wire legacy;
    struct wire counters, counter_uuids; /* extra values and their tracks */
    struct wire doubles, double_uuids;
    int64_t delta_us, absolute_us;
    bool has_delta, has_absolute;
};

struct legacy {
    int64_t phase, duration_us, pid, tid;
    uint64_t id, bind_id, direction;
    char id_kind; /* 'u'nscoped, 'l'ocal, 'g'lobal, 0 none */
    bool has_duration;
};

static enum perfetto_role role_of(struct nl_str category)
{
    static const struct {
        const char *category;
        enum perfetto_role role;
    } roles[] = {{"kernel_dispatch", ROLE_KERNEL},
                 {"kernel", ROLE_KERNEL},
                 {"memory_copy", ROLE_COPY},
                 {"gpu_memcpy", ROLE_COPY},
                 {"hip_api", ROLE_CALL},
                 {"hip_runtime_api", ROLE_CALL},
                 {"hsa_api", ROLE_CALL},
                 {"cuda_runtime", ROLE_CALL},
                 {"cuda_driver", ROLE_CALL},
                 {"hip_runtime", ROLE_CALL},
                 {"rocm_hip_api", ROLE_CALL},
                 {"rocm_hsa_api", ROLE_CALL},
                 {"rocm_kernel_dispatch", ROLE_KERNEL},
                 {"rocm_memory_copy", ROLE_COPY},
                 {"marker_api", ROLE_RANGE},
                 {"rocm_marker_api", ROLE_RANGE},
                 {"user_annotation", ROLE_RANGE},
                 {"cpu_op", ROLE_OPERATOR},
                 {"gpu_memset", ROLE_FILL},
                 {"cuda_sync", ROLE_WAIT},
                 {"gpu_user_annotation", ROLE_DEVICE_RANGE},
                 {"graph_launch", ROLE_GRAPH},
                 {"python_function", ROLE_PYTHON},
                 {"nn_module", ROLE_LAYER},
                 {"overhead", ROLE_OVERHEAD},
                 {"mark", ROLE_MARK}};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (nl_str_is(category, roles[i].category))
            return roles[i].role;
    return ROLE_SLICE;
}

static void read_text(struct perfetto_load *load, const struct perfetto_packet *packet,
                      const struct wire_field *field, struct event *event)
{
    const struct perfetto_interned *text;
    struct wire packed = wire_inside(field);
    uint64_t iid = field->value;
    switch (field->number) {
    case EVENT_CATEGORY_IIDS:
        if (event->category.len || (!wire_is_varint(field) && !wire_varint(&packed, &iid)))
            return;
        text = perfetto_text(load, packet->sequence, PERFETTO_CATEGORIES, iid);
        event->category = text->text;
        break;
    case EVENT_CATEGORIES:
        if (!event->category.len)
            event->category = wire_str(field);
        break;
    case EVENT_NAME_IID:
        text = perfetto_text(load, packet->sequence, PERFETTO_NAMES, iid);
        event->name = text->text;
        event->name_id = text->name;
        break;
    default: event->name = wire_str(field); break;
    }
}

static void read_event_field(const struct wire_field *field, struct event *event)
{
    switch (field->number) {
    case EVENT_TYPE: event->type = field->value; break;
    case EVENT_TRACK_UUID:
        event->track = field->value;
        event->has_track = true;
        break;
    case EVENT_COUNTER:
    case EVENT_DOUBLE_COUNTER:
        event->counter =
            field->number == EVENT_DOUBLE_COUNTER ? wire_f64(field) : (double)wire_i64(field);
        event->has_counter = true;
        break;
    case EVENT_CORRELATION_ID:
        event->tag = (struct perfetto_tag){.is_number = true, .number = field->value};
        break;
    case EVENT_TIMESTAMP_DELTA_US:
        event->delta_us = wire_i64(field);
        event->has_delta = true;
        break;
    case EVENT_TIMESTAMP_ABSOLUTE_US:
        event->absolute_us = wire_i64(field);
        event->has_absolute = true;
        break;
    default: break;
    }
}

/* Messages that are neither debug annotations, nor flows, nor named above. */
static bool is_typed(const struct wire_field *field)
{
    if (!wire_is_text(field))
        return false;
    switch (field->number) {
    case EVENT_DEBUG_ANNOTATIONS:
    case EVENT_FLOW_IDS_OLD:
    case EVENT_TERMINATING_FLOW_IDS_OLD:
    case EVENT_FLOW_IDS:
    case EVENT_TERMINATING_FLOW_IDS:
    case EVENT_CORRELATION_TEXT: return false;
    default: return true;
    }
}

static void read_event(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct wire_field *data, struct event *event)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case EVENT_CATEGORY_IIDS:
        case EVENT_CATEGORIES:
        case EVENT_NAME_IID:
        case EVENT_NAME: read_text(load, packet, &field, event); break;
        case EVENT_LEGACY: event->legacy = wire_inside(&field); break;
        case EVENT_EXTRA_COUNTERS: event->counters = wire_inside(&field); break;
        case EVENT_EXTRA_COUNTER_UUIDS: event->counter_uuids = wire_inside(&field); break;
        case EVENT_EXTRA_DOUBLES: event->doubles = wire_inside(&field); break;
        case EVENT_EXTRA_DOUBLE_UUIDS: event->double_uuids = wire_inside(&field); break;
        case EVENT_CORRELATION_TEXT: event->tag.text = wire_str(&field); break;
        case EVENT_CORRELATION_TEXT_IID:
            event->tag.text =
                perfetto_text(load, packet->sequence, PERFETTO_CORRELATIONS, field.value)->text;
            break;
        case EVENT_CALLSTACK:
        case EVENT_CALLSTACK_IID:
            event->stack = perfetto_event_stack(load, packet->sequence, &field);
            break;
        default:
            read_event_field(&field, event);
            load->notes[PERFETTO_NOTE_TYPED] += is_typed(&field);
            break;
        }
    }
    load->notes[PERFETTO_NOTE_DAMAGED] += wire.damaged;
    if (!event->name_id && event->name.len)
        event->name_id = nl_stage_name(load->stage, event->name);
}

static struct legacy read_legacy(struct wire wire, struct perfetto_load *load,
                                 const struct perfetto_packet *packet, struct event *event)
{
    struct legacy legacy = {.pid = NL_NULL_I64, .tid = NL_NULL_I64};
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case LEGACY_NAME_IID: {
            struct wire_field name = field;
            name.number = EVENT_NAME_IID;
            if (!event->name.len)
                read_text(load, packet, &name, event);
            break;
        }
        case LEGACY_PHASE: legacy.phase = wire_i64(&field); break;
        case LEGACY_DURATION_US:
            legacy.duration_us = wire_i64(&field);
            legacy.has_duration = true;
            break;
        case LEGACY_UNSCOPED_ID:
        case LEGACY_LOCAL_ID:
        case LEGACY_GLOBAL_ID:
            legacy.id = field.value;
            legacy.id_kind = field.number == LEGACY_UNSCOPED_ID ? 'u'
                             : field.number == LEGACY_LOCAL_ID  ? 'l'
                                                                : 'g';
            break;
        case LEGACY_BIND_ID: legacy.bind_id = field.value; break;
        case LEGACY_FLOW_DIRECTION: legacy.direction = field.value; break;
        case LEGACY_PID: legacy.pid = wire_i64(&field); break;
        case LEGACY_TID: legacy.tid = wire_i64(&field); break;
        default: break;
        }
    }
    return legacy;
}

/* Old writers count µs from their thread's reference, or in deltas. */
static bool event_time(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct event *event, int64_t *ts)
{
    int64_t us = event->absolute_us;
    struct perfetto_sequence *sequence = packet->sequence;
    if (!event->has_delta && !event->has_absolute)
        return packet->has_time && perfetto_time(load, packet, ts);
    if (event->has_delta) {
        if (sequence->reference_us == NL_NULL_I64 ||
            __builtin_add_overflow(sequence->reference_us, event->delta_us, &us)) {
            load->notes[PERFETTO_NOTE_TIME]++;
            return false;
        }
        sequence->reference_us = us;
    }
    int64_t ns;
    if (us < 0 || __builtin_mul_overflow(us, 1000, &ns)) {
        load->notes[PERFETTO_NOTE_TIME]++;
        return false;
    }
    return perfetto_convert(load, sequence, BUILTIN_CLOCK_MONOTONIC, (uint64_t)ns, ts);
}

static uint32_t event_track(struct perfetto_load *load, const struct perfetto_packet *packet,
                            const struct event *event, const struct legacy *legacy)
{
    const struct perfetto_sequence *sequence = packet->sequence;
    int64_t pid = legacy->pid != NL_NULL_I64 ? legacy->pid : sequence->pid;
    int64_t tid = legacy->tid != NL_NULL_I64 ? legacy->tid : sequence->tid;
    bool async = legacy->phase && legacy->id_kind && strchr("benSTpF", (int)legacy->phase & 127);
    if (async) {
        uint64_t id = legacy->id ^ (legacy->id_kind == 'g' ? 0 : (uint64_t)pid << 32);
        uint32_t row = perfetto_named_track(load, "legacy async", id, event->category);
        if (load->tracks[row].pid == NL_NULL_I64)
            load->tracks[row].pid = pid;
        return row;
    }
    if (event->has_track)
        return perfetto_track_of(load, event->track);
    if (legacy->pid != NL_NULL_I64 || legacy->tid != NL_NULL_I64 || !sequence->has_track)
        if (tid != NL_NULL_I64)
            return perfetto_thread_track(load, pid, tid, false);
    return perfetto_track_of(load, sequence->has_track ? sequence->track_uuid : 0);
}

/* The record's type, 0 = nothing to record. */
static uint8_t record_type(struct perfetto_load *load, const struct event *event,
                           const struct legacy *legacy)
{
    static const uint8_t types[] = {
        0, PERFETTO_BEGIN, PERFETTO_END, PERFETTO_INSTANT, PERFETTO_COUNTER, PERFETTO_STATE};
    if (event->type && event->type < sizeof types)
        return types[event->type];
    switch (legacy->phase) {
    case 'B':
    case 'b':
    case 'S': return PERFETTO_BEGIN;
    case 'E':
    case 'e':
    case 'F': return PERFETTO_END;
    case 'X': return legacy->has_duration ? PERFETTO_COMPLETE : PERFETTO_BEGIN;
    case 'I':
    case 'i':
    case 'R':
    case 'n':
    case 'T':
    case 'p': return PERFETTO_INSTANT;
    default: break;
    }
    load->notes[PERFETTO_NOTE_LEGACY]++;
    return 0;
}

static void add_counter(struct perfetto_load *load, uint32_t row, int64_t ts, double value)
{
    struct perfetto_track *track = &load->tracks[row];
    value *= (double)(track->multiplier ? track->multiplier : 1);
    if (track->incremental)
        value += track->last;
    track->last = value;
    struct perfetto_record record = {
        .ts = ts, .real = value, .track = row, .type = PERFETTO_COUNTER};
    perfetto_add(load, &record);
}

static void extra_counters(struct perfetto_load *load, const struct perfetto_packet *packet,
                           const struct event *event, int64_t ts)
{
    struct wire values = event->counters, uuids = event->counter_uuids;
    uint64_t value, uuid;
    for (unsigned i = 0; wire_varint(&values, &value); i++) {
        if (!wire_varint(&uuids, &uuid)) {
            if (i >= packet->sequence->counters)
                return;
            uuid = packet->sequence->counter_uuids[i];
        }
        add_counter(load, perfetto_track_of(load, uuid), ts, (double)(int64_t)value);
    }
    values = event->doubles;
    uuids = event->double_uuids;
    while (wire_varint(&uuids, &uuid) && wire_fixed64(&values, &value)) {
        struct wire_field real = {.type = WIRE_FIXED64, .value = value};
        add_counter(load, perfetto_track_of(load, uuid), ts, wire_f64(&real));
    }
}

static void add_flows(struct perfetto_load *load, const struct wire_field *data,
                      const struct legacy *legacy, const struct perfetto_record *at)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    struct perfetto_record record = {.ts = at->ts, .track = at->track, .name = at->name};
    while (wire_next(&wire, &field)) {
        bool fixed = field.number == EVENT_FLOW_IDS || field.number == EVENT_TERMINATING_FLOW_IDS;
        bool old =
            field.number == EVENT_FLOW_IDS_OLD || field.number == EVENT_TERMINATING_FLOW_IDS_OLD;
        if (!fixed && !old)
            continue;
        record.type = field.number == EVENT_TERMINATING_FLOW_IDS ||
                              field.number == EVENT_TERMINATING_FLOW_IDS_OLD
                          ? PERFETTO_FLOW_END
                          : PERFETTO_FLOW;
        struct wire packed = wire_inside(&field);
        uint64_t id = field.value;
        bool more = !wire_is_text(&field) ||
                    (fixed ? wire_fixed64(&packed, &id) : wire_varint(&packed, &id));
        for (; more; more = fixed ? wire_fixed64(&packed, &id) : wire_varint(&packed, &id)) {
            record.dur = (int64_t)id;
            perfetto_add(load, &record);
        }
    }
    if (legacy->direction) {
        record.type = legacy->direction == 1 ? PERFETTO_FLOW_END : PERFETTO_FLOW;
        record.dur = (int64_t)(legacy->bind_id ^ 0x6c65676163790000u);
        perfetto_add(load, &record);
    }
}

static uint32_t add_launch(struct perfetto_load *load, const struct perfetto_launch *launch)
{
    nl_grow(&load->launches, &load->launch_cap, load->launch_count + 1);
    load->launches[load->launch_count++] = *launch;
    return (uint32_t)load->launch_count;
}

void perfetto_event(struct perfetto_load *load, const struct perfetto_packet *packet,
                    const struct wire_field *data)
{
    struct event event = {.name = {"", 0}, .category = {"", 0}};
    struct perfetto_record record = {0};
    read_event(load, packet, data, &event);
    struct legacy legacy = read_legacy(event.legacy, load, packet, &event);
    if (!event_time(load, packet, &event, &record.ts))
        return;
    extra_counters(load, packet, &event, record.ts);
    record.type = record_type(load, &event, &legacy);
    if (!record.type)
        return;
    record.track = event_track(load, packet, &event, &legacy);
    record.name = event.name_id;
    record.stack = event.stack;
    if (record.type == PERFETTO_COUNTER) {
        if (event.has_counter)
            add_counter(load, record.track, record.ts, event.counter);
        return;
    }
    record.role = (uint8_t)role_of(event.category);
    struct perfetto_launch launch = perfetto_no_launch();
    record.args = perfetto_args(load, packet->sequence, wire_inside(data), &event.tag,
                                record.role ? &launch : NULL);
    if (record.role == ROLE_COPY && !launch.direction)
        launch.direction = (uint8_t)nl_copykind_of_text(event.name);
    if (record.role && record.type != PERFETTO_END)
        record.launch = add_launch(load, &launch);
    if (record.type == PERFETTO_COMPLETE &&
        __builtin_mul_overflow(legacy.duration_us, 1000, &record.dur)) {
        load->notes[PERFETTO_NOTE_TIME]++;
        return;
    }
    perfetto_add(load, &record);
    add_flows(load, data, &legacy, &record);
}

/*
 * What a sequence knows: interned texts by (kind, iid), defaults, clocks. Texts are copied into an
 * arena, because packets may be in a buffer inflated for them alone.
 */
#include "ingest/perfetto/perfettofields.h"
#include "ingest/perfetto/perfetto.h"

#define MAX_ARENA     ((size_t)512 << 20)
#define MAX_OWN_TEXTS 30 /* tables of texts above it may be extensions, as that of kernels is */

struct nl_str perfetto_keep(struct perfetto_load *load, struct nl_str text)
{
    if (!text.len)
        return (struct nl_str){"", 0};
    if (load->arena.used + text.len > MAX_ARENA) {
        load->notes[PERFETTO_NOTE_FULL]++;
        return (struct nl_str){"", 0};
    }
    return (struct nl_str){nl_arena_text(&load->arena, text.ptr, text.len), text.len};
}

struct perfetto_sequence *perfetto_sequence_of(struct perfetto_load *load, uint64_t id)
{
    uint32_t row = nl_idmap_get(&load->sequence_index, id);
    if (row == NL_NO_ROW) {
        nl_grow(&load->sequences, &load->sequence_cap, load->sequence_count + 1);
        row = (uint32_t)load->sequence_count++;
        load->sequences[row] = (struct perfetto_sequence){
            .id = id, .pid = NL_NULL_I64, .tid = NL_NULL_I64, .reference_us = NL_NULL_I64};
        nl_idmap_put(&load->sequence_index, id, row);
    }
    return &load->sequences[row];
}

void perfetto_sequence_clear(struct perfetto_sequence *sequence)
{
    nl_idmap_clear(&sequence->interned);
    sequence->text_count = 0;
    sequence->clock = 0;
    sequence->has_track = false;
    sequence->counters = 0;
    sequence->sample_event = NL_NO_NAME;
    sequence->sample_period = 0;
    sequence->valid = true;
}

/* ---- interned data ---- */

static uint64_t interned_key(uint32_t kind, uint64_t iid)
{
    return (uint64_t)kind << 48 ^ iid;
}

static void add_entry(struct perfetto_sequence *sequence, uint32_t kind, uint64_t iid,
                      const struct perfetto_interned *own)
{
    nl_grow(&sequence->texts, &sequence->text_cap, sequence->text_count + 1);
    sequence->texts[sequence->text_count] = *own;
    nl_idmap_put(&sequence->interned, interned_key(kind, iid), (uint32_t)sequence->text_count++);
}

/* A message that is read when something refers to it. */
static void intern_whole(struct perfetto_load *load, struct perfetto_sequence *sequence,
                         uint32_t kind, const struct wire_field *entry)
{
    struct wire wire = wire_inside(entry);
    struct wire_field field;
    uint64_t iid = 0;
    while (wire_next(&wire, &field))
        if (field.number == INTERNED_IID)
            iid = field.value;
    struct perfetto_interned own = {.text = perfetto_keep(load, wire_str(entry))};
    add_entry(sequence, kind, iid, &own);
}

/* A kernel's demangled name is better than its mangled one. */
static void intern_text(struct perfetto_load *load, struct perfetto_sequence *sequence,
                        uint32_t kind, const struct wire_field *entry)
{
    struct wire wire = wire_inside(entry);
    struct wire_field field;
    struct perfetto_interned own = {.text = {"", 0}};
    struct nl_str text = {"", 0};
    uint64_t iid = 0;
    while (wire_next(&wire, &field)) {
        bool demangled =
            field.number == COMPUTE_KERNEL_DEMANGLED_NAME && kind > MAX_OWN_TEXTS && field.len;
        if (field.number == INTERNED_IID)
            iid = field.value;
        else if ((field.number == INTERNED_TEXT || demangled) && wire_is_text(&field))
            text = wire_str(&field);
        else if (field.number == STAGE_SPECIFICATION_CATEGORY && wire_is_varint(&field))
            own.category = (uint32_t)field.value;
        else if (field.number == COMPUTE_KERNEL_ARCH && kind > MAX_OWN_TEXTS)
            kind = PERFETTO_KERNELS; /* an extension; only kernels have their architecture here */
    }
    own.text = perfetto_keep(load, text);
    if (own.text.len && kind != PERFETTO_GPU_COUNTERS) /* whose "text" is a message */
        own.name = nl_stage_name(load->stage, own.text);
    add_entry(sequence, kind, iid, &own);
}

void perfetto_intern(struct perfetto_load *load, struct perfetto_sequence *sequence, uint32_t kind,
                     const struct wire_field *entry)
{
    bool whole = kind == PERFETTO_FRAMES || kind == PERFETTO_STACKS || kind == PERFETTO_MAPPINGS;
    if (whole)
        intern_whole(load, sequence, kind, entry);
    else
        intern_text(load, sequence, kind, entry);
}

void perfetto_interned(struct perfetto_load *load, struct perfetto_sequence *sequence,
                       const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (wire_is_text(&field))
            perfetto_intern(load, sequence, field.number, &field);
    load->notes[PERFETTO_NOTE_DAMAGED] += wire.damaged;
}

const struct perfetto_interned *perfetto_text(struct perfetto_load *load,
                                              const struct perfetto_sequence *sequence,
                                              uint32_t kind, uint64_t iid)
{
    static const struct perfetto_interned none = {.text = {"", 0}};
    uint32_t row = nl_idmap_get(&sequence->interned, interned_key(kind, iid));
    if (row != NL_NO_ROW)
        return &sequence->texts[row];
    load->notes[PERFETTO_NOTE_INTERNED]++;
    return &none;
}

struct perfetto_interned *perfetto_entry(struct perfetto_load *load,
                                         const struct perfetto_sequence *sequence, uint32_t kind,
                                         uint64_t iid)
{
    uint32_t row = nl_idmap_get(&sequence->interned, interned_key(kind, iid));
    load->notes[PERFETTO_NOTE_INTERNED] += row == NL_NO_ROW;
    return row == NL_NO_ROW ? NULL : &sequence->texts[row];
}

static void event_defaults(struct perfetto_sequence *sequence, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    sequence->counters = 0;
    while (wire_next(&wire, &field)) {
        if (field.number == EVENT_DEFAULTS_TRACK_UUID) {
            sequence->track_uuid = field.value;
            sequence->has_track = true;
        } else if (field.number == EVENT_DEFAULTS_EXTRA_COUNTER_UUIDS) {
            struct wire packed = wire_inside(&field);
            uint64_t uuid = field.value;
            bool more = wire_is_varint(&field) || wire_varint(&packed, &uuid);
            for (; more && sequence->counters < 16; more = wire_varint(&packed, &uuid))
                sequence->counter_uuids[sequence->counters++] = uuid;
        }
    }
}

void perfetto_defaults(struct perfetto_load *load, struct perfetto_sequence *sequence,
                       const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == DEFAULTS_CLOCK_ID)
            sequence->clock = field.value;
        else if (field.number == DEFAULTS_TRACK_EVENT && wire_is_text(&field))
            event_defaults(sequence, &field);
        else if (field.number == DEFAULTS_PERF_SAMPLE && wire_is_text(&field))
            perfetto_sample_defaults(load, sequence, &field);
    }
}

/* ---- clocks ---- */

static struct perfetto_clock *clock_of(struct perfetto_load *load,
                                       const struct perfetto_sequence *sequence, uint64_t id)
{
    bool own = id >= 64 && id < 128;
    uint64_t key = own ? sequence->id << 8 | id : id << 40;
    uint32_t row = nl_idmap_get(&load->clock_index, key);
    if (row == NL_NO_ROW) {
        nl_grow(&load->clocks, &load->clock_cap, load->clock_count + 1);
        row = (uint32_t)load->clock_count++;
        load->clocks[row] = (struct perfetto_clock){.key = key, .unit = 1};
        nl_idmap_put(&load->clock_index, key, row);
    }
    return &load->clocks[row];
}

struct reading {
    uint64_t id, value, unit;
    bool incremental;
};

static struct reading read_clock(const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    struct reading reading = {.unit = 1};
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case CLOCK_ID: reading.id = field.value; break;
        case CLOCK_TIMESTAMP: reading.value = field.value; break;
        case CLOCK_IS_INCREMENTAL: reading.incremental = field.value != 0; break;
        case CLOCK_UNIT_NS: reading.unit = field.value; break;
        default: break;
        }
    }
    if (reading.unit == 0 || reading.unit > 1000000000)
        reading.unit = 1;
    return reading;
}

static bool to_ns(uint64_t value, int64_t unit, int64_t *ns)
{
    return value <= INT64_MAX && !__builtin_mul_overflow((int64_t)value, unit, ns);
}

/* The trace clock's time at a snapshot: as read, or through a clock that an
 * earlier one tied to it. */
static bool trace_time_of(struct perfetto_load *load, const struct perfetto_packet *packet,
                          const struct reading *readings, unsigned count, int64_t *ts)
{
    for (unsigned i = 0; i < count; i++)
        if (readings[i].id == load->trace_clock)
            return to_ns(readings[i].value, (int64_t)readings[i].unit, ts);
    for (unsigned i = 0; i < count; i++) {
        struct perfetto_clock *clock = clock_of(load, packet->sequence, readings[i].id);
        int64_t ns, moved;
        if (clock->known && to_ns(readings[i].value, (int64_t)readings[i].unit, &ns) &&
            !__builtin_sub_overflow(ns, clock->from, &moved) &&
            !__builtin_add_overflow(clock->to, moved, ts))
            return true;
    }
    return false;
}

/* From now on, times of the clock are moved by what it read when the trace clock read `now`. */
static void tie_clock(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                      const struct reading *reading, int64_t now)
{
    struct perfetto_clock *clock = clock_of(load, sequence, reading->id);
    int64_t ns;
    if (!to_ns(reading->value, (int64_t)reading->unit, &ns))
        return;
    clock->unit = (int64_t)reading->unit;
    clock->incremental = reading->incremental;
    clock->from = ns;
    clock->to = now;
    clock->last = ns;
    clock->known = true;
    if (reading->id == BUILTIN_CLOCK_REALTIME && !load->epoch && ns > now && now >= 0) {
        nl_builder_clock(load->builder, load->source,
                         load->trace_clock == BUILTIN_CLOCK_BOOTTIME ? "boottime" : "trace clock",
                         ns - now);
        load->epoch = true;
    }
}

void perfetto_snapshot(struct perfetto_load *load, const struct perfetto_packet *packet,
                       const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    struct reading readings[64];
    unsigned count = 0;
    int64_t now;
    while (wire_next(&wire, &field)) {
        if (field.number == SNAPSHOT_CLOCKS && wire_is_text(&field) && count < 64)
            readings[count++] = read_clock(&field);
        else if (field.number == SNAPSHOT_PRIMARY_CLOCK && !load->snapshot && field.value)
            load->trace_clock = field.value;
    }
    if (!trace_time_of(load, packet, readings, count, &now))
        return;
    load->snapshot = true;
    for (unsigned i = 0; i < count; i++)
        tie_clock(load, packet->sequence, &readings[i], now);
}

bool perfetto_convert(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                      uint64_t id, uint64_t value, int64_t *ts)
{
    struct perfetto_clock *clock = clock_of(load, sequence, id);
    int64_t ns;
    if (!to_ns(value, clock->unit, &ns)) {
        load->notes[PERFETTO_NOTE_TIME]++;
        return false;
    }
    if (clock->incremental) {
        if (__builtin_add_overflow(clock->last, ns, &ns))
            return false;
        clock->last = ns;
    }
    *ts = ns;
    if (id == load->trace_clock)
        return true;
    if (!clock->known) {
        bool alone = !load->snapshot && id < 64;
        load->notes[alone ? PERFETTO_NOTE_NO_SNAPSHOT : PERFETTO_NOTE_CLOCK]++;
        return alone;
    }
    int64_t moved;
    return !__builtin_sub_overflow(ns, clock->from, &moved) &&
           !__builtin_add_overflow(clock->to, moved, ts) && *ts != NL_NULL_I64;
}

bool perfetto_time(struct perfetto_load *load, const struct perfetto_packet *packet, int64_t *ts)
{
    uint64_t clock = packet->clock             ? packet->clock
                     : packet->sequence->clock ? packet->sequence->clock
                                               : load->trace_clock;
    return perfetto_convert(load, packet->sequence, clock, packet->timestamp, ts);
}

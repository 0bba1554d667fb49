/*
 * The tables of a plane, and statistics of events. Ids are looked up in an index, since
 * some writers number from 1 and others use 64-bit hashes.
 */
#include "base/json.h"
#include "base/mem.h"
#include "ingest/xplane/xplanefields.h"
#include "ingest/xplane/xplane.h"

#define MAX_ARGS 4096

static const char *const known_stats[XPLANE_STATS] = {
#define XPLANE_STAT(id, name, in_args) [XPLANE_##id] = name,
#include "ingest/xplane/xplane_stats.def"
};
/* Bits of the statistics that go to args. */
static const uint64_t argument_stats = 0
#define XPLANE_STAT(id, name, in_args) | (uint64_t)(in_args) << XPLANE_##id
#include "ingest/xplane/xplane_stats.def"
    ;
_Static_assert(XPLANE_STATS <= 64, "xplane_stats.has is one word");

bool xplane_next(struct xplane_load *load, struct wire *wire, struct wire_field *field)
{
    if (wire_next(wire, field))
        return true;
    if (!wire->damaged)
        return false;
    bool cut = wire_clip(wire, field);
    load->notes[cut ? XPLANE_NOTE_CUT : XPLANE_NOTE_DAMAGED]++;
    wire->at = wire->end;
    wire->damaged = false;
    return cut;
}

bool xplane_again(struct wire *wire, struct wire_field *field)
{
    return wire_next(wire, field) || wire_clip(wire, field);
}

/* ---- reading the tables ---- */

/* A map entry: key 1, message 2. */
static bool read_entry(struct xplane_load *load, const struct wire_field *entry, int64_t *key,
                       struct wire *message)
{
    struct wire wire = wire_inside(entry);
    struct wire_field field;
    bool found = false;
    *key = 0;
    *message = wire_over(NULL, 0);
    while (xplane_next(load, &wire, &field)) {
        if (field.number == MAP_ENTRY_KEY && wire_is_varint(&field)) {
            *key = wire_i64(&field);
        } else if (field.number == MAP_ENTRY_VALUE && wire_is_text(&field)) {
            *message = wire_inside(&field);
            found = true;
        }
    }
    return found;
}

static void read_meta(struct xplane_load *load, struct xplane_plane *plane,
                      const struct wire_field *entry)
{
    struct xplane_meta meta = {
        .bytes = NL_NULL_U64, .facts = XPLANE_NO_FACTS, .name = {"", 0}, .display = {"", 0}};
    struct wire_field field;
    if (!read_entry(load, entry, &meta.id, &meta.stats))
        return;
    struct wire wire = meta.stats;
    while (xplane_next(load, &wire, &field)) {
        if (field.number == XEVENT_METADATA_NAME)
            meta.name = wire_str(&field);
        else if (field.number == XEVENT_METADATA_DISPLAY_NAME)
            meta.display = wire_str(&field);
    }
    nl_grow(&plane->metas, &plane->meta_cap, plane->meta_count + 1);
    nl_idmap_put(&plane->meta_index, (uint64_t)meta.id, (uint32_t)plane->meta_count);
    plane->metas[plane->meta_count++] = meta;
}

static void read_stat_name(struct xplane_load *load, struct xplane_plane *plane,
                           const struct wire_field *entry)
{
    struct xplane_stat_name stat = {.known = -1, .name = {"", 0}};
    struct wire wire;
    struct wire_field field;
    if (!read_entry(load, entry, &stat.id, &wire))
        return;
    while (xplane_next(load, &wire, &field))
        if (field.number == XSTAT_METADATA_NAME)
            stat.name = wire_str(&field);
    for (int i = 0; i < XPLANE_STATS; i++)
        if (nl_str_is(stat.name, known_stats[i]))
            stat.known = i;
    nl_grow(&plane->stats, &plane->stat_cap, plane->stat_count + 1);
    nl_idmap_put(&plane->stat_index, (uint64_t)stat.id, (uint32_t)plane->stat_count);
    plane->stats[plane->stat_count++] = stat;
}

void xplane_tables_read(struct xplane_load *load, struct xplane_plane *plane)
{
    struct wire wire = plane->bytes;
    struct wire_field field;
    while (xplane_next(load, &wire, &field)) {
        if (field.number == XPLANE_FIELD_EVENT_METADATA && wire_is_text(&field))
            read_meta(load, plane, &field);
        else if (field.number == XPLANE_FIELD_STAT_METADATA && wire_is_text(&field))
            read_stat_name(load, plane, &field);
    }
}

void xplane_tables_release(struct xplane_plane *plane)
{
    nl_free(plane->metas);
    nl_free(plane->stats);
    nl_idmap_release(&plane->meta_index);
    nl_idmap_release(&plane->stat_index);
}

/* ---- statistics ---- */

static const struct xplane_stat_name *stat_name(const struct xplane_plane *plane, int64_t id)
{
    uint32_t row = nl_idmap_get(&plane->stat_index, (uint64_t)id);
    return row != NL_NO_ROW ? &plane->stats[row] : NULL;
}

static void read_value(const struct xplane_plane *plane, const struct wire_field *field,
                       struct xplane_value *value)
{
    const struct xplane_stat_name *name;
    switch (field->number) {
    case XSTAT_DOUBLE:
        value->type = XPLANE_REAL;
        value->number.f = wire_f64(field);
        break;
    case XSTAT_UINT64:
        value->type = XPLANE_UINT;
        value->number.u = field->value;
        break;
    case XSTAT_INT64:
        value->type = XPLANE_INT;
        value->number.i = wire_i64(field);
        break;
    case XSTAT_STRING:
        value->type = XPLANE_TEXT;
        value->text = wire_str(field);
        break;
    case XSTAT_BYTES: value->type = XPLANE_BLOB; break;
    case XSTAT_REFERENCE:
        name = stat_name(plane, wire_i64(field));
        value->type = XPLANE_TEXT;
        value->text = name ? name->name : (struct nl_str){"", 0};
        break;
    default: break;
    }
}

/* A statistic as every profiler writes it: its name's id, then one value, then nothing. False for
 * anything else, which is read field by field. */
static bool read_usual(const struct xplane_plane *plane, const struct wire_field *field,
                       const struct xplane_stat_name **name, struct xplane_value *value)
{
    enum { ID = 1 << 3, UINT = 3 << 3, INT = 4 << 3, TEXT = 5 << 3 | WIRE_BYTES, REF = 7 << 3 };
    struct wire wire = wire_inside(field);
    uint64_t id, number;
    if (field->len < 4 || *wire.at++ != ID || !wire_varint(&wire, &id) || wire.at == wire.end)
        return false;
    unsigned char tag = *wire.at++;
    if (!wire_varint(&wire, &number))
        return false;
    *name = stat_name(plane, (int64_t)id);
    value->number.u = number;
    switch (tag) {
    case UINT: value->type = XPLANE_UINT; return wire.at == wire.end;
    case INT: value->type = XPLANE_INT; return wire.at == wire.end;
    case TEXT:
        value->type = XPLANE_TEXT;
        value->text = (struct nl_str){(const char *)wire.at, (size_t)number};
        return number == (uint64_t)(wire.end - wire.at);
    case REF: {
        const struct xplane_stat_name *text = stat_name(plane, (int64_t)number);
        value->type = XPLANE_TEXT;
        value->text = text ? text->name : (struct nl_str){"", 0};
        return wire.at == wire.end;
    }
    default: return false;
    }
}

static void read_fields(struct xplane_load *load, const struct xplane_plane *plane,
                        const struct wire_field *field, const struct xplane_stat_name **name,
                        struct xplane_value *value)
{
    struct wire wire = wire_inside(field);
    struct wire_field part;
    *name = NULL;
    *value = (struct xplane_value){.type = XPLANE_BLOB};
    while (xplane_next(load, &wire, &part)) {
        if (part.number == XSTAT_METADATA_ID)
            *name = stat_name(plane, wire_i64(&part));
        else
            read_value(plane, &part, value);
    }
}

void xplane_stat_read(struct xplane_load *load, const struct xplane_plane *plane,
                      struct xplane_stats *stats, const struct wire_field *field)
{
    struct xplane_value value;
    const struct xplane_stat_name *name;
    if (!read_usual(plane, field, &name, &value))
        read_fields(load, plane, field, &name, &value);
    if (!name || name->known < 0) {
        bool mark = name && name->name.len > 1 && name->name.ptr[0] == '_';
        load->notes[mark ? XPLANE_NOTE_MARKS : XPLANE_NOTE_STATS]++;
        if (!mark && name && !load->first_stat.len)
            load->first_stat = name->name;
        return;
    }
    stats->has |= (uint64_t)1 << name->known;
    stats->value[name->known] = value;
}

void xplane_stats_read(struct xplane_load *load, const struct xplane_plane *plane,
                       const struct wire *event, uint32_t number, struct xplane_stats *stats)
{
    struct wire wire = *event;
    struct wire_field field;
    stats->has = 0;
    while (xplane_again(&wire, &field))
        if (field.number == number && wire_is_text(&field))
            xplane_stat_read(load, plane, stats, &field);
}

uint64_t xplane_u64(const struct xplane_stats *stats, enum xplane_stat stat)
{
    const struct xplane_value *value = &stats->value[stat];
    if (!xplane_has(stats, stat))
        return NL_NULL_U64;
    if (value->type == XPLANE_UINT)
        return value->number.u;
    if (value->type == XPLANE_INT && value->number.i >= 0)
        return (uint64_t)value->number.i;
    return NL_NULL_U64;
}

int64_t xplane_i64(const struct xplane_stats *stats, enum xplane_stat stat)
{
    const struct xplane_value *value = &stats->value[stat];
    if (!xplane_has(stats, stat))
        return NL_NULL_I64;
    if (value->type == XPLANE_INT)
        return value->number.i;
    if (value->type == XPLANE_UINT && value->number.u <= INT64_MAX)
        return (int64_t)value->number.u;
    return NL_NULL_I64;
}

struct nl_str xplane_text(const struct xplane_stats *stats, enum xplane_stat stat)
{
    if (!xplane_has(stats, stat) || stats->value[stat].type != XPLANE_TEXT)
        return (struct nl_str){"", 0};
    return stats->value[stat].text;
}

static void write_value(struct nl_json *json, const struct xplane_value *value)
{
    switch (value->type) {
    case XPLANE_INT: nl_json_i64(json, value->number.i); break;
    case XPLANE_UINT: nl_json_u64(json, value->number.u); break;
    case XPLANE_REAL: nl_json_f64(json, value->number.f); break;
    case XPLANE_TEXT: nl_json_str(json, value->text); break;
    default: nl_json_null(json); break;
    }
}

static uint32_t args_of(struct xplane_load *load, const struct xplane_stats *stats, uint64_t left)
{
    struct nl_json json;
    bool any = false;
    nl_buf_clear(&load->text);
    nl_json_to_buf(&json, &load->text, 0);
    nl_json_open(&json, '{');
    for (; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        const struct xplane_value *value = &stats->value[i];
        if (value->type == XPLANE_BLOB)
            continue;
        struct xplane_value cut = *value;
        if (value->type == XPLANE_TEXT && value->text.len > MAX_ARGS) {
            cut.text.len = MAX_ARGS;
            load->notes[XPLANE_NOTE_CUT_ARGS]++;
        }
        nl_json_key(&json, known_stats[i]);
        write_value(&json, &cut);
        any = true;
    }
    nl_json_close(&json, '}');
    if (!any)
        return NL_NO_NAME;
    return nl_stage_name(load->stage, (struct nl_str){load->text.ptr, load->text.len});
}

/* Most events have one number at most, the same as the one before: {"group_id":0}. */
uint32_t xplane_args(struct xplane_load *load, const struct xplane_stats *stats)
{
    uint64_t left = stats->has & argument_stats;
    if (!left)
        return NL_NO_NAME;
    int stat = __builtin_ctzll(left);
    const struct xplane_value *value = &stats->value[stat];
    if (left & (left - 1) || (value->type != XPLANE_INT && value->type != XPLANE_UINT))
        return args_of(load, stats, left);
    if (!load->last_number_text || load->last_number_stat != stat ||
        load->last_number.type != value->type || load->last_number.number.u != value->number.u) {
        load->last_number_text = args_of(load, stats, left);
        load->last_number_stat = stat;
        load->last_number = *value;
    }
    return load->last_number_text;
}

/* ---- lines and events ---- */

uint32_t xplane_name(struct xplane_load *load, struct xplane_meta *meta)
{
    if (!meta)
        return NL_NO_NAME;
    if (!meta->name_id)
        meta->name_id = nl_stage_name(load->stage, meta->name.len ? meta->name : meta->display);
    return meta->name_id;
}

static int64_t floor_ns(int64_t ps)
{
    return ps / 1000 - (ps % 1000 < 0);
}

/* Times of an event from its offset and length in ps. False when they are out of range. */
static bool set_times(struct xplane_event *event, int64_t line_ns, int64_t offset, int64_t dur)
{
    int64_t end_ps, end;
    if (dur < 0 || __builtin_add_overflow(offset, dur, &end_ps) ||
        __builtin_add_overflow(line_ns, floor_ns(offset), &event->ts) ||
        __builtin_add_overflow(line_ns, floor_ns(end_ps), &end) || event->ts == NL_NULL_I64)
        return false;
    event->dur = end - event->ts;
    return true;
}

/* False when the event has no place in time (noted). */
static bool read_event(struct xplane_load *load, const struct xplane_plane *plane,
                       const struct xplane_line *line, const struct wire_field *bytes,
                       struct xplane_event *event)
{
    struct wire wire = wire_inside(bytes);
    struct wire_field field;
    int64_t id = 0, offset = 0, dur = 0;
    bool aggregate = false;
    event->stats = (struct wire){.at = wire.end, .end = wire.end};
    for (const unsigned char *at = wire.at; xplane_next(load, &wire, &field); at = wire.at) {
        switch (field.number) {
        case XEVENT_METADATA_ID: id = wire_i64(&field); break;
        case XEVENT_OFFSET_PS: offset = wire_i64(&field); break;
        case XEVENT_DURATION_PS: dur = wire_i64(&field); break;
        case XEVENT_STATS:
            if (event->stats.at == wire.end)
                event->stats.at = at;
            break;
        case XEVENT_OCCURRENCES: aggregate = true; break;
        default: break;
        }
    }
    if (aggregate || !set_times(event, line->timestamp_ns, offset, dur)) {
        load->notes[aggregate ? XPLANE_NOTE_AGGREGATE : XPLANE_NOTE_TIME]++;
        return false;
    }
    uint32_t row = nl_idmap_get(&plane->meta_index, (uint64_t)id);
    event->meta = row != NL_NO_ROW ? &plane->metas[row] : NULL;
    if (!event->meta)
        load->notes[XPLANE_NOTE_NAMELESS]++;
    return true;
}

bool xplane_events(struct xplane_load *load, const struct xplane_plane *plane,
                   const struct xplane_line *line, xplane_take_fn *take, void *context)
{
    struct wire wire = line->bytes;
    struct wire_field field;
    struct xplane_event event;
    while (xplane_next(load, &wire, &field)) {
        if (field.number != XLINE_EVENTS || !wire_is_text(&field))
            continue;
        if ((++load->events & 4095) == 0 &&
            (nl_job_cancelled(load->job) || nl_builder_over_budget(load->builder)))
            return false;
        if (read_event(load, plane, line, &field, &event))
            take(context, &event);
    }
    nl_job_add(load->job, (uint64_t)(line->bytes.end - line->bytes.at));
    return true;
}

static void read_line(const struct wire_field *bytes, struct xplane_line *line)
{
    *line = (struct xplane_line){.bytes = wire_inside(bytes), .name = {"", 0}};
    struct wire wire = line->bytes;
    struct wire_field field;
    struct nl_str display = {"", 0};
    while (xplane_again(&wire, &field)) {
        switch (field.number) {
        case XLINE_ID: line->id = wire_i64(&field); break;
        case XLINE_NAME: line->name = wire_str(&field); break;
        case XLINE_TIMESTAMP_NS: line->timestamp_ns = wire_i64(&field); break;
        case XLINE_DISPLAY_NAME: display = wire_str(&field); break;
        default: break;
        }
    }
    if (!line->name.len)
        line->name = display;
}

bool xplane_lines(struct xplane_load *load, struct xplane_plane *plane,
                  bool (*take)(struct xplane_load *, struct xplane_plane *, struct xplane_line *,
                               void *),
                  void *context)
{
    struct wire wire = plane->bytes;
    struct wire_field field;
    struct xplane_line line;
    while (xplane_again(&wire, &field)) {
        if (field.number != XPLANE_FIELD_LINES || !wire_is_text(&field))
            continue;
        read_line(&field, &line);
        if (!take(load, plane, &line, context))
            return false;
    }
    return true;
}

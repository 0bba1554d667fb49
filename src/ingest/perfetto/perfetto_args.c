/*
 * Debug annotations → one JSON object per event. Dictionaries and lists may nest: they are walked
 * with a stack of our own, of bounded depth.
 */
#include <stddef.h>

#include "base/json.h"
#include "base/units.h"
#include "ingest/perfetto/perfetto.h"
#include "ingest/perfetto/perfettofields.h"
#include "store/copykind.h"

#define MAX_DEPTH 12

struct level {
    struct wire wire;
    char close;
    bool keyed;
};

/* Numbers that have a separate column. rocprofv3 gives only the work-items of a group and a grid,
 * over all dimensions; our own export (and others of its kind) name the columns. */
static const struct {
    const char *name;
    size_t offset;
    bool wide; /* uint64_t, else uint32_t */
} known[] = {
#define WIDE(name, member)                                                                         \
    {                                                                                              \
        name, offsetof(struct perfetto_launch, member), true                                       \
    }
#define NARROW(name, member)                                                                       \
    {                                                                                              \
        name, offsetof(struct perfetto_launch, member), false                                      \
    }
    WIDE("corr_id", correlation),
    WIDE("correlation_id", correlation),
    WIDE("correlation", correlation),
    WIDE("correlationId", correlation),
    WIDE("bytes", bytes),
    WIDE("size", bytes),
    WIDE("copy_bytes", bytes),
    WIDE("graph", graph),
    WIDE("graph_node", graph_node),
    NARROW("workgroup_size", group_items),
    NARROW("grid_size", grid_items),
    NARROW("group_segment_size", shared_bytes),
    NARROW("static_shared_bytes", shared_bytes),
    NARROW("dynamic_shared_bytes", dynamic_shared_bytes),
    NARROW("registers", registers),
    NARROW("grid_x", grid[0]),
    NARROW("grid_y", grid[1]),
    NARROW("grid_z", grid[2]),
    NARROW("block_x", block[0]),
    NARROW("block_y", block[1]),
    NARROW("block_z", block[2]),
#undef WIDE
#undef NARROW
};

static void note_launch(struct nl_str name, const struct wire_field *value,
                        struct perfetto_launch *launch)
{
    uint64_t number = value->value;
    if (value->number == ANNOTATION_DOUBLE_VALUE && nl_str_is(name, "occupancy"))
        launch->occupancy = wire_f64(value);
    if (value->number == ANNOTATION_STRING_VALUE && nl_str_is(name, "kind"))
        launch->direction = (uint8_t)nl_copykind_of_text(wire_str(value));
    if (!wire_is_varint(value))
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!nl_str_is(name, known[i].name))
            continue;
        uint32_t count = number < NL_NULL_U32 ? (uint32_t)number : NL_NULL_U32;
        if (known[i].wide)
            memcpy((char *)launch + known[i].offset, &number, sizeof number);
        else
            memcpy((char *)launch + known[i].offset, &count, sizeof count);
    }
}

static struct nl_str annotation_name(struct perfetto_load *load,
                                     const struct perfetto_sequence *sequence, struct wire wire,
                                     struct wire_field *value)
{
    struct wire_field field;
    struct nl_str name = {"", 0};
    *value = (struct wire_field){0};
    while (wire_next(&wire, &field)) {
        if (field.number == ANNOTATION_NAME_IID)
            name = perfetto_text(load, sequence, PERFETTO_ARG_NAMES, field.value)->text;
        else if (field.number == ANNOTATION_NAME)
            name = wire_str(&field);
        else if (!value->number && field.number != ANNOTATION_PROTO_TYPE_NAME &&
                 field.number != ANNOTATION_PROTO_TYPE_NAME_IID)
            *value = field;
    }
    return name;
}

/* A scalar; false for dictionaries and lists, which *nested is set for. */
static bool write_scalar(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                         struct nl_json *json, const struct wire_field *value)
{
    switch (value->number) {
    case ANNOTATION_BOOL_VALUE: nl_json_bool(json, value->value != 0); return true;
    case ANNOTATION_UINT_VALUE:
    case ANNOTATION_POINTER_VALUE: nl_json_u64(json, value->value); return true;
    case ANNOTATION_INT_VALUE: nl_json_i64(json, wire_i64(value)); return true;
    case ANNOTATION_DOUBLE_VALUE: nl_json_f64(json, wire_f64(value)); return true;
    case ANNOTATION_STRING_VALUE:
    case ANNOTATION_LEGACY_JSON_VALUE: nl_json_str(json, wire_str(value)); return true;
    case ANNOTATION_STRING_VALUE_IID:
        nl_json_str(json, perfetto_text(load, sequence, PERFETTO_ARG_TEXTS, value->value)->text);
        return true;
    case ANNOTATION_DICT_ENTRIES:
    case ANNOTATION_ARRAY_VALUES: return false;
    default: nl_json_null(json); return true;
    }
}

/* Writes the annotations with `number` in `event`, and all below them. */
static bool write_all(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                      struct nl_json *json, struct wire event, uint32_t number,
                      struct perfetto_launch *launch)
{
    struct level levels[MAX_DEPTH] = {{.wire = event, .close = '}', .keyed = true}};
    uint32_t numbers[MAX_DEPTH] = {number};
    unsigned depth = 0;
    bool any = false;
    struct wire_field field, value;
    for (;;) {
        struct level *level = &levels[depth];
        if (!wire_next(&level->wire, &field)) {
            nl_json_close(json, level->close);
            if (depth-- == 0)
                return any;
            continue;
        }
        if (field.number != numbers[depth] || !wire_is_text(&field))
            continue;
        any = true;
        struct nl_str name = annotation_name(load, sequence, wire_inside(&field), &value);
        if (level->keyed) {
            char key[128];
            size_t len = name.len < sizeof key - 1 ? name.len : sizeof key - 1;
            memcpy(key, name.len ? name.ptr : "", len);
            key[len] = '\0';
            nl_json_key(json, key);
        }
        if (launch && depth == 0)
            note_launch(name, &value, launch);
        if (write_scalar(load, sequence, json, &value))
            continue;
        if (depth + 1 == MAX_DEPTH) {
            nl_json_null(json);
            load->notes[PERFETTO_NOTE_DEEP]++;
            continue;
        }
        bool list = value.number == ANNOTATION_ARRAY_VALUES;
        depth++;
        levels[depth] = (struct level){wire_inside(&field), list ? ']' : '}', !list};
        numbers[depth] = value.number;
        nl_json_open(json, list ? '[' : '{');
    }
}

static void write_tag(struct nl_json *json, const struct perfetto_tag *tag, bool told)
{
    if (!told)
        return;
    nl_json_key(json, "correlation_id");
    if (tag->is_number)
        nl_json_u64(json, tag->number);
    else
        nl_json_str(json, tag->text);
}

/* Ids that are texts become numbers, the same for equal texts; digits are
 * the number that they say. */
static uint64_t tag_number(const struct perfetto_tag *tag)
{
    int64_t number;
    if (tag->is_number)
        return tag->number;
    if (nl_parse_i64(tag->text, &number) && number >= 0)
        return (uint64_t)number;
    return nl_hash(tag->text.ptr, tag->text.len) >> 1;
}

uint32_t perfetto_args(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                       struct wire event, const struct perfetto_tag *tag,
                       struct perfetto_launch *launch)
{
    /* A number of a launch has a column. */
    bool told = tag->text.len || (tag->is_number && !launch);
    struct nl_json json;
    struct wire look = event;
    struct wire_field field;
    bool any = told;
    while (!any && wire_next(&look, &field))
        any = field.number == EVENT_DEBUG_ANNOTATIONS;
    if (any) {
        nl_buf_clear(&load->text);
        nl_json_to_buf(&json, &load->text, 0);
        nl_json_open(&json, '{');
        write_tag(&json, tag, told);
        any = write_all(load, sequence, &json, event, EVENT_DEBUG_ANNOTATIONS, launch) || told;
    }
    if (launch && (tag->is_number || tag->text.len))
        launch->correlation = tag_number(tag);
    if (!any || load->text.overflow)
        return NL_NO_NAME;
    return nl_stage_name(load->stage, (struct nl_str){load->text.ptr, load->text.len});
}

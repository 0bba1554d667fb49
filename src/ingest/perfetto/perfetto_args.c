/*
 * Debug annotations → one JSON object per event. Dictionaries and lists may nest: they are walked with
 * a stack of our own, of bounded depth.
 */
#include "base/json.h"
#include "base/units.h"
#include "ingest/perfetto/perfetto.h"

#define DEPTH_MOST 12
#define ANNOTATION 4 /* field of a track event */

struct level {
    struct wire wire;
    char close;
    bool keyed;
};

/* Numbers that have a column of their own. rocprofv3 tells only how many work-items a group and a grid
 * have, over all dimensions. */
static void note_launch(struct nl_str name, const struct wire_field *value,
                        struct perfetto_launch *launch)
{
    enum { CORRELATION, BYTES, GROUP, GRID, SHARED };
    static const struct {
        const char *name;
        int what;
    } known[] = {{"corr_id", CORRELATION},
                 {"correlation_id", CORRELATION},
                 {"correlation", CORRELATION},
                 {"correlationId", CORRELATION},
                 {"bytes", BYTES},
                 {"size", BYTES},
                 {"copy_bytes", BYTES},
                 {"workgroup_size", GROUP},
                 {"grid_size", GRID},
                 {"group_segment_size", SHARED}};
    uint64_t number = value->value;
    if (!wire_is_varint(value))
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!nl_str_is(name, known[i].name))
            continue;
        uint32_t count = number < NL_NULL_U32 ? (uint32_t)number : NL_NULL_U32;
        switch (known[i].what) {
        case CORRELATION: launch->correlation = number; break;
        case BYTES: launch->bytes = number; break;
        case GROUP: launch->group_items = count; break;
        case GRID: launch->grid_items = count; break;
        default: launch->shared_bytes = count; break;
        }
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
        if (field.number == 1)
            name = perfetto_text(load, sequence, PERFETTO_ARG_NAMES, field.value)->text;
        else if (field.number == 10)
            name = wire_str(&field);
        else if (!value->number && field.number != 16 && field.number != 13)
            *value = field;
    }
    return name;
}

/* A scalar; false for dictionaries and lists, which *nested is set for. */
static bool write_scalar(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                         struct nl_json *json, const struct wire_field *value)
{
    switch (value->number) {
    case 2: nl_json_bool(json, value->value != 0); return true;
    case 3:
    case 7: nl_json_u64(json, value->value); return true;
    case 4: nl_json_i64(json, wire_i64(value)); return true;
    case 5: nl_json_f64(json, wire_f64(value)); return true;
    case 6:
    case 9: nl_json_str(json, wire_str(value)); return true;
    case 17:
        nl_json_str(json, perfetto_text(load, sequence, PERFETTO_ARG_TEXTS, value->value)->text);
        return true;
    case 11:
    case 12: return false;
    default: nl_json_null(json); return true;
    }
}

/* Writes the annotations with `number` in `event`, and all below them. */
static bool write_all(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                      struct nl_json *json, struct wire event, uint32_t number,
                      struct perfetto_launch *launch)
{
    struct level levels[DEPTH_MOST] = {{.wire = event, .close = '}', .keyed = true}};
    uint32_t numbers[DEPTH_MOST] = {number};
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
        if (depth + 1 == DEPTH_MOST) {
            nl_json_null(json);
            load->notes[PERFETTO_NOTE_DEEP]++;
            continue;
        }
        bool list = value.number == 12;
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

/* Ids that are texts become numbers, the same for equal texts; digits are the number that they say. */
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
        any = field.number == ANNOTATION;
    if (any) {
        nl_buf_clear(&load->text);
        nl_json_to_buf(&json, &load->text, 0);
        nl_json_open(&json, '{');
        write_tag(&json, tag, told);
        any = write_all(load, sequence, &json, event, ANNOTATION, launch) || told;
    }
    if (launch && (tag->is_number || tag->text.len))
        launch->correlation = tag_number(tag);
    if (!any || load->text.overflow)
        return NL_NO_NAME;
    return nl_stage_name(load->stage, (struct nl_str){load->text.ptr, load->text.len});
}

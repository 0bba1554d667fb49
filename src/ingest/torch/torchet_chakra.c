/*
 * Chakra's protobuf stream: a length before every message, GlobalMetadata first, then nodes
 * (et_def.proto). Unpacked, it says the same as the JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/units.h"
#include "ingest/torch/chakrafields.h"
#include "ingest/torch/torchet.h"
#include "parse/wire.h"

static const char *const types[] = {NULL,   "METADATA",  "MEM_LOAD",  "MEM_STORE",
                                    "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL"};

/* "0.0.4", "1.1.0-chakra.0.0.4": GlobalMetadata.version. */
static bool is_version(const struct wire_field *field)
{
    size_t dots = 0, at = 0;
    const char *text = (const char *)wire_str(field).ptr;
    for (; at < field->len && (text[at] == '.' || nl_is_digit(text[at])); at++)
        dots += text[at] == '.';
    return field->number == GLOBAL_METADATA_VERSION && dots >= 1 && dots <= 3 && text[0] != '.' &&
           (at == field->len || text[at] == '-');
}

/* The length of a node and whole fields of it. */
static bool begins_node(const unsigned char *bytes, size_t len)
{
    struct wire node = wire_over(bytes, len);
    uint64_t size;
    size_t fields;
    bool cut;
    if (!wire_varint(&node, &size) || size < 2)
        return false;
    size_t left = (size_t)(node.end - node.at);
    return wire_sound_prefix(node.at, size < left ? (size_t)size : left, NODE_HIGHEST, &fields,
                             &cut) > 0 &&
           fields > 1;
}

bool torchet_is_chakra(const void *bytes, size_t len)
{
    struct wire stream = wire_over(bytes, len);
    uint64_t size;
    if (!wire_varint(&stream, &size) || size < 4 || size > (uint64_t)1 << 24)
        return false;
    size_t left = (size_t)(stream.end - stream.at);
    struct wire_field field;
    struct wire first = wire_over(stream.at, size < left ? (size_t)size : left);
    if (!wire_next(&first, &field) || field.number > GLOBAL_METADATA_ATTR || !wire_is_text(&field))
        return false;
    struct nl_str head = {(const char *)stream.at, left};
    bool version = is_version(&field);
    if (!version && !nl_str_contains(head, "schema"))
        return false;
    if (size >= left) /* long metadata: its first attribute has to do */
        return version || nl_str_contains(head, "chakra");
    return begins_node(stream.at + size, left - (size_t)size);
}

/* A number of AttributeProto as text; the field's number says its type. Empty for lists. */
static struct nl_str number_text(const struct wire_field *field, char room[32])
{
    int len = 0;
    if (field->number == ATTRIBUTE_DOUBLE_VAL || field->number == ATTRIBUTE_FLOAT_VAL)
        len = snprintf(room, 32, "%.9g", wire_f64(field));
    else if (!wire_is_varint(field))
        len = 0;
    else if (field->number == ATTRIBUTE_BOOL_VAL)
        return nl_str(field->value ? "true" : "false");
    else if (field->number == ATTRIBUTE_UINT32_VAL || field->number == ATTRIBUTE_UINT64_VAL)
        len = snprintf(room, 32, "%" PRIu64, field->value);
    else if (field->number == ATTRIBUTE_SINT32_VAL || field->number == ATTRIBUTE_SINT64_VAL)
        len = snprintf(room, 32, "%" PRId64, wire_zigzag(field->value));
    else
        len = snprintf(room, 32, "%" PRId64, wire_i64(field));
    return (struct nl_str){room, (size_t)len};
}

/* AttributeProto: a name and a value of any type; the value's text, and whether to quote it. */
static bool read_attribute(const struct wire_field *from, struct nl_str *name, struct nl_str *value,
                           bool *quote, char room[32])
{
    struct wire message = wire_inside(from);
    struct wire_field field;
    *value = *name = (struct nl_str){"", 0};
    *quote = false;
    while (wire_next(&message, &field)) {
        if (field.number == ATTRIBUTE_NAME && wire_is_text(&field))
            *name = wire_str(&field);
        else if (field.number == ATTRIBUTE_STRING_VAL && wire_is_text(&field))
            *value = wire_str(&field), *quote = true;
        else if (!wire_is_text(&field))
            *value = number_text(&field, room), *quote = false;
    }
    return name->len > 0;
}

/* Packed numbers as a JSON array. */
static void read_dependencies(struct torchet *et, const char *name, const struct wire_field *from)
{
    struct wire packed = wire_inside(from);
    struct nl_buf text;
    uint64_t value;
    nl_buf_init(&text, (size_t)64 << 10);
    while (wire_varint(&packed, &value))
        nl_buf_format(&text, "%s%" PRIu64, text.len ? "," : "[", value);
    nl_buf_char(&text, ']');
    if (text.len > 1 && !text.overflow)
        torchet_fact(et, nl_str(name), (struct nl_str){text.ptr, text.len}, false);
    nl_buf_release(&text);
}

/* IOInfo */
static void read_side(struct torchet *et, const struct wire_field *from, bool input)
{
    struct nl_node_row *node = &et->node;
    struct wire message = wire_inside(from);
    struct wire_field field;
    while (wire_next(&message, &field)) {
        struct nl_str text = wire_str(&field);
        if (field.number == IO_INFO_VALUES)
            torchet_fact(et, nl_str(input ? "inputs" : "outputs"), text, true);
        else if (field.number == IO_INFO_SHAPES)
            *(input ? &node->input_shapes : &node->output_shapes) = torchet_text(et, text);
        else if (field.number == IO_INFO_TYPES)
            *(input ? &node->input_types : &node->output_types) = torchet_text(et, text);
    }
}

static void read_node_field(struct torchet *et, const struct wire_field *field)
{
    struct nl_node_row *node = &et->node;
    char room[32];
    switch (field->number) {
    case NODE_ID: node->index = wire_i64(field); break;
    case NODE_TYPE:
        if (field->value > 0 && field->value < sizeof types / sizeof types[0])
            node->type = nl_stage_name(et->stage, nl_str(types[field->value]));
        break;
    case NODE_START_TIME_MICROS:
        if (field->value) {
            int len = snprintf(room, sizeof room, "%" PRIu64, field->value);
            torchet_fact(et, nl_str("start_us"), (struct nl_str){room, (size_t)len}, false);
        }
        break;
    case NODE_DURATION_MICROS:
        if (field->value < INT64_MAX / 1000) {
            node->total_ns = (int64_t)field->value * 1000;
            node->count = 1;
        }
        break;
    default: break;
    }
}

/* Node. Zero is what protobuf leaves out, and an id. */
static void read_node(struct torchet *et, struct wire message)
{
    struct wire_field field;
    struct nl_str name, value;
    char room[32];
    bool quote;
    torchet_begin(et);
    et->node.index = 0;
    while (wire_next(&message, &field)) {
        switch (field.number) {
        case NODE_NAME: et->node.name = torchet_text(et, wire_str(&field)); break;
        case NODE_CTRL_DEPS: read_dependencies(et, "ctrl_deps", &field); break;
        case NODE_DATA_DEPS: read_dependencies(et, "data_deps", &field); break;
        case NODE_INPUTS: read_side(et, &field, true); break;
        case NODE_OUTPUTS: read_side(et, &field, false); break;
        case NODE_ATTR:
            if (read_attribute(&field, &name, &value, &quote, room))
                torchet_fact(et, name, value, quote);
            break;
        default: read_node_field(et, &field); break;
        }
    }
    et->damaged += message.damaged;
    torchet_keep(et);
}

static void read_metadata(struct torchet *et, struct wire message)
{
    struct wire_field field;
    struct nl_str name, value;
    char room[32];
    bool quote;
    while (wire_next(&message, &field))
        if (field.number == GLOBAL_METADATA_ATTR &&
            read_attribute(&field, &name, &value, &quote, room))
            torchet_global(et, name, value);
}

bool torchet_chakra(struct torchet *et, const void *bytes, size_t len, struct nl_err *err)
{
    struct wire stream = wire_over(bytes, len);
    uint64_t size;
    for (uint64_t i = 0; wire_varint(&stream, &size); i++) {
        if (size > (uint64_t)(stream.end - stream.at)) {
            et->cut++;
            break;
        }
        struct wire message = wire_over(stream.at, (size_t)size);
        stream.at += size;
        if (i == 0)
            read_metadata(et, message);
        else
            read_node(et, message);
        if (et->damaged || nl_builder_over_budget(et->builder))
            break;
        if (i % 4096 == 0 && nl_job_cancelled(et->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
    }
    et->cut += stream.damaged;
    return true;
}

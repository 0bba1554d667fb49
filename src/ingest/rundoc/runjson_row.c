/* Objects into rows, by tables of members. Writers keep one order, so the search for a member
 * begins after the one found last. */
#include <stdlib.h>

#include "ingest/rundoc/runjson.h"

static const struct runjson_member *find_member(const struct runjson_member *members,
                                                const struct runjson_member *from,
                                                struct nl_str key)
{
    for (const struct runjson_member *member = from; member->key; member++)
        if (nl_str_is(key, member->key))
            return member;
    for (const struct runjson_member *member = members; member < from; member++)
        if (nl_str_is(key, member->key))
            return member;
    return NULL;
}

static bool read_u64(const struct jsonpull *reader, uint64_t *value)
{
    int64_t whole;
    char text[24], *end;
    if (reader->type != JSONPULL_NUMBER)
        return false;
    if (jsonpull_i64(reader, &whole)) {
        if (whole >= 0)
            *value = (uint64_t)whole;
        return whole >= 0;
    }
    if (reader->text.len >= sizeof text || reader->text.ptr[0] == '-')
        return false;
    memcpy(text, reader->text.ptr, reader->text.len);
    text[reader->text.len] = 0;
    uint64_t wide = strtoull(text, &end, 10);
    if (*end || wide >= NL_NULL_U64)
        return false;
    *value = wide;
    return true;
}

static bool read_u32(const struct jsonpull *reader, uint32_t *value)
{
    uint64_t wide;
    if (!read_u64(reader, &wide) || wide >= NL_NULL_U32)
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool read_i64(const struct jsonpull *reader, int64_t *value)
{
    int64_t number;
    if (reader->type != JSONPULL_NUMBER || !jsonpull_i64(reader, &number) || number == NL_NULL_I64)
        return false;
    *value = number;
    return true;
}

/* Goes on to the list's end whatever stands in it. */
static bool read_three(struct jsonpull *reader, uint32_t *values)
{
    size_t count = 0;
    bool good = true;
    if (reader->type != JSONPULL_ARRAY)
        return false;
    while (jsonpull_item(reader)) {
        if (count < 3 && reader->type == JSONPULL_NUMBER)
            good &= read_u32(reader, &values[count]);
        else
            good &= count < 3 && reader->type == JSONPULL_NULL;
        jsonpull_skip(reader);
        count++;
    }
    return good && count == 3;
}

static bool read_enum(const struct jsonpull *reader, const struct runjson_member *member,
                      uint8_t *value)
{
    if (reader->type != JSONPULL_STRING)
        return false;
    int number = nl_enum_value(member->enumeration, reader->text.ptr, reader->text.len);
    if (number <= 0)
        return false;
    *value = (uint8_t)number;
    return true;
}

static const struct runjson_member counter_members[] = {
    {"name", RUNJSON_NAME, offsetof(struct nl_metric_row, name), 0, NULL},
    {"value", RUNJSON_F64, offsetof(struct nl_metric_row, value), 0, NULL},
    {"unit", RUNJSON_NAME, offsetof(struct nl_metric_row, unit), 0, NULL},
    {"text", RUNJSON_NAME, offsetof(struct nl_metric_row, text), 0, NULL},
    {"section", RUNJSON_NAME, offsetof(struct nl_metric_row, section), 0, NULL},
    {"measured", RUNJSON_U32, offsetof(struct nl_metric_row, measured), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static bool read_counters(struct runjson *load, struct jsonpull *reader)
{
    if (reader->type != JSONPULL_ARRAY)
        return false;
    while (jsonpull_item(reader)) {
        if (reader->type != JSONPULL_OBJECT) {
            jsonpull_skip(reader);
            continue;
        }
        struct nl_metric_row row = nl_metric_row();
        runjson_read_row(load, reader, counter_members, &row);
        nl_grow(&load->metrics, &load->metric_cap, load->metric_count + 1);
        load->metrics[load->metric_count++] = row;
    }
    return true;
}

static bool read_measurement(const struct runjson *load, const struct jsonpull *reader,
                             uint32_t *row)
{
    int64_t place;
    if (!read_i64(reader, &place) || place < 0 || (uint64_t)place >= load->measurements.count)
        return false;
    *row = runjson_row(&load->measurements, place);
    return true;
}

/* A scalar (or a bracket that was opened); false when it is of another type. */
static bool read_value(struct runjson *load, struct jsonpull *reader,
                       const struct runjson_member *member, void *target)
{
    enum jsonpull_type type = reader->type;
    switch (member->type) {
    case RUNJSON_I64: return read_i64(reader, target);
    case RUNJSON_U64: return read_u64(reader, target);
    case RUNJSON_U32: return read_u32(reader, target);
    case RUNJSON_F64: return type == JSONPULL_NUMBER && jsonpull_f64(reader, target);
    case RUNJSON_ENUM: return read_enum(reader, member, target);
    case RUNJSON_THREE: return read_three(reader, target);
    case RUNJSON_COUNTERS: return read_counters(load, reader);
    case RUNJSON_MEASUREMENT: return read_measurement(load, reader, target);
    case RUNJSON_NAME:
        if (type == JSONPULL_STRING)
            *(uint32_t *)target = nl_stage_name(load->stage, reader->text);
        return type == JSONPULL_STRING;
    case RUNJSON_TEXT:
        if (type == JSONPULL_STRING)
            *(struct nl_str *)target = jsonpull_keep(reader, &load->arena);
        return type == JSONPULL_STRING;
    case RUNJSON_IGNORED: jsonpull_skip(reader); return true;
    case RUNJSON_BOOL:
        *(bool *)target = type == JSONPULL_TRUE;
        return type == JSONPULL_TRUE || type == JSONPULL_FALSE;
    case RUNJSON_OBJECT:
        if (type != JSONPULL_OBJECT)
            return false;
        ((struct runjson_object *)target)->there = true;
        runjson_read_row(load, reader, member->members, ((struct runjson_object *)target)->row);
        return true;
    }
    return false;
}

void runjson_read_row(struct runjson *load, struct jsonpull *reader,
                      const struct runjson_member *members, void *row)
{
    const struct runjson_member *next = members;
    while (jsonpull_member(reader)) {
        const struct runjson_member *member = find_member(members, next, reader->text);
        if (!member) {
            load->odd++;
            jsonpull_skip(reader);
            continue;
        }
        next = member + 1;
        if (jsonpull_next(reader) == JSONPULL_NULL)
            continue;
        bool bracket = reader->type == JSONPULL_OBJECT || reader->type == JSONPULL_ARRAY;
        if (!read_value(load, reader, member, (char *)row + member->offset)) {
            load->odd++;
            if (bracket && reader->type != JSONPULL_ARRAY_END)
                jsonpull_skip(reader);
        }
    }
}

uint32_t runjson_row(const struct runjson_rows *rows, int64_t place)
{
    return place >= 0 && (uint64_t)place < rows->count ? rows->items[place] : NL_NULL_ROW;
}

bool runjson_stopped(const struct runjson *load)
{
    return nl_job_cancelled(load->job) || nl_builder_over_budget(load->builder);
}

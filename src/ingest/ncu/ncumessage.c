/* Messages of Nsight Compute's reports that stand on their own. */
#include "ingest/ncu/ncumessage.h"
#include "base/utf8.h"
#include "ingest/ncu/ncurepfields.h"
#include "base/sum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void set_number(struct ncu_value *value, double number)
{
    value->kind = isfinite(number) ? NCU_NUMBER : NCU_NO_DATA;
    value->number = number;
    value->whole = fabs(number) < 9e18 ? nl_whole_i64(number) : 0;
}

struct ncu_value ncu_read_value(const struct wire_field *from, char room[24])
{
    struct ncu_value value = {.kind = NCU_NO_DATA};
    struct wire message = wire_inside(from);
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.number == VALUE_STRING && wire_is_text(&field)) {
            value.kind = NCU_TEXT;
            value.text = wire_str(&field);
        } else if (field.number == VALUE_FLOAT || field.number == VALUE_DOUBLE) {
            set_number(&value, wire_f64(&field));
        } else if (field.number == VALUE_UINT32 || field.number == VALUE_UINT64) {
            set_number(&value, (double)field.value);
            value.whole = field.value <= INT64_MAX ? (int64_t)field.value : 0;
            if (field.value >> 53)
                value.text = (struct nl_str){
                    room, (size_t)snprintf(room, 24, "%llu", (unsigned long long)field.value)};
        }
    }
    return value;
}

/* A varint of exactly these bytes, up to eight, of which eight can be read. */
static inline bool varint_of(const unsigned char *at, size_t len, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word &= UINT64_MAX >> (64 - 8 * len);
    if ((word & 0x8080808080808080) != (0x8080808080808080 & (((uint64_t)1 << 8 * (len - 1)) - 1)))
        return false;
    word &= 0x7f7f7f7f7f7f7f7f;
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
    *value = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
    return true;
}

/* A field of bytes that is a message of one whole number; *at moves past it. */
static inline bool number_message(const unsigned char **at, const unsigned char *end,
                                  unsigned char tag, uint64_t *value)
{
    const unsigned char *from = *at;
    if (end - from < 3 || from[0] != tag || from[1] < 2 || from[1] > 9 || (from[2] & ~8) != 0x20 ||
        from[1] > end - from - 2)
        return false;
    *at = from + 2 + from[1];
    return varint_of(from + 3, from[1] - 1u, value);
}

bool ncu_quick_instance(const struct wire_field *from, const unsigned char *end, int64_t *key,
                        double *value)
{
    const unsigned char *at = from->data, *last = from->data + from->len;
    uint64_t number, count;
    if (!at || end - last < 8 || !number_message(&at, last, 0x0a, &number) ||
        !number_message(&at, last, 0x12, &count) || at != last || count >> 53)
        return false;
    *key = (int64_t)number;
    *value = (double)count;
    return true;
}

struct nl_str ncu_text_in(struct wire message, uint32_t number)
{
    struct wire_field field;
    while (wire_next(&message, &field))
        if (field.number == number && wire_is_text(&field))
            return wire_str(&field);
    return (struct nl_str){NULL, 0};
}

uint64_t ncu_number_in(struct wire message, uint32_t number)
{
    struct wire_field field;
    while (wire_next(&message, &field))
        if (field.number == number && wire_is_varint(&field))
            return field.value;
    return 0;
}

/* DeviceAttributes */
static void read_device(struct ncu_load *load, const struct wire_field *from)
{
    struct wire message = wire_inside(from);
    struct wire_field field;
    int64_t ordinal = 0;
    char room[24];
    while (wire_next(&message, &field)) {
        if (field.number == DEVICE_ORDINAL && wire_is_varint(&field))
            ordinal = wire_i64(&field);
        if (field.number != DEVICE_ATTRIBUTES)
            continue;
        struct wire attribute = wire_inside(&field);
        struct wire_field part;
        struct ncu_value value = {.kind = NCU_NO_DATA};
        while (wire_next(&attribute, &part))
            if (part.number == ATTRIBUTE_VALUE)
                value = ncu_read_value(&part, room);
        ncu_device_attribute(load, ncu_text_in(wire_inside(&field), ATTRIBUTE_NAME), &value);
    }
    ncu_device_done(load, ordinal);
}

void ncu_read_session(struct ncu_load *load, const struct wire_field *from)
{
    static const char *const shown[] = {"CUDA Version", "Display Driver Version", "PerfWorks"};
    struct wire message = wire_inside(from);
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.number == SESSION_DEVICES)
            read_device(load, &field);
        if (field.number != SESSION_PROPERTIES)
            continue;
        struct nl_str key = ncu_text_in(wire_inside(&field), PROPERTY_KEY),
                      value = ncu_text_in(wire_inside(&field), PROPERTY_VALUE);
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
            if (nl_str_is(key, shown[i]))
                nl_builder_meta(load->builder, load->source, shown[i], value);
        if (nl_str_is(key, "Nsight Compute Target")) {
            char tool[96];
            int len = snprintf(tool, sizeof tool, "Nsight Compute %.*s", NL_UP_TO(60, value));
            nl_builder_tool(load->builder, load->source, (struct nl_str){tool, (size_t)len});
        }
    }
}

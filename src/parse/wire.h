/*
 * wire — a bounds-checked cursor over the protobuf wire format: no schema, no copies.
 *
 *     struct wire message = wire_over(bytes, len);
 *     struct wire_field field;
 *     while (wire_next(&message, &field))
 *         switch (field.number) {
 *         case 1: id = wire_i64(&field); break;            // varint
 *         case 2: name = wire_str(&field); break;          // text or bytes, borrowed
 *         case 3: inner = wire_inside(&field); ...         // nested message: another cursor
 *         case 4: packed = wire_inside(&field);            // packed varints, or one unpacked
 *                 while (wire_varint(&packed, &value)) ...
 *         }
 *     if (message.damaged) ...                             // cut or no protobuf at message.at
 *
 * A cursor borrows its bytes and never reads outside them. wire_next ends at the end or at the
 * first field that does not fit; `damaged` says which and `at` stays at that field. Nested messages
 * are not looked at until the caller opens a cursor over them, so nothing here recurses; deprecated
 * groups are stepped over with a counter. A field of another wire type than the caller expects
 * reads as 0 or "": ask wire_is_text / wire_is_varint where that matters.
 */
#ifndef NL_WIRE_H
#define NL_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,     /* stepped over: its fields are not shown */
    WIRE_GROUP_END = 4, /* never shown */
    WIRE_FIXED32 = 5,
};

struct wire {
    const unsigned char *at, *end;
    bool damaged;
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;            /* varint, or the bits of a fixed number; 0 for bytes */
    const unsigned char *data; /* WIRE_BYTES: where they start, else NULL */
    size_t len;                /* WIRE_BYTES: how many */
};

static inline struct wire wire_over(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    return (struct wire){.at = at, .end = at ? at + len : at};
}

/* Slow paths, in wire.c. */
bool wire_varint_slow(struct wire *wire, uint64_t *value);
bool wire_skip_group(struct wire *wire, uint32_t number);

/* Of eight bytes that begin with a varint: how many are its own (0 = more than eight), and its
 * value: the bytes at once, not one after the other. */
static inline unsigned wire_word_bytes(uint64_t word)
{
    uint64_t last = ~word & 0x8080808080808080;
    return last ? ((unsigned)__builtin_ctzll(last) + 1) / 8 : 0;
}

static inline uint64_t wire_word_value(uint64_t word, unsigned bytes)
{
    word &= UINT64_MAX >> (64 - 8 * bytes) & 0x7f7f7f7f7f7f7f7f;
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
    return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/* The next varint of a packed field. False at the end, or when damaged (over 10 bytes, or cut). */
static inline bool wire_varint(struct wire *wire, uint64_t *value)
{
    const unsigned char *at = wire->at;
    if (at < wire->end && *at < 0x80) {
        *value = *at;
        wire->at = at + 1;
        return true;
    }
    if (wire->end - at > 1 && at[1] < 0x80) {
        *value = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
        wire->at = at + 2;
        return true;
    }
    return wire_varint_slow(wire, value);
}

/* The next number of a packed fixed64 (double) or fixed32 (float) field. */
static inline bool wire_fixed64(struct wire *wire, uint64_t *value)
{
    if (wire->end - wire->at < 8) {
        wire->damaged = wire->damaged || wire->at != wire->end;
        return false;
    }
    memcpy(value, wire->at, 8); /* little-endian, as every machine we build for */
    wire->at += 8;
    return true;
}

static inline bool wire_fixed32(struct wire *wire, uint32_t *value)
{
    if (wire->end - wire->at < 4) {
        wire->damaged = wire->damaged || wire->at != wire->end;
        return false;
    }
    memcpy(value, wire->at, 4);
    wire->at += 4;
    return true;
}

/* The rest of wire_next for all but varints and bytes. */
bool wire_next_other(struct wire *wire, struct wire_field *field);

/* The next field of a message. False at the end or at damage (see `damaged`). */
static inline bool wire_next(struct wire *wire, struct wire_field *field)
{
    const unsigned char *start = wire->at;
    uint64_t tag, value;
    if (!wire_varint(wire, &tag))
        return false;
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wire_type)(tag & 7);
    field->data = NULL;
    field->len = 0;
    field->value = 0;
    bool fits = tag >> 32 == 0 && field->number != 0;
    if (fits && field->type == WIRE_VARINT) {
        fits = wire_varint(wire, &field->value);
    } else if (fits && field->type == WIRE_BYTES) {
        fits = wire_varint(wire, &value) && value <= (uint64_t)(wire->end - wire->at);
        if (fits) {
            field->data = wire->at;
            field->len = (size_t)value;
            wire->at += value;
        }
    } else if (fits) {
        fits = wire_next_other(wire, field);
    }
    if (!fits) {
        wire->at = start;
        wire->damaged = true;
    }
    return fits;
}

/* After wire_next ended with damage: the rest as one field, if the damage is a field of bytes that
 * is longer than the rest (a cut file). What is whole inside it can be read. */
bool wire_clip(struct wire *wire, struct wire_field *field);

/* A cursor over the inside of a nested message or packed field; over nothing for other types. */
static inline struct wire wire_inside(const struct wire_field *field)
{
    return wire_over(field->data, field->len);
}

static inline bool wire_is_text(const struct wire_field *field)
{
    return field->type == WIRE_BYTES;
}

static inline bool wire_is_varint(const struct wire_field *field)
{
    return field->type == WIRE_VARINT;
}

/* int64, int32, enum and bool fields: negative int32 are sent with 64 bits, so this suits all. */
static inline int64_t wire_i64(const struct wire_field *field)
{
    return (int64_t)field->value;
}

/* sint64 and sint32 fields. */
static inline int64_t wire_zigzag(uint64_t value)
{
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

static inline struct nl_str wire_str(const struct wire_field *field)
{
    return (struct nl_str){field->data ? (const char *)field->data : "", field->len};
}

/* A double or float field; a varint gives its number. */
double wire_f64(const struct wire_field *field);

/* How many bytes at the start of `bytes` are whole fields with numbers up to `highest`, for
 * recognition of a head that may be cut within its last field: *fields gets the number of whole
 * ones, *cut whether the rest is the start of one more field of sound tag and length. */
size_t wire_sound_prefix(const void *bytes, size_t len, uint32_t highest, size_t *fields,
                         bool *cut);

#endif

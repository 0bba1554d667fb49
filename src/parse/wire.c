/*
 * The paths of the protobuf cursor that are seldom taken; the others are inline in the header
 * because a trace has tens of millions of fields.
 */
#include "parse/wire.h"

/* A varint of up to eight bytes, which are all there. False when it is longer. */
static bool varint_of_eight(struct wire *wire, uint64_t *value)
{
    uint64_t word;
    memcpy(&word, wire->at, sizeof word);
    unsigned bytes = wire_word_bytes(word);
    if (!bytes)
        return false;
    *value = wire_word_value(word, bytes);
    wire->at += bytes;
    return true;
}

bool wire_varint_slow(struct wire *wire, uint64_t *value)
{
    if (wire->end - wire->at >= 8 && varint_of_eight(wire, value))
        return true;
    const unsigned char *at = wire->at;
    uint64_t sum = 0;
    for (unsigned shift = 0; at < wire->end && shift < 64; shift += 7) {
        unsigned char byte = *at++;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            if (shift == 63 && byte > 1)
                break;
            *value = sum;
            wire->at = at;
            return true;
        }
    }
    wire->damaged = wire->damaged || wire->at != wire->end;
    return false;
}

/* From after a group's start tag to after its end tag; groups inside it are
 * counted, not entered. */
bool wire_skip_group(struct wire *wire, uint32_t number)
{
    uint64_t tag, len;
    for (size_t open = 1; open;) {
        if (!wire_varint(wire, &tag))
            return false;
        uint64_t room = (uint64_t)(wire->end - wire->at);
        switch ((enum wire_type)(tag & 7)) {
        case WIRE_VARINT:
            if (!wire_varint(wire, &len))
                return false;
            continue;
        case WIRE_FIXED64: len = 8; break;
        case WIRE_FIXED32: len = 4; break;
        case WIRE_BYTES:
            if (!wire_varint(wire, &len))
                return false;
            room = (uint64_t)(wire->end - wire->at);
            break;
        case WIRE_GROUP: open++; continue;
        case WIRE_GROUP_END:
            if (--open == 0 && tag >> 3 != number)
                return false;
            continue;
        default: return false;
        }
        if (len > room)
            return false;
        wire->at += len;
    }
    return true;
}

bool wire_next_other(struct wire *wire, struct wire_field *field)
{
    uint32_t bits;
    switch (field->type) {
    case WIRE_FIXED64: return wire_fixed64(wire, &field->value);
    case WIRE_FIXED32:
        if (!wire_fixed32(wire, &bits))
            return false;
        field->value = bits;
        return true;
    case WIRE_GROUP: return wire_skip_group(wire, field->number);
    default: return false;
    }
}

bool wire_clip(struct wire *wire, struct wire_field *field)
{
    struct wire rest = wire_over(wire->at, (size_t)(wire->end - wire->at));
    uint64_t tag, len;
    if (!wire->damaged || !wire_varint(&rest, &tag) || (tag & 7) != WIRE_BYTES || tag >> 32 ||
        tag >> 3 == 0 || !wire_varint(&rest, &len) || len <= (uint64_t)(rest.end - rest.at))
        return false;
    *field = (struct wire_field){.number = (uint32_t)(tag >> 3),
                                 .type = WIRE_BYTES,
                                 .data = rest.at,
                                 .len = (size_t)(rest.end - rest.at)};
    wire->at = wire->end;
    return true;
}

double wire_f64(const struct wire_field *field)
{
    double wide;
    float narrow;
    uint32_t bits = (uint32_t)field->value;
    switch (field->type) {
    case WIRE_FIXED64: memcpy(&wide, &field->value, sizeof wide); return wide;
    case WIRE_FIXED32: memcpy(&narrow, &bits, sizeof narrow); return (double)narrow;
    case WIRE_VARINT: return (double)(int64_t)field->value;
    default: return 0;
    }
}

size_t wire_sound_prefix(const void *bytes, size_t len, uint32_t highest, size_t *fields, bool *cut)
{
    struct wire wire = wire_over(bytes, len);
    struct wire_field field;
    const unsigned char *sound = bytes;
    *fields = 0;
    *cut = false;
    while (wire_next(&wire, &field) && field.number <= highest) {
        sound = wire.at;
        (*fields)++;
    }
    struct wire rest = wire_over(sound, len - (size_t)(sound - (const unsigned char *)bytes));
    uint64_t tag, size;
    if (wire.damaged && wire_varint(&rest, &tag) && tag >> 3 != 0 && tag >> 3 <= highest) {
        bool whole = wire_varint(&rest, &size);
        *cut = (tag & 7) == WIRE_BYTES ? !whole || size > (uint64_t)(rest.end - rest.at)
                                       : rest.end - rest.at < 10 && (tag & 7) <= WIRE_FIXED32;
    }
    return (size_t)(sound - (const unsigned char *)bytes);
}

/* See marshal.h. Every read is checked against the end; lengths are never trusted. */
#include "ingest/stacks/marshal.h"

#include "base/units.h"
#include "store/schema.h"

#define FLAG_REFERENCE 0x80

void marshal_init(struct marshal *marshal, const void *bytes, size_t len)
{
    *marshal = (struct marshal){
        .start = bytes, .at = bytes, .end = bytes, .reference = bytes, .number = MARSHAL_NO_NUMBER};
    if (len) /* an empty file has no bytes to point into */
        marshal->end += len;
}

void marshal_release(struct marshal *marshal)
{
    nl_free(marshal->values);
    nl_free(marshal->interned);
    marshal->values = NULL;
    marshal->interned = NULL;
}

static struct marshal_value failed(struct marshal *marshal, const char *problem)
{
    if (!marshal->problem)
        marshal->problem = problem;
    return (struct marshal_value){.type = MARSHAL_ERROR};
}

/* Little-endian number of `bytes` bytes; 0 with a problem at the end. */
static uint64_t take_bytes(struct marshal *marshal, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(marshal->end - marshal->at) < bytes) {
        marshal->at = marshal->end;
        failed(marshal, "the data end early");
        return 0;
    }
    switch (bytes) {
    case 1: value = *marshal->at; break;
    case 4: memcpy(&value, marshal->at, 4); break; /* little-endian, as our machines are */
    case 8: memcpy(&value, marshal->at, 8); break;
    default:
        for (unsigned i = 0; i < bytes; i++)
            value |= (uint64_t)marshal->at[i] << 8 * i;
    }
    marshal->at += bytes;
    return value;
}

static struct nl_str take_text(struct marshal *marshal, unsigned size_bytes)
{
    uint64_t len = take_bytes(marshal, size_bytes);
    if (len > (uint64_t)(marshal->end - marshal->at)) {
        failed(marshal, "a text is longer than the data");
        return (struct nl_str){0};
    }
    struct nl_str text = {(const char *)marshal->at, (size_t)len};
    marshal->at += len;
    return text;
}

/* Python's long: digits of 15 bits, the sign in their number. */
static int64_t take_long(struct marshal *marshal)
{
    int32_t count = (int32_t)take_bytes(marshal, 4);
    uint32_t digits = count < 0 ? 0u - (uint32_t)count : (uint32_t)count;
    uint64_t value = 0;
    for (uint32_t i = 0; i < digits && !marshal->problem; i++) {
        uint64_t digit = take_bytes(marshal, 2);
        if (i < 4)
            value |= (digit & 0x7fff) << 15 * i;
    }
    if (digits > 4)
        return NL_NULL_I64;
    return count < 0 ? -(int64_t)value : (int64_t)value;
}

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* Python 2 writes reals as text; billionths are as fine as times get here. */
static struct marshal_value take_real_text(struct marshal *marshal)
{
    int64_t billionths;
    struct nl_str text = take_text(marshal, 1);
    struct marshal_value value = {.type = MARSHAL_REAL, .real = NL_NULL_F64};
    if (nl_decimal_shifted(text, 9, &billionths))
        value.real = (double)billionths / 1e9;
    return value;
}

static struct marshal_value take_string(struct marshal *marshal, char code)
{
    struct marshal_value value = {.type = MARSHAL_TEXT};
    struct nl_str text = take_text(marshal, code == 'z' || code == 'Z' ? 1 : 4);
    value.text = text.ptr;
    value.count = (uint32_t)text.len;
    if (code == 't') {
        nl_grow(&marshal->interned, &marshal->interned_cap, marshal->interned_count + 1);
        marshal->interned[marshal->interned_count++] = text;
    }
    return value;
}

static struct marshal_value take_interned(struct marshal *marshal)
{
    uint64_t number = take_bytes(marshal, 4);
    if (number >= marshal->interned_count)
        return failed(marshal, "a reference to a text that is not there");
    return (struct marshal_value){.type = MARSHAL_TEXT,
                                  .text = marshal->interned[number].ptr,
                                  .count = (uint32_t)marshal->interned[number].len};
}

static struct marshal_value take_reference(struct marshal *marshal)
{
    uint64_t number = take_bytes(marshal, 4);
    if (number >= marshal->count)
        return failed(marshal, "a reference to a value that is not there");
    struct marshal_value value = marshal->values[number];
    if (value.type == MARSHAL_TUPLE || value.type == MARSHAL_DICT)
        return failed(marshal, "a reference to a container that is still open");
    if (value.type == MARSHAL_TEXT)
        marshal->number = (uint32_t)number;
    return value;
}

static struct marshal_value take_value(struct marshal *marshal, char code)
{
    struct marshal_value value = {.type = MARSHAL_INTEGER};
    switch (code) {
    case 'N': value.type = MARSHAL_NONE; return value;
    case 'F': return value;
    case 'T': value.integer = 1; return value;
    case 'i': value.integer = (int32_t)take_bytes(marshal, 4); return value;
    case 'I': value.integer = (int64_t)take_bytes(marshal, 8); return value;
    case 'l': value.integer = take_long(marshal); return value;
    case 'g':
        value.type = MARSHAL_REAL;
        value.real = real_of(take_bytes(marshal, 8));
        return value;
    case 'f': return take_real_text(marshal);
    case ')':
    case '(':
        value.type = MARSHAL_TUPLE;
        value.count = (uint32_t)take_bytes(marshal, code == ')' ? 1 : 4);
        return value;
    case '{': value.type = MARSHAL_DICT; return value;
    case 'R': return take_interned(marshal);
    case 'z':
    case 'Z':
    case 'a':
    case 'A':
    case 'u':
    case 't':
    case 's': return take_string(marshal, code);
    default: return failed(marshal, "a kind of value that no profile has");
    }
}

struct marshal_value marshal_next_other(struct marshal *marshal)
{
    unsigned byte = (unsigned)take_bytes(marshal, 1);
    char code = (char)(byte & ~(unsigned)FLAG_REFERENCE);
    struct marshal_value value = {.type = MARSHAL_DICT_END};
    marshal->number = MARSHAL_NO_NUMBER;
    if (!marshal->problem && code == 'r')
        value = take_reference(marshal);
    else if (!marshal->problem && code != '0')
        value = take_value(marshal, code);
    if (marshal->problem)
        return (struct marshal_value){.type = MARSHAL_ERROR};
    if (byte & FLAG_REFERENCE && code != 'r') {
        if (marshal->count >= MARSHAL_NO_NUMBER - 1)
            return failed(marshal, "too many values");
        marshal->number = (uint32_t)marshal->count;
        nl_grow(&marshal->values, &marshal->cap, marshal->count + 1);
        marshal->values[marshal->count++] = value;
    }
    return value;
}

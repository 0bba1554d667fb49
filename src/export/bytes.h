/*
 * bytes — a growing array of bytes for binary formats, with the encodings that several of them
 * share: little-endian numbers, variable-length integers, fields of protobuf messages.
 *
 *     struct bytes body = {0};
 *     bytes_tag_varint(&body, 11, uuid);          // field 11 of a message
 *     bytes_tag_message(&packet, 11, &body);      // a message as field 11 of another
 *     bytes_release(&body);
 */
#ifndef NL_BYTES_H
#define NL_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct bytes {
    unsigned char *at;
    size_t len, cap;
};

static inline void bytes_release(struct bytes *bytes)
{
    nl_free(bytes->at);
    *bytes = (struct bytes){0};
}

static inline void bytes_clear(struct bytes *bytes)
{
    bytes->len = 0;
}

/* Room for `more` bytes at the end. */
static inline unsigned char *bytes_room(struct bytes *bytes, size_t more)
{
    nl_grow(&bytes->at, &bytes->cap, bytes->len + more);
    return bytes->at + bytes->len;
}

static inline void bytes_add(struct bytes *bytes, const void *from, size_t len)
{
    unsigned char *to = bytes_room(bytes, len + 1);
    if (len)
        memcpy(to, from, len);
    bytes->len += len;
}

static inline void bytes_u8(struct bytes *bytes, uint8_t value)
{
    *bytes_room(bytes, 1) = value;
    bytes->len++;
}

static inline void bytes_u32(struct bytes *bytes, uint32_t value)
{
    memcpy(bytes_room(bytes, 4), &value, 4); /* little-endian, as every machine we build for */
    bytes->len += 4;
}

static inline void bytes_u64(struct bytes *bytes, uint64_t value)
{
    memcpy(bytes_room(bytes, 8), &value, 8);
    bytes->len += 8;
}

/* Writes a varint at `to` (10 bytes of room); gives where it ends. */
static inline unsigned char *bytes_put_varint(unsigned char *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *to++ = (unsigned char)value;
    return to;
}

static inline void bytes_varint(struct bytes *bytes, uint64_t value)
{
    unsigned char *to = bytes_room(bytes, 10);
    bytes->len += (size_t)(bytes_put_varint(to, value) - to);
}

static inline void bytes_zigzag(struct bytes *bytes, int64_t value)
{
    bytes_varint(bytes, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* ---- protobuf ---- */

static inline void bytes_tag_varint(struct bytes *bytes, uint32_t field, uint64_t value)
{
    unsigned char *start = bytes_room(bytes, 20), *to = bytes_put_varint(start, field << 3);
    bytes->len += (size_t)(bytes_put_varint(to, value) - start);
}

static inline void bytes_tag_u64(struct bytes *bytes, uint32_t field, uint64_t value)
{
    bytes_varint(bytes, field << 3 | 1);
    bytes_u64(bytes, value);
}

static inline void bytes_tag_f64(struct bytes *bytes, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bytes_tag_u64(bytes, field, bits);
}

static inline void bytes_tag_bytes(struct bytes *bytes, uint32_t field, const void *from,
                                   size_t len)
{
    bytes_varint(bytes, field << 3 | 2);
    bytes_varint(bytes, len);
    bytes_add(bytes, from, len);
}

static inline void bytes_tag_message(struct bytes *bytes, uint32_t field,
                                     const struct bytes *message)
{
    bytes_tag_bytes(bytes, field, message->at, message->len);
}

/* Text as UTF-8: readers of protobuf and Arrow refuse anything else, so bytes that are none become
 * U+FFFD. */
void bytes_utf8(struct bytes *bytes, struct nl_str text);
void bytes_tag_text(struct bytes *bytes, uint32_t field, struct nl_str text);

#endif

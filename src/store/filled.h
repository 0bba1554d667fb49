/*
 * filled — texts that are a pattern of the dictionary with numbers filled in.
 *
 * Arguments of events are often the same JSON again and again with other numbers in it. As a
 * separate text in the dictionary each takes hundreds of bytes; as the name of its pattern and its
 * numbers in few bytes each, a tenth of that. Only column args.text may hold such ids (NL_FILLED is
 * set in them); nl_trace_text gives the text of any.
 *
 * A pattern is a text with a byte 1 where an integer goes and a byte 2 where a double goes (JSON
 * has no such bytes). Numbers are packed one after the other: integers by zigzag in 7 bits a byte,
 * doubles as 8 bytes. Nothing here trusts packed bytes: those of a damaged file give some text.
 */
#ifndef NL_FILLED_H
#define NL_FILLED_H

#include "store/dict.h"

#define NL_FILLED        0x80000000u /* bit of an id in a finished trace */
#define NL_FILLED_I64    '\1'
#define NL_FILLED_F64    '\2'
#define NL_FILLED_DIGITS 32u               /* bytes that a number takes in the text, at most */
#define NL_MAX_FILLED    ((size_t)1 << 20) /* bytes of a text; the rest is cut */

struct nl_filled {
    uint64_t *offsets; /* count + 1 of them, when count > 0 */
    unsigned char *bytes;
    uint32_t count;
    size_t offset_cap, bytes_cap;
};

void nl_filled_release(struct nl_filled *filled);

/* Number of a new one. `pattern` is the id of a name. UINT32_MAX when there are too many. */
uint32_t nl_filled_add(struct nl_filled *filled, uint32_t pattern, const void *packed, size_t len);
/* The parts of one; `number` is below count. */
uint32_t nl_filled_pattern(const struct nl_filled *filled, uint32_t number);
void nl_filled_set_pattern(struct nl_filled *filled, uint32_t number, uint32_t pattern);
struct nl_str nl_filled_packed(const struct nl_filled *filled, uint32_t number);

/* Packs a number at `to`, which has room for 10 bytes (8 for a double); gives the bytes taken. */
static inline size_t nl_filled_put_i64(unsigned char *to, int64_t value)
{
    uint64_t bits = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    size_t len = 0;
    for (; bits > 127; bits >>= 7)
        to[len++] = (unsigned char)(bits | 128);
    to[len++] = (unsigned char)bits;
    return len;
}
size_t nl_filled_put_f64(unsigned char *to, double value);

/* Adds the pattern's text with the packed numbers in it to `out`. */
void nl_filled_write(struct nl_buf *out, struct nl_str pattern, struct nl_str packed);

#endif

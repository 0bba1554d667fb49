/*
 * hex — hexadecimal text as numbers, of either case and without a prefix. In the header, for
 * signal handlers and hot loops.
 */
#ifndef NL_HEX_H
#define NL_HEX_H

#include "base/chars.h"
#include "base/str.h"

/* -1: it is none. */
static inline int nl_hex_digit(char c)
{
    if (nl_is_digit(c))
        return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The whole text: 1 to 16 digits and nothing else. */
static inline bool nl_hex_u64(struct nl_str text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = nl_hex_digit(text.ptr[i]);
        if (digit < 0)
            return false;
        *value = *value << 4 | (uint64_t)digit;
    }
    return text.len > 0 && text.len <= 16;
}

/* The four digits that \u stands before in JSON; -1: they are not there. */
static inline int32_t nl_hex_unit(const char *p, const char *end)
{
    uint64_t unit;
    return end - p >= 4 && nl_hex_u64((struct nl_str){p, 4}, &unit) ? (int32_t)unit : -1;
}

#endif

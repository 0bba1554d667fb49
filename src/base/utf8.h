/*
 * utf8 — how long a character is, how it is written, and where a text may be cut. A byte below 0x80
 * is a character by itself and need not be asked about. Two are in the header, as the library that
 * is loaded into recorded programs is not linked with this room.
 */
#ifndef NL_UTF8_H
#define NL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the well-formed sequence of two bytes or more at `p`, of which `left` bytes
 * are there; 0 when there is none. */
size_t nl_utf8_length(const unsigned char *p, size_t left);

/* How many of the `len` bytes of a text to keep where there is room for
 * `most`: no part of a character. */
static inline size_t nl_utf8_cut(const char *text, size_t len, size_t most)
{
    if (len <= most)
        return len;
    while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

/* What "%.*s" takes of a struct nl_str: its first bytes, `most` at most. */
#define NL_UP_TO(most, text) (int)nl_utf8_cut((text).ptr, (text).len, most), (text).ptr

/* Writes a code point below 2^21; how many bytes it took. */
static inline size_t nl_utf8_put(char to[4], uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00 >> len & 0xff) | code);
    return len;
}

#endif

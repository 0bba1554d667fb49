/*
 * utf8 — how long a character is, and where a text may be cut. A byte below 0x80 is a character by itself and need not be asked
 * about.
 */
#ifndef NL_UTF8_H
#define NL_UTF8_H

#include <stddef.h>

/* Length in bytes of the well-formed sequence of two bytes or more at `p`, of which `left` bytes are
 * there; 0 when there is none. */
size_t nl_utf8_length(const unsigned char *p, size_t left);

/* How many of the `len` bytes of a text to keep where there is room for `most`: no part of a character. In the header, as the library
 * that is loaded into recorded programs is not linked with this room. */
static inline size_t nl_utf8_cut(const char *text, size_t len, size_t most)
{
    if (len <= most)
        return len;
    while (most && ((unsigned char)text[most] & 0xC0) == 0x80)
        most--;
    return most;
}

#endif

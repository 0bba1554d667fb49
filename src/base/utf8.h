/*
 * utf8 — how long a character is. A byte below 0x80 is one by itself and need not be asked about.
 */
#ifndef NL_UTF8_H
#define NL_UTF8_H

#include <stddef.h>

/* Length in bytes of the well-formed sequence of two bytes or more at `p`, of which `left` bytes are
 * there; 0 when there is none. */
size_t nl_utf8_length(const unsigned char *p, size_t left);

#endif

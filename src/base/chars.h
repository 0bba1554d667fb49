/*
 * chars — what kind of character a byte of ASCII is, whatever the locale says; bytes of
 * other characters are of no kind. Any char may be asked about, unlike with <ctype.h>,
 * which takes no negative ones.
 */
#ifndef NL_CHARS_H
#define NL_CHARS_H

#include <stdbool.h>

static inline bool nl_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool nl_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool nl_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool nl_is_letter(char c)
{
    return nl_is_lower(c) || nl_is_upper(c);
}

static inline bool nl_is_alnum(char c)
{
    return nl_is_letter(c) || nl_is_digit(c);
}

/* What names in programs are made of. */
static inline bool nl_is_word(char c)
{
    return nl_is_alnum(c) || c == '_';
}

/* A hexadecimal digit of either case. */
static inline bool nl_is_hex(char c)
{
    return nl_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Blank, tab, and what ends lines and pages. */
static inline bool nl_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline char nl_lower(char c)
{
    return nl_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char nl_upper(char c)
{
    return nl_is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

#endif

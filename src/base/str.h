/*
 * str — text as (pointer, length) views, and a bounded text builder.
 *
 * A struct nl_str borrows its bytes and may hold NUL bytes; it is not NUL-terminated. A struct
 * nl_buf owns its bytes, is always NUL-terminated when not empty, and refuses to grow over `max`
 * (it then drops what does not fit and sets `overflow`; callers check once at the end).
 */
#ifndef NL_STR_H
#define NL_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct nl_str {
    const char *ptr;
    size_t len;
};

static inline struct nl_str nl_str(const char *text)
{
    return (struct nl_str){text, text ? strlen(text) : 0};
}

static inline bool nl_str_eq(struct nl_str a, struct nl_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool nl_str_is(struct nl_str a, const char *text)
{
    return nl_str_eq(a, nl_str(text));
}

/* By bytes, what begins a longer text before that: < 0, 0 or > 0. */
static inline int nl_str_order(struct nl_str a, struct nl_str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool nl_str_starts(struct nl_str text, const char *prefix);
bool nl_str_ends(struct nl_str text, const char *suffix);
bool nl_str_contains(struct nl_str text, const char *part);
bool nl_str_starts_nocase(struct nl_str text, const char *prefix); /* ASCII case ignored */
/* Like strcasestr on a view: position of `part` (ASCII case ignored), or -1. */
ptrdiff_t nl_str_find_nocase(struct nl_str text, const char *part);
/* What follows the last slash or backslash of a path of whatever system; else all of it. */
struct nl_str nl_str_file_name(struct nl_str path);

struct nl_buf {
    char *ptr;
    size_t len, cap, max;
    bool overflow;
};

void nl_buf_init(struct nl_buf *buf, size_t max);
void nl_buf_release(struct nl_buf *buf);
void nl_buf_clear(struct nl_buf *buf);
void nl_buf_add(struct nl_buf *buf, const char *bytes, size_t len);
void nl_buf_text(struct nl_buf *buf, const char *text);
void nl_buf_char(struct nl_buf *buf, char c);
void nl_buf_format(struct nl_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A word that a shell reads as these bytes: in single quotes where it must be. */
void nl_buf_shell_word(struct nl_buf *buf, struct nl_str word);

/* 64-bit hash of bytes (wyhash-like mixing), the same in every process: for what is kept in files,
 * shown or put in order. Whoever writes the input can make texts that collide. */
uint64_t nl_hash(const void *bytes, size_t len);

/* The same with a key of this process: for tables in memory, where foreign texts that
 * collide would cost the square of their number. Nothing that is kept, shown or put in
 * order may follow from it. */
uint64_t nl_hash_keyed(const void *bytes, size_t len);

/* The key, the second number odd. main chooses it before there are threads; a program that
 * does not has a fixed one. */
extern uint64_t nl_hash_key[2];
void nl_hash_choose_key(void);

__extension__ typedef unsigned __int128 nl_u128;
static inline uint64_t nl_hash_mix(uint64_t a, uint64_t b)
{
    nl_u128 product = (nl_u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A number, with the key of this process; all bits of the hash are good. */
static inline uint64_t nl_hash_number(uint64_t number)
{
    return nl_hash_mix(number ^ nl_hash_key[0], nl_hash_key[1]);
}

#endif

/* Text views, the bounded builder, and the hash of every table in the program. */
#define _GNU_SOURCE
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/chars.h"
#include "base/mem.h"

bool nl_str_starts(struct nl_str text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.ptr, prefix, len) == 0;
}

bool nl_str_ends(struct nl_str text, const char *suffix)
{
    size_t len = strlen(suffix);
    return text.len >= len && memcmp(text.ptr + text.len - len, suffix, len) == 0;
}

bool nl_str_contains(struct nl_str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

struct nl_str nl_str_file_name(struct nl_str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.ptr[i - 1] == '/' || path.ptr[i - 1] == '\\')
            return (struct nl_str){path.ptr + i, path.len - i};
    return path;
}

bool nl_str_starts_nocase(struct nl_str text, const char *prefix)
{
    size_t i = 0;
    while (i < text.len && prefix[i] && nl_lower(text.ptr[i]) == nl_lower(prefix[i]))
        i++;
    return !prefix[i];
}

ptrdiff_t nl_str_find_nocase(struct nl_str text, const char *part)
{
    size_t len = strlen(part);
    if (len == 0)
        return 0;
    char first = nl_lower(part[0]);
    for (size_t i = 0; i + len <= text.len; i++) {
        if (nl_lower(text.ptr[i]) != first)
            continue;
        size_t k = 1;
        while (k < len && nl_lower(text.ptr[i + k]) == nl_lower(part[k]))
            k++;
        if (k == len)
            return (ptrdiff_t)i;
    }
    return -1;
}

void nl_buf_init(struct nl_buf *buf, size_t max)
{
    *buf = (struct nl_buf){.max = max};
}

void nl_buf_release(struct nl_buf *buf)
{
    nl_free(buf->ptr);
    buf->ptr = NULL;
    buf->len = buf->cap = 0;
}

void nl_buf_clear(struct nl_buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
    if (buf->ptr)
        buf->ptr[0] = '\0';
}

static bool buf_room(struct nl_buf *buf, size_t len)
{
    if (len > buf->max - buf->len) {
        buf->overflow = true;
        return false;
    }
    nl_grow(&buf->ptr, &buf->cap, buf->len + len + 1);
    return true;
}

void nl_buf_add(struct nl_buf *buf, const char *bytes, size_t len)
{
    if (!buf_room(buf, len))
        return;
    if (len)
        memcpy(buf->ptr + buf->len, bytes, len);
    buf->len += len;
    buf->ptr[buf->len] = '\0';
}

void nl_buf_text(struct nl_buf *buf, const char *text)
{
    nl_buf_add(buf, text, strlen(text));
}

void nl_buf_char(struct nl_buf *buf, char c)
{
    nl_buf_add(buf, &c, 1);
}

void nl_buf_shell_word(struct nl_buf *buf, struct nl_str word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./-_~";
    bool quoted = !word.len || *word.ptr == '~'; /* a home folder */
    for (size_t i = 0; i < word.len && !quoted; i++)
        quoted = !memchr(plain, word.ptr[i], sizeof plain - 1);
    nl_buf_text(buf, quoted ? "'" : "");
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '\'')
            nl_buf_text(buf, "'\\''");
        else
            nl_buf_char(buf, word.ptr[i]);
    nl_buf_text(buf, quoted ? "'" : "");
}

void nl_buf_format(struct nl_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len > 0 && buf_room(buf, (size_t)len)) {
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

static inline uint64_t read64(const unsigned char *p)
{
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

static inline uint32_t read32(const unsigned char *p)
{
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}

uint64_t nl_hash_key[2] = {0x9e3779b97f4a7c15u, 0xe7037ed1a0b428dbu};

void nl_hash_choose_key(void)
{
    uint64_t key[2];
    if (getrandom(key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key)
        return; /* we do not run on foreign files before the system has any randomness */
    nl_hash_key[0] = key[0];
    nl_hash_key[1] = key[1] | 1;
}

static inline uint64_t hash_with(const void *bytes, size_t len, uint64_t k0, uint64_t k1)
{
    const unsigned char *p = bytes;
    uint64_t hash = len * k0 ^ k1;
    size_t left = len;
    for (; left >= 16; left -= 16, p += 16)
        hash = nl_hash_mix(read64(p) ^ k0, read64(p + 8) ^ hash);
    if (left >= 8) {
        hash = nl_hash_mix(read64(p) ^ k1, hash ^ k0);
        p += 8;
        left -= 8;
    }
    uint64_t tail = 0; /* the bytes left, without a call of memcpy for an unknown number of them */
    if (left && len >= 8)
        tail = read64(p + left - 8) >> (64 - 8 * left);
    else if (left >= 4)
        tail = read32(p) | (uint64_t)read32(p + left - 4) << (8 * left - 32);
    else if (left)
        tail = p[0] | (uint64_t)p[left / 2] << (left / 2 * 8) |
               (uint64_t)p[left - 1] << (left - 1) * 8;
    return nl_hash_mix(hash ^ tail ^ k0, k1 ^ len);
}

uint64_t nl_hash(const void *bytes, size_t len)
{
    return hash_with(bytes, len, 0x9e3779b97f4a7c15u, 0xe7037ed1a0b428dbu);
}

uint64_t nl_hash_keyed(const void *bytes, size_t len)
{
    return hash_with(bytes, len, nl_hash_key[0], nl_hash_key[1]);
}

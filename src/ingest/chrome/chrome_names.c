/* chrome_names — see chrome_names.h: decoding JSON text, and the cache in front of the dictionary. */
#include "ingest/chrome/chrome_names.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "ingest/chrome/chrome_scan.h"

#define COPY_MOST   4096               /* longer texts are not cached */
#define COPIES_MOST ((size_t)16 << 20) /* of all copies; then the cache starts again */
#define NAME_MOST   ((size_t)64 << 20)

void chrome_names_init(struct chrome_names *names, struct nl_builder *builder,
                       struct nl_stage *stage)
{
    *names = (struct chrome_names){.stage = stage, .builder = builder};
    names->slots = nl_zalloc(CHROME_NAME_SLOTS * sizeof *names->slots);
    nl_arena_init(&names->copies);
    nl_buf_init(&names->decoded, NAME_MOST);
}

void chrome_names_release(struct chrome_names *names)
{
    nl_free(names->slots);
    nl_arena_free(&names->copies);
    nl_buf_release(&names->decoded);
    nl_idmap_release(&names->repair_of);
    nl_free(names->repairs);
}

/* A text is decoded again whenever the cache has forgotten it. */
static void note_repair(struct chrome_names *names, struct nl_str raw, bool escaped,
                        const bool faults[CHROME_NAME_FAULTS])
{
    uint64_t hash = nl_hash_pair(nl_hash_keyed(raw.ptr, raw.len), escaped);
    uint32_t next = (uint32_t)names->repair_count;
    if (nl_idmap_get_or_put(&names->repair_of, hash, next) != next)
        return;
    nl_grow(&names->repairs, &names->repair_room, names->repair_count + 1);
    struct chrome_name_repair *repair = &names->repairs[names->repair_count++];
    repair->hash = hash;
    memcpy(repair->faults, faults, sizeof repair->faults);
}

void chrome_names_count(const struct chrome_names *names, struct nl_idmap *seen,
                        uint64_t counts[CHROME_NAME_FAULTS])
{
    for (size_t i = 0; i < names->repair_count; i++) {
        const struct chrome_name_repair *repair = &names->repairs[i];
        if (nl_idmap_get(seen, repair->hash) != NL_NO_ROW)
            continue;
        nl_idmap_put(seen, repair->hash, 0);
        for (size_t fault = 0; fault < CHROME_NAME_FAULTS; fault++)
            counts[fault] += repair->faults[fault];
    }
}

static void add_code_point(struct nl_buf *buf, unsigned code)
{
    char text[4];
    nl_buf_add(buf, text, nl_utf8_put(text, code));
}

/* \uXXXX at p (after the 'u'), with its partner when it is a surrogate; returns where it ends. */
static const char *add_unicode(struct nl_buf *buf, const char *p, const char *end, bool *bad)
{
    int high = nl_hex_unit(p, end);
    if (high < 0) {
        *bad = true;
        nl_buf_text(buf, "\\u");
        return p;
    }
    p += 4;
    unsigned code = (unsigned)high;
    if (code >= 0xD800 && code < 0xE000) {
        int low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? nl_hex_unit(p + 2, end) : -1;
        if (code < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + ((unsigned)low - 0xDC00);
            p += 6;
        } else {
            *bad = true;
            code = 0xFFFD;
        }
    }
    add_code_point(buf, code);
    return p;
}

/* One escape at p (after the backslash). */
static const char *add_escape(struct nl_buf *buf, const char *p, const char *end, bool *bad)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (p < end && *p == 'u')
        return add_unicode(buf, p + 1, end, bad);
    const char *known = p < end && *p ? strchr(from, *p) : NULL;
    if (!known) {
        *bad = true;
        nl_buf_char(buf, '\\');
        return p;
    }
    nl_buf_char(buf, to[known - from]);
    return p + 1;
}

/* Are all bytes plain ASCII without controls and backslashes? */
static bool is_plain(struct nl_str raw)
{
    for (size_t i = 0; i < raw.len; i++)
        if ((unsigned char)raw.ptr[i] - 0x20u >= 0x60 || raw.ptr[i] == '\\')
            return false;
    return true;
}

struct nl_str chrome_names_decode(struct chrome_names *names, struct nl_str raw, bool escaped)
{
    if (is_plain(raw))
        return raw;
    struct nl_buf *buf = &names->decoded;
    bool faults[CHROME_NAME_FAULTS] = {false};
    nl_buf_clear(buf);
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    while (p < end) {
        if (escaped && *p == '\\') {
            p = add_escape(buf, p + 1, end, &faults[CHROME_BAD_ESCAPES]);
            continue;
        }
        faults[CHROME_CONTROLS] |= escaped && (unsigned char)*p < 0x20;
        bool ascii = (unsigned char)*p < 0x80;
        size_t len = ascii ? 1 : nl_utf8_length((const unsigned char *)p, (size_t)(end - p));
        if (len) {
            nl_buf_add(buf, p, len);
            p += len;
        } else {
            faults[CHROME_BAD_UTF8] = true;
            nl_buf_text(buf, "\xEF\xBF\xBD");
            p++;
        }
    }
    if (faults[CHROME_BAD_UTF8] || faults[CHROME_CONTROLS] || faults[CHROME_BAD_ESCAPES])
        note_repair(names, raw, escaped, faults);
    return (struct nl_str){buf->ptr ? buf->ptr : "", buf->len};
}

__extension__ typedef unsigned __int128 wide;

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Odd numbers with about as many ones as zeros (of wyhash). */
#define KEY_A 0xA0761D6478BD642Fu
#define KEY_B 0xE7037ED1A0B428DBu

/* 16 bytes a step. Of a text under 8 bytes those behind it are read, too, and masked off. */
static inline uint64_t hash_raw(const char *p, size_t len, uint64_t seed)
{
    uint64_t h = seed ^ len * KEY_A;
    if (len >= 16) {
        const char *last = p + len - 16;
        for (; p < last; p += 16)
            h = mix(chrome_load8(p) ^ h, chrome_load8(p + 8) ^ KEY_B);
        return mix(chrome_load8(last) ^ h, chrome_load8(last + 8) ^ KEY_A);
    }
    if (len >= 8)
        return mix(chrome_load8(p) ^ h, chrome_load8(p + len - 8) ^ KEY_A);
    uint64_t word = len ? chrome_load8(p) & (~(uint64_t)0 >> (64 - len * 8)) : 0;
    return mix(word ^ h, KEY_B);
}

static uint32_t look_up(struct chrome_names *names, struct nl_str raw, bool escaped)
{
    struct nl_str text = chrome_names_decode(names, raw, escaped);
    return names->stage ? nl_stage_name(names->stage, text) : nl_builder_name(names->builder, text);
}

uint32_t chrome_names_id(struct chrome_names *names, struct nl_str raw, bool escaped)
{
    uint64_t hash = hash_raw(raw.ptr, raw.len, escaped);
    names->last = hash % CHROME_NAME_SLOTS;
    struct chrome_name_slot *slot = &names->slots[names->last];
    if (slot->hash == hash && slot->len == raw.len && slot->text && slot->escaped == escaped &&
        memcmp(slot->text, raw.ptr, raw.len) == 0)
        return slot->id;
    uint32_t id = look_up(names, raw, escaped);
    if (raw.len > COPY_MOST)
        return id;
    if (names->copies.used > COPIES_MOST) {
        nl_arena_free(&names->copies);
        memset(names->slots, 0, CHROME_NAME_SLOTS * sizeof *names->slots);
    }
    char *copy = nl_arena_alloc(&names->copies, raw.len + 1);
    memcpy(copy, raw.ptr, raw.len);
    *slot = (struct chrome_name_slot){hash, copy, (uint32_t)raw.len, id, escaped};
    return id;
}

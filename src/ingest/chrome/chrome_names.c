/* chrome_names — see chrome_names.h: decoding JSON text. */
#include "ingest/chrome/chrome_names.h"

#include "base/hex.h"
#include "base/utf8.h"

#define MAX_NAME ((size_t)64 << 20)

void chrome_names_init(struct chrome_names *names, struct nl_builder *builder,
                       struct nl_stage *stage)
{
    *names = (struct chrome_names){.stage = stage, .builder = builder};
    chrome_texts_init(&names->texts);
    nl_buf_init(&names->decoded, MAX_NAME);
}

void chrome_names_release(struct chrome_names *names)
{
    chrome_texts_release(&names->texts);
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

static uint32_t look_up_name(struct chrome_names *names, struct nl_str raw, bool escaped)
{
    struct nl_str text = chrome_names_decode(names, raw, escaped);
    return names->stage ? nl_stage_name(names->stage, text) : nl_builder_name(names->builder, text);
}

uint32_t chrome_names_id(struct chrome_names *names, struct nl_str raw, bool escaped)
{
    struct chrome_text_slot *slot = chrome_texts_slot(&names->texts, raw, escaped);
    if (!slot)
        return look_up_name(names, raw, escaped);
    if (slot->kept == CHROME_NOT_KEPT)
        slot->kept = look_up_name(names, raw, escaped);
    return slot->kept;
}

uint32_t chrome_names_seen(struct chrome_names *names, uint32_t slot, uint32_t serial,
                           struct nl_str raw)
{
    struct chrome_text_slot *seen = &names->texts.slots[slot];
    if (seen->serial != serial)
        return chrome_names_id(names, raw, false);
    if (seen->kept == CHROME_NOT_KEPT)
        seen->kept = look_up_name(names, raw, false);
    return seen->kept;
}

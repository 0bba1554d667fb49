/*
 * Patterns and the numbers that go into them.
 */
#include "store/filled.h"

#include "base/json.h"
#include "base/mem.h"
#include "store/build.h"

void nl_filled_release(struct nl_filled *filled)
{
    nl_free(filled->offsets);
    nl_free(filled->bytes);
    *filled = (struct nl_filled){0};
}

uint32_t nl_filled_add(struct nl_filled *filled, uint32_t pattern, const void *packed, size_t len)
{
    uint64_t start = filled->count ? filled->offsets[filled->count] : 0;
    if (filled->count >= NL_FILLED >> 1)
        return UINT32_MAX;
    nl_grow(&filled->offsets, &filled->offset_cap, (size_t)filled->count + 2);
    nl_grow(&filled->bytes, &filled->bytes_cap, start + sizeof pattern + len);
    filled->offsets[filled->count] = start;
    memcpy(filled->bytes + start, &pattern, sizeof pattern);
    if (len)
        memcpy(filled->bytes + start + sizeof pattern, packed, len);
    filled->offsets[filled->count + 1] = start + sizeof pattern + len;
    return filled->count++;
}

static struct nl_str record(const struct nl_filled *filled, uint32_t number)
{
    uint64_t start = filled->offsets[number];
    return (struct nl_str){(const char *)filled->bytes + start,
                           (size_t)(filled->offsets[number + 1] - start)};
}

uint32_t nl_filled_pattern(const struct nl_filled *filled, uint32_t number)
{
    uint32_t pattern = 0;
    struct nl_str it = record(filled, number);
    if (it.len >= sizeof pattern)
        memcpy(&pattern, it.ptr, sizeof pattern);
    return pattern;
}

void nl_filled_set_pattern(struct nl_filled *filled, uint32_t number, uint32_t pattern)
{
    if (record(filled, number).len >= sizeof pattern)
        memcpy(filled->bytes + filled->offsets[number], &pattern, sizeof pattern);
}

struct nl_str nl_filled_packed(const struct nl_filled *filled, uint32_t number)
{
    struct nl_str it = record(filled, number);
    size_t skip = it.len < sizeof(uint32_t) ? it.len : sizeof(uint32_t);
    return (struct nl_str){it.ptr + skip, it.len - skip};
}

size_t nl_filled_put_f64(unsigned char *to, double value)
{
    memcpy(to, &value, sizeof value);
    return sizeof value;
}

static int64_t take_i64(struct nl_str *packed)
{
    uint64_t bits = 0;
    size_t at = 0;
    for (unsigned shift = 0; at < packed->len && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)packed->ptr[at++];
        bits |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            break;
    }
    packed->ptr += at;
    packed->len -= at;
    return (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
}

static double take_f64(struct nl_str *packed)
{
    double value = 0;
    size_t len = packed->len < sizeof value ? packed->len : sizeof value;
    memcpy(&value, packed->ptr, len);
    packed->ptr += len;
    packed->len -= len;
    return value;
}

void nl_filled_write(struct nl_buf *out, struct nl_str pattern, struct nl_str packed)
{
    for (size_t at = 0, start = 0; at <= pattern.len; at++) {
        char c = at < pattern.len ? pattern.ptr[at] : NL_FILLED_I64;
        struct nl_json json;
        if (c != NL_FILLED_I64 && c != NL_FILLED_F64)
            continue;
        nl_buf_add(out, pattern.ptr + start, at - start);
        start = at + 1;
        if (at == pattern.len)
            break;
        nl_json_to_buf(&json, out, 0);
        if (c == NL_FILLED_I64)
            nl_json_i64(&json, take_i64(&packed));
        else
            nl_json_f64(&json, take_f64(&packed));
    }
}

uint32_t nl_stage_filled(struct nl_stage *stage, uint32_t pattern, const void *packed, size_t len)
{
    uint32_t number = nl_filled_add(&stage->filled, pattern, packed, len);
    return number < NL_STAGED_FILLED ? number | NL_STAGED_FILLED : 0;
}

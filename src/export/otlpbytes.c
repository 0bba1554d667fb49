/* Two spellings of one message. */
#include "export/otlpbytes.h"

#include <math.h>

static struct bytes *here(struct otlp_out *out)
{
    return &out->level[out->json ? 0 : out->depth];
}

void otlp_release(struct otlp_out *out)
{
    for (size_t i = 0; i < OTLP_DEPTH; i++)
        bytes_release(&out->level[i]);
    *out = (struct otlp_out){0};
}

void otlp_flush(struct otlp_out *out, FILE *file)
{
    fwrite(out->level[0].at, 1, out->level[0].len, file);
    bytes_clear(&out->level[0]);
}

/* Comma and name of a member; NULL in lists. */
static void put_name(struct otlp_out *out, const char *name)
{
    if (out->comma)
        bytes_u8(here(out), ',');
    out->comma = true;
    if (!name)
        return;
    bytes_u8(here(out), '"');
    json_raw(here(out), name);
    json_raw(here(out), "\":");
}

void otlp_open(struct otlp_out *out, uint32_t number, const char *name)
{
    if (out->depth + 1 >= OTLP_DEPTH)
        NL_BUG("a message of OTLP that is too deep");
    if (out->json) {
        if (out->depth)
            put_name(out, name);
        bytes_u8(here(out), '{');
        if (!out->depth) {
            out->comma = false;
            put_name(out, name);
            json_raw(here(out), "[{");
        }
        out->comma = false;
    }
    out->number[++out->depth] = number;
    if (!out->json)
        bytes_clear(here(out));
}

void otlp_close(struct otlp_out *out)
{
    unsigned depth = out->depth--;
    if (out->json)
        json_raw(here(out), depth == 1 ? "}]}\n" : "}");
    else
        bytes_tag_message(here(out), out->number[depth], &out->level[depth]);
    out->comma = depth > 1;
}

void otlp_list(struct otlp_out *out, const char *name)
{
    if (!out->json)
        return;
    put_name(out, name);
    bytes_u8(here(out), '[');
    out->comma = false;
}

void otlp_list_end(struct otlp_out *out)
{
    if (out->json)
        bytes_u8(here(out), ']');
    out->comma = true;
}

/* ---- values ---- */

void otlp_text(struct otlp_out *out, uint32_t number, const char *name, struct nl_str text)
{
    if (!out->json) {
        bytes_tag_text(here(out), number, text);
        return;
    }
    put_name(out, name);
    json_text(here(out), text);
}

void otlp_id(struct otlp_out *out, uint32_t number, const char *name, const unsigned char *id,
             size_t len)
{
    static const char digits[] = "0123456789abcdef";
    if (!out->json) {
        bytes_tag_bytes(here(out), number, id, len);
        return;
    }
    put_name(out, name);
    bytes_u8(here(out), '"');
    for (size_t i = 0; i < len; i++) {
        bytes_u8(here(out), (uint8_t)digits[id[i] >> 4]);
        bytes_u8(here(out), (uint8_t)digits[id[i] & 15]);
    }
    bytes_u8(here(out), '"');
}

void otlp_word(struct otlp_out *out, uint32_t number, const char *name, unsigned value)
{
    if (!out->json) {
        bytes_tag_varint(here(out), number, value);
        return;
    }
    put_name(out, name);
    json_u64(here(out), value);
}

void otlp_true(struct otlp_out *out, uint32_t number, const char *name)
{
    if (!out->json) {
        bytes_tag_varint(here(out), number, 1);
        return;
    }
    put_name(out, name);
    json_raw(here(out), "true");
}

void otlp_fixed(struct otlp_out *out, uint32_t number, const char *name, uint64_t value)
{
    if (!out->json) {
        bytes_tag_u64(here(out), number, value);
        return;
    }
    put_name(out, name);
    bytes_u8(here(out), '"');
    json_u64(here(out), value);
    bytes_u8(here(out), '"');
}

void otlp_signed(struct otlp_out *out, uint32_t number, const char *name, int64_t value, bool fixed)
{
    if (!out->json) {
        if (fixed)
            bytes_tag_u64(here(out), number, (uint64_t)value);
        else
            bytes_tag_varint(here(out), number, (uint64_t)value);
        return;
    }
    put_name(out, name);
    bytes_u8(here(out), '"');
    json_i64(here(out), value);
    bytes_u8(here(out), '"');
}

/* Protobuf's JSON names what is no number. */
static void put_double(struct bytes *to, double value)
{
    if (isfinite(value))
        json_f64(to, value);
    else
        json_raw(to, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
}

void otlp_double(struct otlp_out *out, uint32_t number, const char *name, double value)
{
    if (!out->json) {
        bytes_tag_f64(here(out), number, value);
        return;
    }
    put_name(out, name);
    put_double(here(out), value);
}

void otlp_fixed_list(struct otlp_out *out, uint32_t number, const char *name,
                     const uint64_t *values, size_t count)
{
    if (!out->json) {
        bytes_tag_bytes(here(out), number, values, count * sizeof *values);
        return;
    }
    otlp_list(out, name);
    for (size_t i = 0; i < count; i++)
        otlp_fixed(out, 0, NULL, values[i]);
    otlp_list_end(out);
}

void otlp_double_list(struct otlp_out *out, uint32_t number, const char *name, const double *values,
                      size_t count)
{
    if (!out->json) {
        bytes_tag_bytes(here(out), number, values, count * sizeof *values);
        return;
    }
    otlp_list(out, name);
    for (size_t i = 0; i < count; i++)
        otlp_double(out, 0, NULL, values[i]);
    otlp_list_end(out);
}

/* ---- attributes: KeyValue { key = 1, value = 2 AnyValue { text = 1, bool = 2, int = 3, double = 4 } } ---- */

static void open_attribute(struct otlp_out *out, uint32_t number, const char *key)
{
    otlp_open(out, number, NULL);
    otlp_text(out, 1, "key", nl_str(key));
    otlp_open(out, 2, "value");
}

static void close_attribute(struct otlp_out *out)
{
    otlp_close(out);
    otlp_close(out);
}

void otlp_attribute_text(struct otlp_out *out, uint32_t number, const char *key,
                         struct nl_str value)
{
    open_attribute(out, number, key);
    otlp_text(out, 1, "stringValue", value);
    close_attribute(out);
}

void otlp_attribute_number(struct otlp_out *out, uint32_t number, const char *key, int64_t value)
{
    open_attribute(out, number, key);
    otlp_signed(out, 3, "intValue", value, false);
    close_attribute(out);
}

void otlp_attribute_double(struct otlp_out *out, uint32_t number, const char *key, double value)
{
    open_attribute(out, number, key);
    otlp_double(out, 4, "doubleValue", value);
    close_attribute(out);
}

void otlp_attribute_true(struct otlp_out *out, uint32_t number, const char *key)
{
    open_attribute(out, number, key);
    otlp_true(out, 2, "boolValue");
    close_attribute(out);
}

/* Members of the document: a key and a value, null when it is unknown. */
#include "rundoc/runparts.h"

void run_i64(struct run_parts *parts, const char *key, int64_t value)
{
    nl_json_key(&parts->json, key);
    if (value == NL_NULL_I64)
        nl_json_null(&parts->json);
    else
        nl_json_i64(&parts->json, value);
}

/* What cannot be less than 0 but is comes from a damaged source. */
void run_size(struct run_parts *parts, const char *key, int64_t value)
{
    run_i64(parts, key, value < 0 ? NL_NULL_I64 : value);
}

void run_u64(struct run_parts *parts, const char *key, uint64_t value)
{
    nl_json_key(&parts->json, key);
    if (value == NL_NULL_U64)
        nl_json_null(&parts->json);
    else
        nl_json_u64(&parts->json, value);
}

void run_u32(struct run_parts *parts, const char *key, uint32_t value)
{
    run_u64(parts, key, value == NL_NULL_U32 ? NL_NULL_U64 : value);
}

void run_f64(struct run_parts *parts, const char *key, double value)
{
    nl_json_key(&parts->json, key);
    nl_json_f64(&parts->json, value);
}

void run_bool(struct run_parts *parts, const char *key, bool value)
{
    nl_json_key(&parts->json, key);
    nl_json_bool(&parts->json, value);
}

void run_static(struct run_parts *parts, const char *key, const char *text)
{
    nl_json_key(&parts->json, key);
    nl_json_text(&parts->json, text);
}

void run_name(struct run_parts *parts, const char *key, uint32_t id)
{
    run_text(parts, key, nl_trace_name(parts->trace, id));
}

void run_text(struct run_parts *parts, const char *key, struct nl_str text)
{
    nl_json_key(&parts->json, key);
    if (text.len)
        nl_json_str(&parts->json, text);
    else
        nl_json_null(&parts->json);
}

void run_enum(struct run_parts *parts, const char *key, enum nl_enum_id id, unsigned value)
{
    run_static(parts, key, nl_enum_text(id, value));
}

void run_open(struct run_parts *parts, const char *key, char bracket)
{
    nl_json_key(&parts->json, key);
    nl_json_open(&parts->json, bracket);
}

void run_close(struct run_parts *parts, char bracket)
{
    nl_json_close(&parts->json, bracket);
}

void run_row(struct run_parts *parts)
{
    nl_json_open(&parts->json, '{');
    parts->json.indent = 0;
}

void run_row_end(struct run_parts *parts)
{
    nl_json_close(&parts->json, '}');
    parts->json.indent = RUN_INDENT;
}

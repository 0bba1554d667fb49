/* Scopes, ranges and marks of a recording as rows: a slice, and what only its kind has. */
#include <stdio.h>
#include <string.h>

#include "ingest/recording/recording.h"

#define MAX_PROBLEMS 64u /* lines of coverage; further ones share one */

const struct rec_class rec_classes[NL_REC_CLASS_COUNT] = {
#define NL_REC_CLASS(identifier, name, kind, lane) {name, NL_KIND_##kind, NL_LANE_##lane},
#include "nlrec/recclasses.def"
#undef NL_REC_CLASS
};

static uint32_t payload_name(struct rec_load *load, const struct rec_scope *scope)
{
    char text[64];
    double real;
    switch (NL_REC_PAYLOAD(scope->flags)) {
    case NL_REC_U64:
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)scope->value);
        break;
    case NL_REC_I64: (void)snprintf(text, sizeof text, "%lld", (long long)scope->value); break;
    case NL_REC_F64:
        memcpy(&real, &scope->value, sizeof real);
        (void)snprintf(text, sizeof text, "%.17g", real);
        break;
    default: return NL_NO_NAME;
    }
    return nl_stage_name(load->stage, nl_str(text));
}

static uint32_t category_name(struct rec_load *load, unsigned kind, const struct rec_scope *scope)
{
    char text[64];
    if (!(scope->flags & NL_REC_HAS_CATEGORY))
        return NL_NO_NAME;
    if (kind != NL_REC_CLASS_NVTX)
        return rec_name_id(load, scope->category);
    uint64_t key = (uint64_t)scope->domain << 32 | scope->category;
    uint32_t name = nl_idmap_get(&load->categories, key);
    if (name != NL_NO_ROW)
        return rec_name_id(load, name);
    (void)snprintf(text, sizeof text, "%u", scope->category);
    return nl_stage_name(load->stage, nl_str(text));
}

static void stage_range(struct rec_load *load, unsigned kind, uint32_t slice,
                        const struct rec_scope *scope, enum nl_rangestyle style)
{
    struct nl_nvtx_row row = nl_nvtx_row();
    row.slice = slice;
    row.style = (uint8_t)style;
    if (kind == NL_REC_CLASS_NVTX)
        row.domain = rec_name_id(load, scope->domain);
    row.category = category_name(load, kind, scope);
    if (scope->flags & NL_REC_HAS_COLOUR)
        row.color = scope->colour;
    row.payload = payload_name(load, scope);
    nl_stage_nvtx(load->stage, &row);
}

static void stage_step(struct rec_load *load, const struct rec_scope *scope,
                       const struct nl_slice_row *slice)
{
    struct nl_step_row row = nl_step_row();
    row.index = (int64_t)scope->value;
    row.ts = slice->ts;
    row.dur = slice->dur;
    row.name = slice->name;
    row.lane = slice->lane;
    nl_stage_step(load->stage, &row);
}

/* What only rows of one kind of slice have. */
static void stage_side(struct rec_load *load, unsigned kind, uint32_t row,
                       const struct rec_scope *scope, enum nl_rangestyle style)
{
    struct nl_layer_row layer = nl_layer_row();
    struct nl_op_row op = nl_op_row();
    struct nl_python_row python = nl_python_row();
    switch (rec_classes[kind].kind) {
    case NL_KIND_NVTX: stage_range(load, kind, row, scope, style); break;
    case NL_KIND_LAYER:
        layer.slice = row;
        nl_stage_layer(load->stage, &layer);
        break;
    case NL_KIND_OP:
        op.slice = row;
        if (scope->flags & NL_REC_HAS_CATEGORY)
            op.shapes = rec_name_id(load, scope->category);
        nl_stage_op(load->stage, &op);
        break;
    case NL_KIND_PYTHON:
        python.slice = row;
        nl_stage_python(load->stage, &python);
        break;
    default: break;
    }
}

void rec_stage_scope(struct rec_load *load, unsigned kind, const struct rec_scope *scope,
                     int64_t end, enum nl_rangestyle style, uint8_t flags)
{
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = scope->ts;
    slice.dur = end < scope->ts ? 0 : end - scope->ts;
    slice.kind = rec_classes[kind].kind;
    slice.lane = scope->lane;
    slice.flags = flags;
    slice.name = rec_name_id(load, scope->name);
    if (kind == NL_REC_CLASS_STEP && !slice.name)
        slice.name = nl_stage_name(load->stage, nl_str("step"));
    uint32_t row = nl_stage_slice(load->stage, &slice);
    stage_side(load, kind, row, scope, style);
    if (kind == NL_REC_CLASS_STEP)
        stage_step(load, scope, &slice);
}

bool rec_is_problem(const struct rec_load *load, const struct rec_scope *mark)
{
    return (mark->flags & NL_REC_HAS_CATEGORY) &&
           nl_str_eq(rec_name(load, mark->category), nl_str(NL_REC_PROBLEM));
}

void rec_take_problem(struct rec_load *load, struct nl_str text)
{
    char item[128], detail[512];
    if (++load->problems > MAX_PROBLEMS)
        text = nl_str("other hooks");
    if (!text.len)
        text = nl_str("a hook");
    const char *colon = memchr(text.ptr, ':', text.len);
    size_t what = colon ? (size_t)(colon - text.ptr) : text.len;
    size_t why = colon && what + 2 < text.len ? what + 2 : text.len;
    size_t left = text.len - why;
    (void)snprintf(item, sizeof item, "not recorded: %.*s", (int)(what < 100 ? what : 100),
                   text.ptr);
    (void)snprintf(detail, sizeof detail, "%.*s", (int)(left < 500 ? left : 500), text.ptr + why);
    nl_builder_coverage(load->builder, load->source, item, 1, detail);
}

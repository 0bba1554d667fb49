/*
 * Execution traces: recognition, and nodes on their way to the store.
 */
#include "ingest/torch/torchet.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "ingest/lib/wholefile.h"

#define MAX_TEXT_BYTES ((size_t)64 << 10) /* of one text of a node */

/* What a node may say about itself. Files and environments are not among it. */
static const char *const kept[] = {"rf_id",
                                   "fw_parent",
                                   "seq_id",
                                   "scope",
                                   "tid",
                                   "fw_tid",
                                   "op_schema",
                                   "kernel_backend",
                                   "collective_name",
                                   "dtype",
                                   "in_msg_nelems",
                                   "out_msg_nelems",
                                   "in_split_size",
                                   "out_split_size",
                                   "global_rank_start",
                                   "global_rank_stride",
                                   "pg_name",
                                   "pg_desc",
                                   "pg_size",
                                   "comm_type",
                                   "comm_size",
                                   "comm_src",
                                   "comm_dst",
                                   "comm_tag",
                                   "comm_group",
                                   "involved_dim",
                                   "is_cpu_op",
                                   "ctrl_deps",
                                   "data_deps",
                                   "inputs",
                                   "outputs",
                                   "input_strides",
                                   "output_strides",
                                   "num_ops",
                                   "tensor_size",
                                   "start_us"};

uint32_t torchet_text(struct torchet *et, struct nl_str text)
{
    if (text.len > MAX_TEXT_BYTES) {
        et->shortened++;
        return NL_NO_NAME;
    }
    return text.len ? nl_stage_name(et->stage, text) : NL_NO_NAME;
}

void torchet_begin(struct torchet *et)
{
    et->node = nl_node_row();
    et->node.source = et->source;
    nl_buf_clear(&et->detail);
}

static void append_quoted(struct nl_buf *buf, struct nl_str text)
{
    struct nl_json json;
    nl_json_to_buf(&json, buf, 0);
    nl_json_str(&json, text);
}

void torchet_fact(struct torchet *et, struct nl_str name, struct nl_str value, bool quote)
{
    bool known = false;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0] && !known; i++)
        known = nl_str_is(name, kept[i]);
    if (nl_str_is(name, "rf_id") && !nl_parse_i64(value, &et->node.external_id))
        et->node.external_id = NL_NULL_I64;
    if (!known) {
        et->others++;
        return;
    }
    if (value.len > MAX_TEXT_BYTES) {
        et->shortened++;
        return;
    }
    if (!value.len || nl_str_is(value, "\"\"") || nl_str_is(value, "[]"))
        return;
    nl_buf_char(&et->detail, et->detail.len ? ',' : '{');
    append_quoted(&et->detail, name);
    nl_buf_char(&et->detail, ':');
    if (quote)
        append_quoted(&et->detail, value);
    else
        nl_buf_add(&et->detail, value.ptr, value.len);
}

void torchet_keep(struct torchet *et)
{
    if (et->node.index == NL_NULL_I64 && et->node.name == NL_NO_NAME) {
        et->unnamed++;
        return;
    }
    if (et->detail.len && !et->detail.overflow) {
        nl_buf_char(&et->detail, '}');
        et->node.detail = nl_stage_name(et->stage, (struct nl_str){et->detail.ptr, et->detail.len});
    }
    if (et->detail.overflow)
        et->shortened++;
    nl_stage_node(et->stage, &et->node);
    et->nodes++;
}

void torchet_global(struct torchet *et, struct nl_str name, struct nl_str value)
{
    static const char *const shown[] = {"schema",    "pid",   "time",      "start_ts",
                                        "finish_ts", "ngpus", "collective"};
    int64_t pid;
    if (nl_str_is(name, "pid") && nl_parse_i64(value, &pid))
        (void)nl_builder_process(et->builder, et->source, pid);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (nl_str_is(name, shown[i])) {
            nl_builder_meta(et->builder, et->source, shown[i], value);
            return;
        }
    et->foreign++;
}

/* ---- what is it? ---- */

enum content { NOTHING, JSON, CHAKRA };

static enum content content_of(const unsigned char *bytes, size_t len)
{
    struct nl_str head = {(const char *)bytes, len < NL_SNIFF_BYTES ? len : NL_SNIFF_BYTES};
    size_t at = 0;
    while (at < head.len && strchr(" \t\r\n\xef\xbb\xbf", head.ptr[at]) && head.ptr[at])
        at++;
    if (at < head.len && head.ptr[at] == '{') {
        if (nl_str_contains(head, "\"traceEvents\""))
            return NOTHING;
        bool pytorch = nl_str_contains(head, "\"schema\"") && nl_str_contains(head, "\"nodes\"");
        bool chakra = nl_str_contains(head, "\"workload_graph\"");
        return pytorch || chakra ? JSON : NOTHING;
    }
    return torchet_is_chakra(bytes, head.len) ? CHAKRA : NOTHING;
}

static int torchet_sniff(const struct nl_input *input, const char **why)
{
    enum content content = content_of(input->head, input->head_len);
    (void)why;
    return content == JSON ? 93 : content == CHAKRA ? 80 : 0;
}

/* ---- loading ---- */

static bool load_document(struct torchet *et, const unsigned char *bytes, size_t len,
                          struct nl_err *err)
{
    switch (content_of(bytes, len)) {
    case JSON: return torchet_json(et, bytes, len, err);
    case CHAKRA: return torchet_chakra(et, bytes, len, err);
    default: return true;
    }
}

static void report_coverage(struct torchet *et)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not recorded: when nodes ran", et->nodes,
         "an execution trace has no times; load the Kineto trace of the same run for them"},
        {"not loaded: attributes of nodes", et->others, "on no list of known ones"},
        {"not loaded: facts about the trace", et->foreign, "on no list of known ones"},
        {"not loaded: texts of nodes that are too long", et->shortened, "over 64 KiB"},
        {"skipped: nodes without id and name", et->unnamed, NULL},
        {"damaged: text that cannot be parsed", et->damaged, "the rest is not loaded"},
        {"truncated: the file ends early", et->cut, "nodes before the end are loaded"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(et->builder, et->source, rows[i].item, rows[i].count,
                                rows[i].detail);
}

static bool torchet_load(struct nl_reading *reading, struct nl_err *err)
{
    struct torchet et = {.builder = reading->builder,
                         .stage = nl_stage_new(reading->builder),
                         .job = reading->job,
                         .source = reading->source};
    nl_stage_begin(et.stage, reading->source, 0);
    nl_buf_init(&et.detail, 4 * MAX_TEXT_BYTES);
    bool done = load_document(&et, reading->file->bytes, reading->file->size, err);
    if (done && !et.nodes)
        done = nl_fail(err, NL_FORMAT, "this execution trace has no nodes%s",
                       et.cut ? "; it is cut, copy it again" : "");
    report_coverage(&et);
    nl_buf_release(&et.detail);
    return done;
}

const struct nl_format nl_format_torchet = {
    .name = "execution-trace",
    .title = "PyTorch or Chakra execution trace",
    .sniff = torchet_sniff,
    .load = torchet_load,
    .feed = NL_FEED_WHOLE,
    .doc = "docs/formats/torchet.md",
};

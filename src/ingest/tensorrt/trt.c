/*
 * TensorRT's JSON files: which of them a file is, and the frame around reading each.
 *
 * They have no magic and no version, but each begins with keys that nothing else begins with.
 */
#include <stdio.h>

#include "ingest/tensorrt/trt.h"
#include "base/utf8.h"

#define MAX_MEMBERS 4096 /* bytes kept of what has no column, per row */

/* ---- Shared by the kinds ---- */

bool trt_stop(struct trt_load *load)
{
    return nl_job_cancelled(load->job) || nl_builder_over_budget(load->builder);
}

bool trt_item(struct trt_load *load, const char *mark)
{
    for (;;) {
        if (!load->json->problem && jsonpull_item(load->json))
            return true;
        if (!load->json->problem || load->json->cut)
            return false;
        if (!load->damaged++)
            load->damage_at = jsonpull_offset(load->json);
        if (!jsonpull_resume(load->json, 1, mark))
            return false;
    }
}

void trt_keep_member(struct trt_load *load, struct nl_buf *members)
{
    struct nl_str raw;
    size_t before = members->len;
    nl_buf_format(members, "%s\"%.*s\":", before ? "," : "", (int)load->json->text.len,
                  load->json->text.ptr);
    if (!jsonpull_raw(load->json, &raw))
        return;
    if (raw.len < MAX_MEMBERS && members->len + raw.len < MAX_MEMBERS && !members->overflow) {
        nl_buf_add(members, raw.ptr, raw.len);
        return;
    }
    members->len = before;
    members->overflow = false;
    nl_builder_coverage(load->builder, load->source, "not loaded: arguments over 4 KiB", 1, NULL);
}

uint32_t trt_members_name(struct trt_load *load, const struct nl_buf *members)
{
    if (!members->len)
        return NL_NO_NAME;
    nl_buf_clear(&load->more);
    nl_buf_char(&load->more, '{');
    nl_buf_add(&load->more, members->ptr, members->len);
    nl_buf_char(&load->more, '}');
    return nl_stage_name(load->stage, (struct nl_str){load->more.ptr, load->more.len});
}

/* ---- Recognition ---- */

static const struct kind {
    const char *name;
    const char *begins; /* first tokens, as tokens_of writes them */
    trt_read_fn *read;
} kinds[] = {
    {"trtexec --exportTimes", "[{\"startEnqMs\"", trt_read_times},
    {"trtexec --exportTimes", "[{\"startInMs\"", trt_read_times}, /* TensorRT 6 */
    {"trtexec --exportProfile", "[{\"count\"#}{\"name\"$\"timeMs\"", trt_read_profile},
    {"trtexec --exportProfile", "[{\"count\"#}]", trt_read_profile},
    {"trtexec --exportLayerInfo", "{\"Layers\"[$", trt_read_layers},
    {"trtexec --exportLayerInfo", "{\"Layers\"[{\"Name\"", trt_read_layers},
    {"trtexec --exportOutput", "[{\"name\"$\"dimensions\"$\"values\"[", trt_read_output},
    {"trex metadata", "{\"performance_summary\"{", trt_read_metadata},
    {"trex metadata", "{\"model_options\"{", trt_read_metadata},
    {"trex device metadata", "[{\"Name\"$\"ComputeCapability\"[", trt_read_device},
};

/* The first tokens as text: brackets, keys with quotes, # for a number, $ for a string. */
static void tokens_of(const struct nl_input *input, char *text, size_t room)
{
    struct jsonpull json;
    size_t len = 0;
    jsonpull_memory(&json, input->head, input->head_len, JSONPULL_QUOTES);
    while (jsonpull_next(&json) > JSONPULL_END && len + 34 < room) {
        if (json.type == JSONPULL_KEY)
            len += (size_t)snprintf(text + len, 34, "\"%.*s\"", NL_UP_TO(30, json.text));
        else
            text[len++] = "?.{}[]k$#!!!!"[json.type];
    }
    text[len] = '\0';
    jsonpull_release(&json);
}

static const struct kind *find_kind(const struct nl_input *input)
{
    char text[160];
    tokens_of(input, text, sizeof text);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(text, kinds[i].begins, strlen(kinds[i].begins)) == 0)
            return &kinds[i];
    return NULL;
}

/* What trtexec prints is for eyes: rounded sums and percentiles; the exported
 * files have every inference. */
static bool is_log(const struct nl_input *input)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    return nl_str_contains(head, "TensorRT.trtexec [") ||
           (nl_str_contains(head, "[I] === Model Options ===") &&
            nl_str_contains(head, "[I] === Build Options ==="));
}

static int trt_sniff(const struct nl_input *input, const char **why)
{
    if (find_kind(input))
        return 95;
    if (!is_log(input))
        return 0;
    *why = "the log of trtexec, whose tables are rounded for reading; run it with "
           "--exportTimes=FILE and --exportProfile=FILE, and give those files";
    return NL_NEAR_MISS;
}

/* ---- Loading ---- */

static bool check_content(struct trt_load *load, const struct nl_input *input,
                          const struct kind *kind, struct nl_err *err)
{
    if (nl_job_cancelled(load->job))
        return nl_fail(err, NL_INTERRUPTED, "stopped on request");
    if (err->code != NL_OK)
        return false;
    if (!load->rows && !nl_builder_over_budget(load->builder)) {
        nl_err_at(err, input->place, (int64_t)jsonpull_offset(load->json));
        return nl_fail(err, NL_FORMAT, "this output of %s holds nothing that can be read%s%s",
                       kind->name, load->json->problem ? ": " : "",
                       load->json->problem ? load->json->problem : "");
    }
    return true;
}

static void report_coverage(struct trt_load *load, const struct kind *kind)
{
    char detail[160];
    const struct jsonpull *json = load->json;
    nl_builder_tool(load->builder, load->source, nl_str(kind->name));
    if (load->damaged) {
        (void)snprintf(detail, sizeof detail, "not readable as JSON, first at byte %llu",
                       (unsigned long long)load->damage_at);
        nl_builder_coverage(load->builder, load->source, "skipped: damaged rows",
                            (int64_t)load->damaged, detail);
    }
    if (json->cut || (json->problem && !load->damaged)) {
        (void)snprintf(detail, sizeof detail, "%s at byte %llu", json->problem,
                       (unsigned long long)jsonpull_offset(json));
        nl_builder_coverage(load->builder, load->source,
                            json->cut ? "truncated: the file" : "skipped: all after damage", 1,
                            detail);
    }
}

static bool trt_load(struct nl_reading *reading, struct nl_err *err)
{
    const struct kind *kind = find_kind(reading->input);
    if (!kind)
        return nl_fail(err, NL_FORMAT, "no file of TensorRT");
    struct jsonpull json;
    struct trt_load load = {
        .builder = reading->builder, .source = reading->source, .json = &json, .job = reading->job};
    load.stage = nl_stage_new(reading->builder);
    nl_stage_begin(load.stage, reading->source, 0);
    nl_buf_init(&load.text, 1 << 20);
    nl_buf_init(&load.more, 1 << 20);
    nl_err_clear(err);
    nl_err_at(err, reading->input->place, -1);
    jsonpull_stream(&json, reading->stream, JSONPULL_QUOTES | JSONPULL_LINES, err);
    kind->read(&load);
    bool ok = check_content(&load, reading->input, kind, err);
    if (ok)
        report_coverage(&load, kind);
    jsonpull_release(&json);
    nl_buf_release(&load.text);
    nl_buf_release(&load.more);
    return ok;
}

const struct nl_format nl_format_trt = {.name = "tensorrt",
                                        .title = "TensorRT (trtexec) export",
                                        .sniff = trt_sniff,
                                        .load = trt_load,
                                        .feed = NL_FEED_STREAM,
                                        .doc = "formats/tensorrt.md"};

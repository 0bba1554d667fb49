/*
 * Result files of rocprofv3 in JSON: one object per process, with what describes it (agents, names
 * of calls, symbols of kernels) before the records, in the order in which the tool writes; read in
 * one pass as a stream. Commands, configuration and the host's name are not kept.
 */
#include "ingest/amd/rocjson.h"

#include "base/mem.h"
#include "ingest/amd/rocagent.h"

/* ---- What describes a process ---- */

/* Every object of the array that comes next is given to `read`, the reader being inside it. */
static void each_object(struct rocjson *load, void (*read)(struct rocjson *load))
{
    if (jsonpull_next(&load->reader) != JSONPULL_ARRAY) {
        jsonpull_skip(&load->reader);
        return;
    }
    while (jsonpull_item(&load->reader)) {
        if (load->reader.type == JSONPULL_OBJECT)
            read(load);
        else
            jsonpull_skip(&load->reader);
    }
}

static void read_agent(struct rocjson *load)
{
    struct rocagent agent;
    rocagent_read(&load->reader, load->rows.builder, &agent);
    rocagent_device(&load->rows, agent.handle, &agent);
}

/* {"kernel_id": 8, "formatted_kernel_name": "…", …}; the most readable name wins. */
static void read_symbol(struct rocjson *load)
{
    static const char *const keys[] = {"kernel_name", "truncated_kernel_name",
                                       "demangled_kernel_name", "formatted_kernel_name"};
    struct jsonpull *reader = &load->reader;
    int64_t id = NL_NULL_I64;
    uint32_t name = NL_NO_NAME;
    size_t best = 0;
    while (jsonpull_member(reader)) {
        bool is_id = nl_str_is(reader->text, "kernel_id");
        size_t which = 0;
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            if (nl_str_is(reader->text, keys[i]))
                which = i + 1;
        enum jsonpull_type type = jsonpull_next(reader);
        if (is_id) {
            (void)jsonpull_i64(reader, &id);
        } else if (which > best && type == JSONPULL_STRING && reader->text.len > 0) {
            name = nl_stage_name(load->rows.stage, gpurows_kernel_name(reader->text));
            best = which;
        }
        jsonpull_skip(reader);
    }
    if (id > 0)
        *gpurows_map_put(&load->symbols, (uint64_t)id, 0, NULL) = name;
}

/* {"id": {"handle": 7}, "name": "SQ_WAVES", …} */
static void read_counter(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    int64_t id = NL_NULL_I64;
    uint32_t name = NL_NO_NAME;
    while (jsonpull_member(reader)) {
        bool is_id = nl_str_is(reader->text, "id"), is_name = nl_str_is(reader->text, "name");
        enum jsonpull_type type = jsonpull_next(reader);
        if (is_name && type == JSONPULL_STRING)
            name = nl_stage_name(load->rows.stage, reader->text);
        if (is_id && type == JSONPULL_OBJECT) {
            while (jsonpull_member(reader)) {
                (void)jsonpull_next(reader);
                (void)jsonpull_i64(reader, &id);
                jsonpull_skip(reader);
            }
        } else {
            jsonpull_skip(reader);
        }
    }
    if (id != NL_NULL_I64)
        *gpurows_map_put(&load->counters, (uint64_t)id, 0, NULL) = name;
}

/* {"key": 12, "value": "text"} */
static void read_message(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    int64_t id = NL_NULL_I64;
    uint32_t name = NL_NO_NAME;
    while (jsonpull_member(reader)) {
        bool is_key = nl_str_is(reader->text, "key");
        enum jsonpull_type type = jsonpull_next(reader);
        if (is_key)
            (void)jsonpull_i64(reader, &id);
        else if (type == JSONPULL_STRING)
            name = nl_stage_name(load->rows.stage, reader->text);
        jsonpull_skip(reader);
    }
    if (id != NL_NULL_I64)
        *gpurows_map_put(&load->messages, (uint64_t)id, 0, NULL) = name;
}

/* {"kind": "HIP_RUNTIME_API", "operations": ["…", …]}; kinds are numbered by their places. */
static void read_kind(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    uint64_t kind = load->kinds++, operation = 0;
    while (jsonpull_member(reader)) {
        bool names = nl_str_is(reader->text, "operations");
        if (jsonpull_next(reader) != JSONPULL_ARRAY || !names) {
            jsonpull_skip(reader);
            continue;
        }
        while (jsonpull_item(reader)) {
            if (reader->type == JSONPULL_STRING && operation < 0xffff && kind <= 0xffff)
                *gpurows_map_put(&load->words, kind << 16 | operation, 0, NULL) =
                    nl_stage_name(load->rows.stage, reader->text);
            operation++;
            jsonpull_skip(reader);
        }
    }
}

static void read_strings(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_OBJECT) {
        jsonpull_skip(reader);
        return;
    }
    while (jsonpull_member(reader)) {
        if (nl_str_is(reader->text, "buffer_records")) {
            load->kinds = 0;
            each_object(load, read_kind);
        } else if (nl_str_is(reader->text, "marker_api")) {
            each_object(load, read_message);
        } else {
            jsonpull_skip(reader);
        }
    }
}

static void read_metadata(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_OBJECT) {
        jsonpull_skip(reader);
        return;
    }
    while (jsonpull_member(reader)) {
        bool is_pid = nl_str_is(reader->text, "pid");
        if (!is_pid) {
            jsonpull_skip(reader);
            continue;
        }
        (void)jsonpull_next(reader);
        (void)jsonpull_i64(reader, &load->pid);
        jsonpull_skip(reader);
    }
}

/* ---- The document ---- */

static void forget_process(struct rocjson *load)
{
    struct gpurows_map *maps[] = {&load->symbols, &load->words, &load->messages, &load->counters,
                                  &load->dispatches};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        gpurows_map_release(maps[i]);
    load->pid = NL_NULL_I64;
}

static void read_part(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    struct nl_str key = reader->text;
    if (nl_str_is(key, "metadata")) {
        read_metadata(load);
    } else if (nl_str_is(key, "agents")) {
        each_object(load, read_agent);
    } else if (nl_str_is(key, "counters")) {
        each_object(load, read_counter);
    } else if (nl_str_is(key, "strings")) {
        read_strings(load);
    } else if (nl_str_is(key, "kernel_symbols")) {
        each_object(load, read_symbol);
    } else if (nl_str_is(key, "callback_records") || nl_str_is(key, "buffer_records")) {
        if (jsonpull_next(reader) == JSONPULL_OBJECT)
            rocjson_sections(load);
        else
            jsonpull_skip(reader);
    } else {
        jsonpull_skip(reader);
    }
}

static void read_process(struct rocjson *load)
{
    load->processes++;
    while (!gpurows_stop(&load->rows) && jsonpull_member(&load->reader))
        read_part(load);
    forget_process(load);
}

static void read_document(struct rocjson *load)
{
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_OBJECT)
        return;
    while (!gpurows_stop(&load->rows) && jsonpull_member(reader)) {
        if (nl_str_is(reader->text, "rocprofiler-sdk-tool"))
            each_object(load, read_process);
        else
            jsonpull_skip(reader);
    }
}

static void report_count(struct rocjson *load, const char *item, uint64_t count, const char *detail)
{
    if (count > 0)
        nl_builder_coverage(load->rows.builder, load->rows.source, item, (int64_t)count, detail);
}

static bool finish_load(struct rocjson *load, const struct nl_input *input, struct nl_err *err)
{
    struct jsonpull *reader = &load->reader;
    if (reader->problem)
        report_count(load, "truncated: the text ends early or is damaged", 1, reader->problem);
    report_count(load, "names not in the file", load->unknown_names, "kernels, calls or counters");
    report_count(load, "repaired: JSON", reader->repairs, NULL);
    report_count(load, "kernel records that repeat counted dispatches", load->twice, "kept once");
    gpurows_end(&load->rows);
    if (nl_job_cancelled(load->rows.job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (load->processes > 0)
        return true;
    nl_err_at(err, input->place, (int64_t)jsonpull_offset(reader));
    return nl_fail(err, NL_FORMAT, "no process of rocprofv3 in it%s%s", reader->problem ? ": " : "",
                   reader->problem ? reader->problem : "");
}

static bool rocjson_load(struct nl_reading *reading, struct nl_err *err)
{
    struct rocjson *load = nl_zalloc(sizeof *load);
    struct nl_err failure;
    nl_err_clear(&failure);
    gpurows_begin(&load->rows, reading->builder, reading->source, reading->job);
    jsonpull_stream(&load->reader, reading->stream, 0, &failure);
    nl_builder_clock(reading->builder, reading->source, "boot", NL_NULL_I64);
    nl_builder_tool(reading->builder, reading->source, nl_str("rocprofv3"));
    nl_builder_correlation_per_process(reading->builder, reading->source);
    load->pid = NL_NULL_I64;
    read_document(load);
    bool done = finish_load(load, reading->input, err);
    if (failure.code != NL_OK) {
        if (err)
            *err = failure;
        done = false;
    }
    forget_process(load);
    jsonpull_release(&load->reader);
    nl_free(load->samples);
    nl_free(load);
    return done;
}

static int rocjson_sniff(const struct nl_input *input, const char **why)
{
    static const char mark[] = "\"rocprofiler-sdk-tool\"";
    struct nl_str head = {(const char *)input->head,
                          input->head_len < 4096 ? input->head_len : 4096};
    (void)why;
    return head.len > 0 && nl_str_contains(head, mark) ? 95 : 0;
}

const struct nl_format nl_format_rocjson = {.name = "rocprofv3",
                                            .title = "rocprofv3 JSON results",
                                            .sniff = rocjson_sniff,
                                            .load = rocjson_load,
                                            .feed = NL_FEED_STREAM,
                                            .doc = "formats/rocprof.md"};

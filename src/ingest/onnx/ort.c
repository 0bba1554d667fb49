/*
 * ONNX Runtime profiling JSON: recognition, and the walk over the list of events.
 *
 * The runtime writes an array, an event per line, and escapes nothing in names. So strings are read
 * with bare quotes and backslashes allowed but never across the end of a line, and after a damaged
 * event reading goes on at the next one.
 */
#include <stdio.h>

#include "ingest/onnx/ort_event.h"

#define UNIT_EVENTS 65536
#define MAX_EVENTS  1000000 /* the runtime drops events above it */

void ort_odd(struct ort_load *load, enum ort_odd odd)
{
    if (!load->odd[odd]++)
        load->odd_at[odd] = load->json->offset;
}

/* ---- Loading ---- */

static bool must_stop(struct ort_load *load, struct nl_job *job, struct nl_err *err, bool *failed)
{
    if (nl_job_cancelled(job)) {
        *failed = true;
        (void)nl_fail(err, NL_INTERRUPTED, "stopped on request");
        return true;
    }
    return nl_builder_over_budget(load->builder);
}

/* Events up to the end of the list or of the file; false when stopped. */
static bool read_events(struct ort_load *load, struct nl_job *job, struct nl_err *err)
{
    struct jsonpull *json = load->json;
    uint64_t unit = 0, seen = 0;
    bool failed = false;
    for (;;) {
        while (jsonpull_item(json)) {
            if (seen % 1024 == 0 && must_stop(load, job, err, &failed))
                return !failed;
            if (seen++ % UNIT_EVENTS == 0)
                nl_stage_begin(load->stage, load->source, unit++);
            if (json->type != JSONPULL_OBJECT) {
                jsonpull_skip(json);
                ort_odd(load, ORT_ODD_DAMAGED);
            } else if (ort_read_event(load)) {
                ort_take_event(load);
            }
        }
        if (!json->problem || json->cut)
            return true;
        ort_odd(load, ORT_ODD_DAMAGED);
        if (!jsonpull_resume(json, 1, "{\"cat\""))
            return json->cut || err->code == NL_OK;
    }
}

static void report_coverage(struct ort_load *load)
{
    static const struct {
        const char *item, *detail;
    } notes[ORT_ODDS] = {
        [ORT_ODD_DAMAGED] = {"skipped: damaged events", "not readable as JSON, first"},
        [ORT_ODD_NO_TIME] = {"skipped: events without a time", "first"},
        [ORT_ODD_NEGATIVE] = {"repaired: negative durations", "taken as 0, first"},
        [ORT_ODD_PHASE] = {"not loaded: events of other phases",
                           "this runtime writes X only, first"},
        [ORT_ODD_FENCE] = {"not loaded: fence markers", "they have no length, first"},
        [ORT_ODD_NO_PARENT] = {"GPU events without a node", "the file names none, first"},
        [ORT_ODD_ARGS_CUT] = {"not loaded: arguments over 4 KiB", "first"},
    };
    char detail[160];
    for (size_t i = 0; i < ORT_ODDS; i++) {
        if (!load->odd[i])
            continue;
        (void)snprintf(detail, sizeof detail, "%s at byte %llu", notes[i].detail,
                       (unsigned long long)load->odd_at[i]);
        nl_builder_coverage(load->builder, load->source, notes[i].item, (int64_t)load->odd[i],
                            detail);
    }
    if (load->json->cut)
        nl_builder_coverage(load->builder, load->source, "truncated: the list of events", 1,
                            "the file ends inside it");
    if (load->events + load->odd[ORT_ODD_FENCE] >= MAX_EVENTS)
        nl_builder_coverage(load->builder, load->source, "truncated: events over the limit", 1,
                            "ONNX Runtime keeps 1,000,000 events; record fewer runs");
}

static void describe(struct ort_load *load)
{
    nl_builder_tool(load->builder, load->source, nl_str("ONNX Runtime"));
    nl_builder_clock(load->builder, load->source, "steady clock from the start of profiling",
                     NL_NULL_I64);
    if (load->provider_list.len)
        nl_builder_meta(load->builder, load->source, "execution providers",
                        (struct nl_str){load->provider_list.ptr, load->provider_list.len});
}

static bool check_content(struct ort_load *load, const struct nl_input *input, struct nl_err *err)
{
    if (err->code != NL_OK)
        return false;
    if (load->events || nl_builder_over_budget(load->builder))
        return true;
    nl_err_at(err, input->place, 0);
    return nl_fail(err, NL_FORMAT,
                   "no event of this ONNX Runtime profile can be read; the session may have been "
                   "killed: call end_profiling() and try again");
}

static bool ort_load(struct nl_reading *reading, struct nl_err *err)
{
    nl_err_clear(err);
    nl_err_at(err, reading->input->place, -1);
    struct jsonpull json;
    struct ort_load *load = nl_zalloc(sizeof *load);
    *load = (struct ort_load){
        .builder = reading->builder, .source = reading->source, .json = &json, .pid = NL_NULL_I64};
    load->stage = nl_stage_new(reading->builder);
    nl_stage_begin(load->stage, reading->source, UINT64_MAX >> 1);
    nl_buf_init(&load->shapes, 1 << 20);
    nl_buf_init(&load->types, 1 << 20);
    nl_buf_init(&load->event.rest, 1 << 13);
    nl_buf_init(&load->provider_list, 1 << 10);
    jsonpull_stream(&json, reading->stream, JSONPULL_QUOTES | JSONPULL_LINES | JSONPULL_PATHS, err);
    bool ok = true;
    if (jsonpull_next(&json) == JSONPULL_ARRAY)
        ok = read_events(load, reading->job, err);
    ok = ok && check_content(load, reading->input, err);
    if (ok) {
        report_coverage(load);
        describe(load);
    }
    jsonpull_release(&json);
    nl_buf_release(&load->shapes);
    nl_buf_release(&load->types);
    nl_buf_release(&load->event.rest);
    nl_buf_release(&load->provider_list);
    nl_free(load);
    return ok;
}

/* ---- Recognition ---- */

/* The first event: `[ {"cat": "Session"|"Node"|"Kernel"|"Api"`, as no other program begins. */
static bool begins_like_ort(const struct nl_input *input)
{
    static const char *const cats[] = {"Session", "Node", "Kernel", "Api"};
    struct jsonpull json;
    bool found = false;
    jsonpull_memory(&json, input->head, input->head_len, JSONPULL_QUOTES);
    if (jsonpull_next(&json) == JSONPULL_ARRAY && jsonpull_next(&json) == JSONPULL_OBJECT &&
        jsonpull_member(&json) && nl_str_is(json.text, "cat") &&
        jsonpull_next(&json) == JSONPULL_STRING)
        for (size_t i = 0; i < sizeof cats / sizeof cats[0]; i++)
            found |= nl_str_is(json.text, cats[i]);
    jsonpull_release(&json);
    return found;
}

static int ort_sniff(const struct nl_input *input, const char **why)
{
    static const char *const marks[] = {"\"model_loading_", "\"session_initialization\"",
                                        "_kernel_time\"", "\"model_run\"", "Executor::Execute\""};
    struct nl_str head = {(const char *)input->head, input->head_len};
    (void)why;
    if (!begins_like_ort(input))
        return 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (nl_str_contains(head, marks[i]))
            return 96;
    return 0;
}

const struct nl_format nl_format_ort = {.name = "onnxruntime",
                                        .title = "ONNX Runtime profile",
                                        .sniff = ort_sniff,
                                        .load = ort_load,
                                        .feed = NL_FEED_STREAM,
                                        .doc = "formats/onnxruntime.md"};

/*
 * Run documents of this program as profiles: a first walk finds the lists and takes the facts, then
 * lists are read in the order in which they refer to each other, whatever order they stand in.
 *
 * Facts go into metadata under their dotted keys, so that a document made again from the profile
 * has them. The document's sources become separate sources if there are several: correlation ids
 * are distinguished by them.
 */
#include "ingest/rundoc/runjson.h"
#include "base/utf8.h"

#include <stdio.h>

#define MARK    "\"neurolens.run/"
#define VERSION "neurolens.run/4"
#define OLDER   "neurolens.run/1"

static int runjson_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    size_t at = 0;
    while (at < head.len && strchr(" \n\r\t", head.ptr[at]) && head.ptr[at])
        at++;
    if (at == head.len || head.ptr[at] != '{' || !nl_str_contains(head, MARK))
        return 0;
    if (nl_str_contains(head, "\"schema\""))
        return 99;
    *why = "JSON that names the schema of run documents, but is not one";
    return 0;
}

/* ---- first walk ---- */

static const struct {
    const char *object, *member; /* object NULL = at the top */
    enum runjson_part part;
} places[] = {
    {"run", "sources", RUNJSON_SOURCES},
    {"hardware", "devices", RUNJSON_DEVICES},
    {"timeline", "processes", RUNJSON_PROCESSES},
    {"timeline", "lanes", RUNJSON_LANES},
    {"timeline", "events", RUNJSON_EVENTS},
    {NULL, "steps", RUNJSON_STEPS},
    {"coverage", "events", RUNJSON_KINDS},
    {"coverage", "parts", RUNJSON_TABLES},
    {"coverage", "items", RUNJSON_ITEMS},
    {"aggregates", "nodes", RUNJSON_NODES},
    {"aggregates", "measurements", RUNJSON_MEASUREMENTS},
};

/* Keeps the text of the key's value if it is a wanted list. */
static bool keep_list(struct runjson *load, struct jsonpull *reader, const char *object)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        bool same = object && places[i].object ? strcmp(object, places[i].object) == 0
                                               : object == places[i].object;
        if (!same || !nl_str_is(reader->text, places[i].member))
            continue;
        struct nl_str rest = {reader->at, (size_t)(reader->end - reader->at)}, raw;
        bool whole = jsonpull_raw(reader, &raw);
        while (!whole && rest.len && strchr(": \n\r\t", rest.ptr[0]))
            rest = (struct nl_str){rest.ptr + 1, rest.len - 1}; /* what is there of it */
        load->parts[places[i].part] = whole ? raw : rest;
        return true;
    }
    return false;
}

static void take_fact(struct runjson *load, struct jsonpull *reader, const char *object)
{
    char key[160];
    bool timeline = strcmp(object, "timeline") == 0, coverage = strcmp(object, "coverage") == 0;
    snprintf(key, sizeof key, "%s.%.*s", object, NL_UP_TO(100, reader->text));
    enum jsonpull_type type = jsonpull_next(reader);
    if (type == JSONPULL_OBJECT || type == JSONPULL_ARRAY || type == JSONPULL_NULL) {
        jsonpull_skip(reader);
    } else if (timeline) {
        if (strcmp(key, "timeline.origin_ns") == 0 && !jsonpull_i64(reader, &load->origin))
            load->odd++;
    } else if (coverage) {
        if (strcmp(key, "coverage.timeline_complete") == 0)
            load->complete = type == JSONPULL_TRUE;
    } else {
        struct nl_str text = type == JSONPULL_TRUE    ? nl_str("true")
                             : type == JSONPULL_FALSE ? nl_str("false")
                                                      : reader->text;
        if (strcmp(key, "run.start_epoch_ns") == 0)
            (void)jsonpull_i64(reader, &load->epoch);
        nl_builder_meta(load->builder, load->source, key, text);
    }
}

static void walk_object(struct runjson *load, struct jsonpull *reader, const char *object)
{
    if (jsonpull_next(reader) != JSONPULL_OBJECT) {
        load->odd++;
        jsonpull_skip(reader);
        return;
    }
    while (!runjson_stopped(load) && jsonpull_member(reader))
        if (!keep_list(load, reader, object))
            take_fact(load, reader, object);
}

static void take_version(struct runjson *load, struct jsonpull *reader)
{
    load->version_seen = true;
    static const char *const known[] = {VERSION, "neurolens.run/3", "neurolens.run/2", OLDER};
    bool text = jsonpull_next(reader) == JSONPULL_STRING;
    load->newer = true;
    for (size_t i = 0; text && i < sizeof known / sizeof known[0]; i++)
        load->newer = load->newer && !nl_str_is(reader->text, known[i]);
    jsonpull_skip(reader);
}

static void walk(struct runjson *load)
{
    static const char *const objects[] = {"run",      "hardware",   "software", "workload",
                                          "recorder", "aggregates", "coverage", "timeline"};
    struct jsonpull reader;
    jsonpull_memory(&reader, load->file->bytes, load->file->size, 0);
    if (jsonpull_next(&reader) == JSONPULL_OBJECT)
        while (!runjson_stopped(load) && jsonpull_member(&reader)) {
            size_t i = 0;
            while (i < sizeof objects / sizeof objects[0] && !nl_str_is(reader.text, objects[i]))
                i++;
            if (i < sizeof objects / sizeof objects[0])
                walk_object(load, &reader, objects[i]);
            else if (nl_str_is(reader.text, "schema"))
                take_version(load, &reader);
            else if (!keep_list(load, &reader, NULL))
                jsonpull_skip(&reader);
        }
    load->problem = reader.problem;
    jsonpull_release(&reader);
}

/* ---- the whole ---- */

static void report_count(struct runjson *load, const char *item, uint64_t count, const char *detail)
{
    if (count)
        nl_builder_coverage(load->builder, load->source, item, (int64_t)count, detail);
}

static bool check(const struct runjson *load, struct nl_err *err)
{
    if (!load->version_seen)
        return nl_fail(err, NL_FORMAT, "no member \"schema\"%s%s; is this a run document?",
                       load->problem ? ": " : "", load->problem ? load->problem : "");
    if (load->newer)
        return nl_fail(err, NL_FORMAT,
                       "a run document of another version than " OLDER " to " VERSION
                       "; read it with the program that wrote it");
    if (!load->parts[RUNJSON_EVENTS].ptr && load->problem)
        return nl_fail(err, NL_FORMAT,
                       "damaged before its timeline: %s; `neurolens validate` "
                       "names the place",
                       load->problem);
    return true;
}

static void read_lists(struct runjson *load)
{
    nl_stage_begin(load->stage, load->source, 0);
    if (load->epoch != NL_NULL_I64 &&
        !__builtin_sub_overflow(load->epoch, load->origin, &load->epoch))
        nl_builder_clock(load->builder, load->source, "run document", load->epoch);
    runjson_read_lists(load);
    runjson_read_events(load);
    report_count(load, "truncated: JSON", load->problem != NULL, load->problem);
    report_count(load, "skipped: events and steps without a place or a time", load->skipped, NULL);
    report_count(load, "not loaded: further coverage of the document",
                 load->covered > RUNJSON_MAX_COVERAGE ? load->covered - RUNJSON_MAX_COVERAGE : 0,
                 NULL);
    report_count(load, "not understood: members of the document", load->odd,
                 "`neurolens validate` names them");
}

static bool runjson_load(struct nl_reading *reading, struct nl_err *err)
{
    struct runjson *load = nl_zalloc(sizeof *load);
    load->builder = reading->builder;
    load->stage = nl_stage_new(reading->builder);
    load->source = reading->source;
    load->job = reading->job;
    load->epoch = NL_NULL_I64;
    nl_arena_init(&load->arena);
    load->file = reading->file;
    walk(load);
    bool done = check(load, err);
    if (done)
        read_lists(load);
    if (done && nl_job_cancelled(reading->job))
        done = nl_fail(err, NL_INTERRUPTED, "stopped");
    struct runjson_rows *const rows[] = {&load->sources, &load->devices, &load->processes,
                                         &load->lanes, &load->measurements};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        nl_free(rows[i]->items);
    nl_free(load->ranks);
    nl_free(load->rank_lanes);
    nl_free(load->metrics);
    nl_arena_free(&load->arena);
    nl_free(load);
    return done;
}

const struct nl_format nl_format_runjson = {.name = "run.json",
                                            .title = "run document of this program",
                                            .sniff = runjson_sniff,
                                            .load = runjson_load,
                                            .feed = NL_FEED_WHOLE,
                                            .doc = "formats/runjson.md"};

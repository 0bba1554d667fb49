/*
 * speedscope's own JSON: frames once, then profiles that refer to them by number. Frames may come
 * after the profiles and a profile's unit after its events, so a first pass finds where everything
 * is, a second one reads it.
 */
#include "ingest/stacks/speedscope.h"

#define MARK "https://www.speedscope.app/file-format-schema.json"

static int speedscope_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    size_t at = 0;
    while (at < head.len && (head.ptr[at] == ' ' || head.ptr[at] == '\n' || head.ptr[at] == '\r' ||
                             head.ptr[at] == '\t'))
        at++;
    if (at == head.len || head.ptr[at] != '{')
        return 0;
    bool profiles = nl_str_contains(head, "\"profiles\"");
    bool kind = nl_str_contains(head, "\"evented\"") || nl_str_contains(head, "\"sampled\"");
    if (nl_str_contains(head, MARK))
        return 95;
    if (profiles && kind)
        return 75;
    if (profiles && nl_str_contains(head, "\"frames\""))
        *why = "JSON with profiles, but none that is sampled or evented";
    return 0;
}

/* ---- frames ---- */

static void take_frame(struct speedscope *load)
{
    struct jsonpull *reader = &load->reader;
    struct speedscope_frame frame = {.row = nl_stack_row()};
    int64_t line;
    while (jsonpull_member(reader)) {
        bool name = nl_str_is(reader->text, "name"), file = nl_str_is(reader->text, "file");
        bool is_line = nl_str_is(reader->text, "line");
        if (!name && !file && !is_line) {
            jsonpull_skip(reader);
            continue;
        }
        enum jsonpull_type type = jsonpull_next(reader);
        if (name && type == JSONPULL_STRING)
            frame.name = jsonpull_keep(reader, &load->arena);
        else if (file && type == JSONPULL_STRING)
            frame.file = jsonpull_keep(reader, &load->arena);
        else if (is_line && type == JSONPULL_NUMBER && jsonpull_i64(reader, &line) && line >= 0 &&
                 line < NL_NULL_U32)
            frame.row.line = (uint32_t)line;
        else
            jsonpull_skip(reader);
    }
    frame.row.name = cpuprofile_name(&load->profile, frame.name);
    frame.row.file = cpuprofile_name(&load->profile, frame.file);
    frame.number = cpuprofile_intern(&load->profile, &frame.row);
    nl_grow(&load->frames, &load->frame_cap, load->frame_count + 1);
    load->frames[load->frame_count++] = frame;
}

static void take_shared(struct speedscope *load)
{
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_OBJECT)
        return;
    while (jsonpull_member(reader)) {
        if (!nl_str_is(reader->text, "frames")) {
            jsonpull_skip(reader);
            continue;
        }
        if (jsonpull_next(reader) != JSONPULL_ARRAY)
            continue;
        while (!cpuprofile_stopped(&load->profile) && jsonpull_item(reader)) {
            if (reader->type == JSONPULL_OBJECT)
                take_frame(load);
            else
                jsonpull_skip(reader);
        }
    }
}

/* ---- the whole ---- */

static void take_exporter(struct speedscope *load)
{
    static const char *const pythons[] = {"py-spy", "pyinstrument", "pyspeedscope", "viztracer"};
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_STRING) {
        jsonpull_skip(reader);
        return;
    }
    nl_builder_tool(load->profile.builder, load->profile.source, reader->text);
    for (size_t i = 0; i < sizeof pythons / sizeof pythons[0]; i++)
        load->python |= nl_str_starts(reader->text, pythons[i]);
}

/* First pass: frames, exporter, and where the profiles are. */
static void look_through(struct speedscope *load)
{
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_OBJECT)
        return;
    while (!cpuprofile_stopped(&load->profile) && jsonpull_member(reader)) {
        if (nl_str_is(reader->text, "shared"))
            take_shared(load);
        else if (nl_str_is(reader->text, "exporter"))
            take_exporter(load);
        else if (nl_str_is(reader->text, "profiles")) {
            struct nl_str rest = {reader->at, (size_t)(reader->end - reader->at)}, raw;
            load->profiles = jsonpull_raw(reader, &raw) ? raw : rest; /* what is there of it */
        } else {
            jsonpull_skip(reader);
        }
    }
}

/* A string's text, without its quotes; escapes are resolved into the arena. */
static struct nl_str plain_text(struct nl_str raw, struct nl_arena *arena)
{
    struct jsonpull reader;
    struct nl_str text = {0};
    jsonpull_memory(&reader, raw.ptr, raw.len, 0);
    if (jsonpull_next(&reader) == JSONPULL_STRING)
        text = jsonpull_keep(&reader, arena);
    jsonpull_release(&reader);
    return text;
}

static void take_profile(struct speedscope *load, struct jsonpull *reader)
{
    struct nl_arena arena;
    struct speedscope_profile profile = {0};
    const struct {
        const char *key;
        struct nl_str *value;
    } members[] = {{"type", &profile.type},       {"unit", &profile.unit},
                   {"name", &profile.name},       {"samples", &profile.samples},
                   {"weights", &profile.weights}, {"events", &profile.events},
                   {"endValue", &profile.end}};
    const size_t count = sizeof members / sizeof members[0];
    while (jsonpull_member(reader)) {
        size_t i = 0;
        while (i < count && !nl_str_is(reader->text, members[i].key))
            i++;
        if (i == count) {
            jsonpull_skip(reader);
            continue;
        }
        const char *from = reader->at;
        struct nl_str raw;
        if (!jsonpull_raw(reader, &raw)) /* cut: what is there of it */
            raw = (struct nl_str){from, (size_t)(reader->end - from)};
        while (raw.len && (raw.ptr[0] == ' ' || raw.ptr[0] == ':' || raw.ptr[0] == '\n')) {
            raw.ptr++;
            raw.len--;
        }
        *members[i].value = raw;
    }
    nl_arena_init(&arena);
    profile.type = plain_text(profile.type, &arena);
    profile.unit = plain_text(profile.unit, &arena);
    profile.name = plain_text(profile.name, &arena);
    speedscope_load_profile(load, &profile);
    nl_arena_free(&arena);
}

static void take_profiles(struct speedscope *load)
{
    struct jsonpull reader;
    jsonpull_memory(&reader, load->profiles.ptr, load->profiles.len, 0);
    if (jsonpull_next(&reader) == JSONPULL_ARRAY)
        while (!cpuprofile_stopped(&load->profile) && jsonpull_item(&reader)) {
            if (reader.type == JSONPULL_OBJECT)
                take_profile(load, &reader);
            else
                jsonpull_skip(&reader);
        }
    jsonpull_release(&reader);
}

static void report_coverage(struct speedscope *load)
{
    const struct speedscope_counts *counts = &load->counts;
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } lines[] = {
        {"truncated: JSON", load->reader.problem != NULL, load->reader.problem},
        {"repaired: JSON", load->reader.repairs, "trailing commas, NaN"},
        {"skipped: frames that are not in the list", counts->unknown_frames, NULL},
        {"skipped: profiles of unknown type", counts->unknown_profiles, NULL},
        {"skipped: ends of frames that are not open", counts->unopened, NULL},
        {"skipped: events without a time", counts->bad_times, NULL},
        {"skipped: calls over 4096 deep", counts->deep, NULL},
        {"repaired: events out of order", counts->repaired_order, "moved to the event before"},
        {"repaired: frames closed by one further out", counts->crossed, NULL},
        {"slices without an end in the file", counts->unclosed, "end with their profile"},
        {"samples without a weight", counts->no_weight, NULL},
        {"samples without a stack", counts->empty, NULL},
        {"weights without a unit", counts->untimed, "only shares compare"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        cpuprofile_cover(&load->profile, lines[i].item, lines[i].count, lines[i].detail);
    if (counts->sampled)
        cpuprofile_no_timeline(&load->profile);
}

static bool load_all(struct speedscope *load, struct nl_err *err)
{
    jsonpull_memory(&load->reader, load->file->bytes, load->file->size, 0);
    look_through(load);
    take_profiles(load);
    report_coverage(load);
    if (load->counts.sampled + load->counts.evented || cpuprofile_stopped(&load->profile))
        return true;
    return nl_fail(err, NL_FORMAT, "no profile can be read%s%s", load->reader.problem ? ": " : "",
                   load->reader.problem ? load->reader.problem : "");
}

static bool speedscope_load(struct nl_reading *reading, struct nl_err *err)
{
    struct speedscope *load = nl_zalloc(sizeof *load);
    cpuprofile_begin(&load->profile, reading->builder, reading->source, reading->job);
    load->unit_ns = cpuprofile_name(&load->profile, nl_str("ns"));
    load->unit_bytes = cpuprofile_name(&load->profile, nl_str("bytes"));
    load->unit_millionths = cpuprofile_name(&load->profile, nl_str("millionths"));
    nl_buf_init(&load->text, 8192);
    nl_arena_init(&load->arena);
    load->file = reading->file;
    bool done = load_all(load, err);
    jsonpull_release(&load->reader);
    bool ended = cpuprofile_end(&load->profile, done ? err : NULL);
    nl_buf_release(&load->text);
    nl_free(load->frames);
    nl_arena_free(&load->arena);
    nl_free(load);
    return ended && done;
}

const struct nl_format nl_format_speedscope = {.name = "speedscope",
                                               .title = "speedscope JSON",
                                               .sniff = speedscope_sniff,
                                               .load = speedscope_load,
                                               .feed = NL_FEED_WHOLE,
                                               .doc = "formats/speedscope.md"};

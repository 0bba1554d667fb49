/*
 * pyinstrument's session JSON (and what its older HTML pages hold): a tree of frames, each with the
 * time it took with all it called. A frame's own time is what its children leave of it.
 *
 * The tree is read into an array without recursion, parents before children, and staged afterwards,
 * because a frame's name may come after its children. Identifiers hold NUL characters between
 * function, file and line. Only a few known facts of the session are kept: command lines, paths and
 * call stacks of the start are not.
 */
#include "ingest/lib/cpuprofile.h"

#include "base/mem.h"
#include "base/units.h"
#include "parse/jsonpull.h"

struct frame {
    struct nl_stack_row row;
    uint32_t parent; /* frame, NL_NULL_ROW = none */
    uint32_t node, lane;
    int64_t time, children;
    int64_t thread; /* "<thread>" frames: the thread's id */
    bool is_thread, is_self;
    bool inside; /* its array of children is being read */
};

struct pyinstrument {
    struct cpuprofile profile;
    struct jsonpull reader;
    struct frame *frames;
    size_t count, cap;
    uint64_t no_time, below_zero;
    bool stopped;
};

static int pyinstrument_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    size_t at = 0;
    while (at < head.len && (head.ptr[at] == ' ' || head.ptr[at] == '\n'))
        at++;
    if (at == head.len || head.ptr[at] != '{')
        return 0;
    bool counts = nl_str_contains(head, "\"sample_count\"");
    bool session =
        nl_str_contains(head, "\"session\"") &&
        (nl_str_contains(head, "\"start_call_stack\"") || nl_str_contains(head, "\"frame_tree\""));
    bool older = nl_str_contains(head, "\"root_frame\"");
    if (counts && (session || older))
        return 92;
    if (nl_str_contains(head, "\"frame_tree\"") || older)
        *why = "JSON with a tree of frames, but no sample count";
    return 0;
}

/* ---- frames ---- */

/* "function NUL file NUL line", of newer versions with attributes after \x01. */
static void take_identifier(struct pyinstrument *load, struct frame *frame, struct nl_str text)
{
    struct nl_str part[3] = {0};
    size_t parts = 0, from = 0;
    int64_t line;
    for (size_t i = 0; i <= text.len && parts < 3; i++) {
        if (i < text.len && text.ptr[i] != '\0' && text.ptr[i] != '\1')
            continue;
        part[parts++] = (struct nl_str){text.ptr + from, i - from};
        from = i + 1;
        if (i < text.len && text.ptr[i] == '\1')
            break;
    }
    frame->row.name = cpuprofile_name(&load->profile, part[0]);
    frame->row.file = cpuprofile_name(&load->profile, part[1]);
    frame->is_self = nl_str_is(part[0], "[self]");
    if (!part[2].len || !nl_parse_i64(part[2], &line) || line < 0)
        return;
    if (nl_str_is(part[1], "<thread>")) {
        frame->is_thread = true;
        frame->thread = line;
    } else if (line < NL_NULL_U32) {
        frame->row.line = (uint32_t)line;
    }
}

enum frame_key { IDENTIFIER, FUNCTION, PATH, SHORT, TIME, LINE, FRAME_KEYS };
static const char *const frame_keys[FRAME_KEYS] = {"identifier",      "function", "file_path",
                                                   "file_path_short", "time",     "line_no"};

static void take_text(struct pyinstrument *load, struct frame *frame, enum frame_key key)
{
    struct nl_str text = load->reader.text;
    if (key == IDENTIFIER)
        take_identifier(load, frame, text);
    else if (key == FUNCTION)
        frame->row.name = cpuprofile_name(&load->profile, text);
    else if (key == PATH || (key == SHORT && !frame->row.file))
        frame->row.file = cpuprofile_name(&load->profile, text);
}

static void take_number(struct pyinstrument *load, struct frame *frame, enum frame_key key)
{
    int64_t line;
    if (key == TIME)
        (void)jsonpull_ns(&load->reader, 9, &frame->time);
    else if (key == LINE && jsonpull_i64(&load->reader, &line) && line >= 0 && line < NL_NULL_U32)
        frame->row.line = (uint32_t)line;
}

static void take_value(struct pyinstrument *load, struct frame *frame)
{
    struct jsonpull *reader = &load->reader;
    unsigned key = 0;
    while (key < FRAME_KEYS && !nl_str_is(reader->text, frame_keys[key]))
        key++;
    enum jsonpull_type type = key < FRAME_KEYS ? jsonpull_next(reader) : JSONPULL_KEY;
    if (type == JSONPULL_STRING)
        take_text(load, frame, (enum frame_key)key);
    else if (type == JSONPULL_NUMBER)
        take_number(load, frame, (enum frame_key)key);
    else
        jsonpull_skip(reader);
}

static uint32_t open_frame(struct pyinstrument *load, uint32_t parent)
{
    nl_grow(&load->frames, &load->cap, load->count + 1);
    load->frames[load->count] = (struct frame){.row = nl_stack_row(),
                                               .parent = parent,
                                               .time = NL_NULL_I64,
                                               .node = NL_NULL_ROW,
                                               .lane = NL_NULL_ROW};
    return (uint32_t)load->count++;
}

/* The tree below a bracket that was read, depth first. */
static void read_tree(struct pyinstrument *load)
{
    struct jsonpull *reader = &load->reader;
    uint32_t at = open_frame(load, NL_NULL_ROW);
    while (at != NL_NULL_ROW && !cpuprofile_stopped(&load->profile)) {
        struct frame *frame = &load->frames[at];
        if (frame->inside && jsonpull_item(reader)) {
            if (reader->type == JSONPULL_OBJECT)
                at = open_frame(load, at);
            else
                jsonpull_skip(reader);
        } else if (frame->inside) {
            frame->inside = false;
        } else if (!jsonpull_member(reader)) {
            at = frame->parent;
        } else if (nl_str_is(reader->text, "children")) {
            frame->inside = jsonpull_next(reader) == JSONPULL_ARRAY;
            if (!frame->inside)
                jsonpull_skip(reader);
        } else {
            take_value(load, frame);
        }
        if (reader->problem)
            return;
    }
}

/* ---- rows ---- */

/* Node and lane of a frame whose parent has them. */
static void place(struct pyinstrument *load, struct frame *frame)
{
    const struct frame *parent = frame->parent == NL_NULL_ROW ? NULL : &load->frames[frame->parent];
    uint32_t node = parent ? parent->node : NL_NULL_ROW;
    frame->lane = parent ? parent->lane : NL_NULL_ROW;
    frame->node = node;
    if (frame->is_thread)
        frame->lane = cpuprofile_lane(&load->profile, NL_NULL_I64, frame->thread, nl_str(""));
    else if (frame->lane == NL_NULL_ROW)
        frame->lane = cpuprofile_lane(&load->profile, NL_NULL_I64, NL_NULL_I64, nl_str(""));
    if (!frame->is_thread && !frame->is_self)
        frame->node = cpuprofile_frame(&load->profile, node, &frame->row);
}

static void stage_frames(struct pyinstrument *load)
{
    struct nl_sample_row row = nl_sample_row();
    row.unit = cpuprofile_name(&load->profile, nl_str("ns"));
    row.event = cpuprofile_name(&load->profile, nl_str("wall time"));
    for (size_t i = 0; i < load->count; i++) {
        struct frame *frame = &load->frames[i];
        place(load, frame);
        load->no_time += frame->time == NL_NULL_I64;
        if (frame->time != NL_NULL_I64 && frame->parent != NL_NULL_ROW && !frame->is_self &&
            __builtin_add_overflow(load->frames[frame->parent].children, frame->time,
                                   &load->frames[frame->parent].children))
            load->frames[frame->parent].children = INT64_MAX;
    }
    for (size_t i = 0; i < load->count && !cpuprofile_stopped(&load->profile); i++) {
        const struct frame *frame = &load->frames[i];
        if (frame->time == NL_NULL_I64 || frame->is_self || frame->is_thread)
            continue;
        row.lane = frame->lane;
        row.stack = frame->node;
        if (__builtin_sub_overflow(frame->time, frame->children, &row.weight) || row.weight < 0)
            load->below_zero++;
        else if (row.weight > 0)
            cpuprofile_sample(&load->profile, &row);
    }
}

/* ---- the whole ---- */

static void take_session(struct pyinstrument *load)
{
    static const char *const facts[] = {"start_time", "duration",     "sample_count",
                                        "cpu_time",   "min_interval", "max_interval"};
    struct jsonpull *reader = &load->reader;
    size_t i = 0;
    while (i < sizeof facts / sizeof facts[0] && !nl_str_is(reader->text, facts[i]))
        i++;
    if (i == sizeof facts / sizeof facts[0])
        jsonpull_skip(reader);
    else if (jsonpull_next(reader) == JSONPULL_NUMBER)
        nl_builder_meta(load->profile.builder, load->profile.source, facts[i], reader->text);
    else
        jsonpull_skip(reader);
}

static void read_document(struct pyinstrument *load)
{
    struct jsonpull *reader = &load->reader;
    if (jsonpull_next(reader) != JSONPULL_OBJECT)
        return;
    while (!cpuprofile_stopped(&load->profile) && jsonpull_member(reader)) {
        bool tree = nl_str_is(reader->text, "frame_tree") || nl_str_is(reader->text, "root_frame");
        if (tree && jsonpull_next(reader) == JSONPULL_OBJECT) {
            read_tree(load);
        } else if (tree) {
            jsonpull_skip(reader);
        } else if (nl_str_is(reader->text, "session") && jsonpull_next(reader) == JSONPULL_OBJECT) {
            while (jsonpull_member(reader))
                take_session(load);
        } else if (reader->type == JSONPULL_KEY) {
            take_session(load);
        }
    }
}

static bool load_stream(struct pyinstrument *load, struct nl_stream *stream, const char *place,
                        struct nl_err *err)
{
    struct nl_err problem;
    nl_err_clear(&problem);
    jsonpull_stream(&load->reader, stream, 0, &problem);
    read_document(load);
    stage_frames(load);
    struct cpuprofile *profile = &load->profile;
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "truncated: JSON", load->reader.problem != NULL,
                     load->reader.problem);
    cpuprofile_cover(profile, "repaired: JSON", load->reader.repairs, "trailing commas, NaN");
    cpuprofile_cover(profile, "frames without a time", load->no_time, NULL);
    cpuprofile_cover(profile, "frames whose parts take longer than they do", load->below_zero,
                     "by rounding in the file; their own time is taken as 0");
    bool found = load->count > load->no_time;
    uint64_t offset = jsonpull_offset(&load->reader);
    if (!found && !cpuprofile_stopped(profile)) {
        nl_err_at(err, place, (int64_t)offset);
        return nl_fail(err, NL_FORMAT, "no frame with a time can be read%s%s",
                       load->reader.problem ? ": " : "",
                       load->reader.problem ? load->reader.problem : "");
    }
    return true;
}

static bool pyinstrument_load(struct nl_reading *reading, struct nl_err *err)
{
    struct pyinstrument *load = nl_zalloc(sizeof *load);
    cpuprofile_begin(&load->profile, reading->builder, reading->source, reading->job);
    bool done = load_stream(load, reading->stream, reading->input->place, err);
    jsonpull_release(&load->reader);
    bool ended = cpuprofile_end(&load->profile, done ? err : NULL);
    nl_free(load->frames);
    nl_free(load);
    return ended && done;
}

const struct nl_format nl_format_pyinstrument = {.name = "pyinstrument",
                                                 .title = "pyinstrument session JSON",
                                                 .sniff = pyinstrument_sniff,
                                                 .load = pyinstrument_load,
                                                 .feed = NL_FEED_STREAM,
                                                 .doc = "formats/pyinstrument.md"};

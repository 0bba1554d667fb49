/*
 * The two kinds of profiles. Evented ones in a unit of time are slices: calls with a start and an
 * end. In other units, the value between two events is the weight of the stack that was open.
 * Sampled ones have weights, not times: profilers leave idle samples out, so sums of weights are no
 * times.
 */
#include "base/chars.h"
#include "ingest/stacks/speedscope.h"

#include "base/hex.h"
#include "base/units.h"

#define MAX_DEPTH 4096

struct call {
    uint32_t frame, node;
    size_t slice; /* in `slices` */
};

/* A call with its times. Kept in the order they began, so that of two with equal times
 * the outer one comes first. */
struct timed {
    int64_t start, length;
    uint32_t frame;
    bool closed;
};

struct evented {
    struct call calls[MAX_DEPTH];
    size_t depth;
    struct timed *slices;
    size_t slice_count, slice_cap;
    uint64_t over; /* open calls deeper than that */
    int64_t now;
    bool begun;
};

struct unit {
    int scale; /* 10^scale makes it whole */
    bool time;
    uint32_t name;
};

/* Place of a profile: "Thread 0x16D \"name\"", "Process 12 Thread 13", or any other name. */
static int64_t id_after(struct nl_str name, const char *word)
{
    ptrdiff_t at = nl_str_find_nocase(name, word);
    uint64_t id = 0;
    if (at < 0)
        return NL_NULL_I64;
    size_t i = (size_t)at + strlen(word), digits = 0;
    unsigned base = 10;
    if (i + 1 < name.len && name.ptr[i] == '0' && (name.ptr[i + 1] | 32) == 'x') {
        base = 16;
        i += 2;
    }
    for (; i < name.len && digits < 15; i++, digits++) {
        unsigned digit = (unsigned)nl_hex_digit(name.ptr[i]); /* none: more than any */
        if (digit >= base)
            break;
        id = id * base + digit;
    }
    return digits ? (int64_t)id : NL_NULL_I64;
}

static uint32_t lane_of(struct speedscope *load, const struct speedscope_profile *profile)
{
    struct nl_builder *builder = load->profile.builder;
    uint32_t process =
        nl_builder_process(builder, load->profile.source, id_after(profile->name, "process "));
    uint32_t thread = nl_builder_thread(builder, process, id_after(profile->name, "thread "));
    struct nl_lane_key key = {.kind = load->python ? NL_LANE_PYTHON : NL_LANE_THREAD,
                              .process = process,
                              .thread = thread,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    key.domain = profile->name.len ? nl_builder_name(builder, profile->name) : NL_NO_NAME;
    uint32_t lane = nl_builder_lane(builder, &key);
    if (profile->name.len)
        nl_builder_lane_name(builder, lane, profile->name);
    return lane;
}

/* Whether a number of the array has a fraction: then all are kept in millionths. */
static bool has_fraction(struct nl_str array)
{
    for (size_t i = 0; i < array.len; i++) {
        if (array.ptr[i] != '.')
            continue;
        for (i++; i < array.len && nl_is_digit(array.ptr[i]); i++)
            if (array.ptr[i] != '0')
                return true;
    }
    return false;
}

static struct unit unit_of(struct speedscope *load, const struct speedscope_profile *profile)
{
    static const struct {
        const char *text;
        int scale;
    } times[] = {{"nanoseconds", 0}, {"microseconds", 3}, {"milliseconds", 6}, {"seconds", 9}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        if (nl_str_is(profile->unit, times[i].text))
            return (struct unit){times[i].scale, true, load->unit_ns};
    bool bytes = nl_str_is(profile->unit, "bytes");
    load->counts.untimed += !bytes;
    if (has_fraction(profile->weights) || has_fraction(profile->events))
        return (struct unit){6, false, load->unit_millionths};
    return (struct unit){0, false, bytes ? load->unit_bytes : NL_NO_NAME};
}

/* The node of a sample, `[0, 12, 7]`: digits are all that matters in it. */
static uint32_t read_stack(struct speedscope *load, struct nl_str text)
{
    uint32_t node = NL_NULL_ROW;
    const char *at = text.ptr, *end = text.ptr + text.len;
    while (at < end) {
        if (!nl_is_digit(*at)) {
            load->counts.unknown_frames += *at == '-' || *at == '"' || *at == '{';
            at++;
            continue;
        }
        uint64_t frame = 0;
        while (at < end && nl_is_digit(*at)) {
            frame = frame < UINT32_MAX ? frame * 10 + (uint64_t)(*at - '0') : frame;
            at++;
        }
        if (frame < load->frame_count)
            node = cpuprofile_child(&load->profile, node, load->frames[frame].number);
        else
            load->counts.unknown_frames++;
    }
    return node;
}

/* The same for the sample whose token was read; many are as the one before. */
static uint32_t sample_stack(struct speedscope *load, struct jsonpull *samples,
                             struct nl_str *before, uint32_t node)
{
    struct nl_str text;
    if (samples->type != JSONPULL_ARRAY) {
        jsonpull_skip(samples);
        return NL_NULL_ROW;
    }
    const char *from = samples->at;
    if (!jsonpull_raw(samples, &text)) /* cut: what is there of it */
        text = (struct nl_str){from, (size_t)(samples->end - from)};
    if (before->len && nl_str_eq(text, *before))
        return node;
    uint64_t unknown = load->counts.unknown_frames;
    node = read_stack(load, text);
    *before = unknown == load->counts.unknown_frames ? text : (struct nl_str){0};
    return node;
}

static void load_sampled(struct speedscope *load, const struct speedscope_profile *profile)
{
    struct jsonpull samples;
    struct nl_str before = {0};
    struct unit unit = unit_of(load, profile);
    struct nl_sample_row row = nl_sample_row();
    const void *samples_mark = profile->samples.ptr, *weights_mark = profile->weights.ptr;
    row.lane = lane_of(load, profile);
    row.unit = unit.name;
    jsonpull_memory(&samples, profile->samples.ptr, profile->samples.len, 0);
    jsonpull_memory(&load->weights, profile->weights.ptr, profile->weights.len, 0);
    bool weights = jsonpull_next(&load->weights) == JSONPULL_ARRAY;
    if (jsonpull_next(&samples) == JSONPULL_ARRAY)
        while (!cpuprofile_stopped(&load->profile) && jsonpull_item(&samples)) {
            row.stack = sample_stack(load, &samples, &before, row.stack);
            weights = weights && jsonpull_item(&load->weights);
            row.weight = NL_NULL_I64;
            if (!weights || !jsonpull_ns(&load->weights, unit.scale, &row.weight))
                load->counts.no_weight++;
            if (weights)
                jsonpull_skip(&load->weights);
            load->counts.empty += row.stack == NL_NULL_ROW;
            cpuprofile_sample(&load->profile, &row);
            whole_file_passed(load->file, &samples_mark, samples.at);
            if (weights)
                whole_file_passed(load->file, &weights_mark, load->weights.at);
        }
    load->counts.sampled++;
    jsonpull_release(&samples);
    jsonpull_release(&load->weights);
}

/* ---- evented ---- */

/* "file(line): name" as Kineto has it, since many functions share a name; or the name. */
static uint32_t slice_name(struct speedscope *load, uint32_t number)
{
    struct speedscope_frame *frame = &load->frames[number];
    if (!frame->shown && (!frame->file.len || frame->row.line == NL_NULL_U32))
        frame->shown = frame->row.name;
    if (!frame->shown) {
        nl_buf_clear(&load->text);
        nl_buf_add(&load->text, frame->file.ptr, frame->file.len);
        nl_buf_format(&load->text, "(%u): ", frame->row.line);
        nl_buf_add(&load->text, frame->name.ptr, frame->name.len);
        frame->shown =
            cpuprofile_name(&load->profile, (struct nl_str){load->text.ptr, load->text.len});
    }
    return frame->shown;
}

static void end_call(struct evented *state, bool closed)
{
    struct call *call = &state->calls[--state->depth];
    if (call->slice >= state->slice_count)
        return;
    struct timed *timed = &state->slices[call->slice];
    timed->length = state->now - timed->start;
    timed->closed = closed;
}

static void stage_slices(struct speedscope *load, const struct evented *state, uint32_t lane)
{
    for (size_t i = 0; i < state->slice_count && !cpuprofile_stopped(&load->profile); i++) {
        const struct timed *timed = &state->slices[i];
        struct nl_slice_row row = nl_slice_row();
        struct nl_python_row python = nl_python_row();
        row.ts = timed->start;
        row.dur = timed->length;
        row.lane = lane;
        row.kind = load->python ? NL_KIND_PYTHON : NL_KIND_GENERIC;
        row.name = slice_name(load, timed->frame);
        row.flags = (uint8_t)(timed->closed ? 0u : NL_SLICE_CLAMPED);
        python.slice = nl_stage_slice(load->profile.stage, &row);
        if (load->python)
            nl_stage_python(load->profile.stage, &python);
    }
}

/* What passed since the event before belongs to the stack that was open. */
static void weigh(struct speedscope *load, const struct evented *state, const struct unit *unit,
                  uint32_t lane, int64_t at)
{
    struct nl_sample_row row = nl_sample_row();
    if (unit->time || !state->begun || at <= state->now || !state->depth)
        return;
    row.lane = lane;
    row.unit = unit->name;
    row.weight = at - state->now;
    row.stack = state->calls[state->depth - 1].node;
    cpuprofile_sample(&load->profile, &row);
}

static void open_call(struct speedscope *load, struct evented *state, const struct unit *unit,
                      uint32_t frame)
{
    if (state->depth == MAX_DEPTH) {
        state->over++;
        load->counts.deep++;
        return;
    }
    struct call *call = &state->calls[state->depth];
    uint32_t parent = state->depth ? call[-1].node : NL_NULL_ROW;
    *call = (struct call){.frame = frame, .node = NL_NULL_ROW, .slice = SIZE_MAX};
    state->depth++;
    if (!unit->time) {
        call->node = cpuprofile_child(&load->profile, parent, load->frames[frame].number);
        return;
    }
    call->slice = state->slice_count;
    nl_grow(&state->slices, &state->slice_cap, state->slice_count + 1);
    state->slices[state->slice_count++] = (struct timed){.start = state->now, .frame = frame};
}

static void close_call(struct speedscope *load, struct evented *state, uint32_t frame)
{
    size_t at = state->depth;
    if (state->over) {
        state->over--;
        return;
    }
    while (at && state->calls[at - 1].frame != frame)
        at--;
    if (!at) {
        load->counts.unopened++;
        return;
    }
    load->counts.crossed += state->depth - at;
    while (state->depth >= at)
        end_call(state, true);
}

struct event {
    char type;
    int64_t at, frame;
};

static struct event read_event(struct jsonpull *reader, int scale)
{
    struct event event = {.at = NL_NULL_I64, .frame = -1};
    while (jsonpull_member(reader)) {
        bool type = nl_str_is(reader->text, "type"), at = nl_str_is(reader->text, "at");
        bool frame = nl_str_is(reader->text, "frame");
        if (!type && !at && !frame) {
            jsonpull_skip(reader);
            continue;
        }
        enum jsonpull_type token = jsonpull_next(reader);
        if (type && token == JSONPULL_STRING && reader->text.len == 1)
            event.type = reader->text.ptr[0];
        else if (at && jsonpull_ns(reader, scale, &event.at))
            continue;
        else if (!frame || !jsonpull_i64(reader, &event.frame))
            jsonpull_skip(reader);
    }
    return event;
}

static void take_event(struct speedscope *load, struct evented *state, const struct unit *unit,
                       uint32_t lane, struct event event)
{
    const int64_t most = (int64_t)1 << 61;
    if (event.frame < 0 || (uint64_t)event.frame >= load->frame_count) {
        load->counts.unknown_frames++;
        return;
    }
    if (event.at == NL_NULL_I64 || event.at > most || event.at < -most) {
        load->counts.bad_times++;
        return;
    }
    if (state->begun && event.at < state->now) {
        load->counts.repaired_order++;
        event.at = state->now;
    }
    weigh(load, state, unit, lane, event.at);
    state->now = event.at;
    state->begun = true;
    if (event.type == 'O')
        open_call(load, state, unit, (uint32_t)event.frame);
    else
        close_call(load, state, (uint32_t)event.frame);
}

static void load_evented(struct speedscope *load, const struct speedscope_profile *profile)
{
    struct jsonpull events;
    struct unit unit = unit_of(load, profile);
    struct evented *state = nl_zalloc(sizeof *state);
    uint32_t lane = lane_of(load, profile);
    int64_t end;
    jsonpull_memory(&events, profile->events.ptr, profile->events.len, 0);
    if (jsonpull_next(&events) == JSONPULL_ARRAY)
        while (!cpuprofile_stopped(&load->profile) && jsonpull_item(&events)) {
            if (events.type == JSONPULL_OBJECT)
                take_event(load, state, &unit, lane, read_event(&events, unit.scale));
            else
                jsonpull_skip(&events);
        }
    jsonpull_release(&events);
    load->counts.unclosed += state->depth;
    if (nl_decimal_shifted(profile->end, unit.scale, &end) && state->begun && end > state->now &&
        end < (int64_t)1 << 61) {
        weigh(load, state, &unit, lane, end);
        state->now = end;
    }
    while (state->depth)
        end_call(state, false);
    stage_slices(load, state, lane);
    load->counts.evented++;
    load->counts.sampled += !unit.time;
    nl_free(state->slices);
    nl_free(state);
}

void speedscope_load_profile(struct speedscope *load, const struct speedscope_profile *profile)
{
    if (nl_str_is(profile->type, "sampled"))
        load_sampled(load, profile);
    else if (nl_str_is(profile->type, "evented"))
        load_evented(load, profile);
    else
        load->counts.unknown_profiles++;
}

/*
 * Samples of a recording: where threads were, as the recorder saw it. Frames are names; each is
 * taken apart once. A frame of machine code is "@module, build id, offset" (recformat.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/units.h"
#include "ingest/lib/cpuprofile.h"
#include "ingest/recording/recording.h"
#include "ingest/symbols/symbols.h"

#define FIXED (2 * sizeof(struct nl_rec_more)) /* before the frames */

struct rec_samples {
    struct rec_load *load;
    struct cpuprofile profile;
    struct symbols *symbols;
    struct nl_idmap frame_of, lane_of; /* by name; by thread */
    struct nl_stack_row *frames;
    size_t frame_count, frame_cap;
    uint64_t cut, unknown;
};

static struct symbols *new_symbols(const struct nl_rec_head *head, struct symbols_files *files)
{
    struct symbols_process process = {.pid = head->foreign ? 0 : head->pid, .begin = INT64_MAX};
    uint32_t pairs = head->pair_count < NL_REC_PAIRS ? head->pair_count : NL_REC_PAIRS;
    for (uint32_t i = 0; i < pairs; i++) {
        int64_t real = head->pairs[i].real_ns;
        process.begin = real < process.begin ? real : process.begin;
        process.end = real > process.end ? real : process.end;
    }
    const int64_t most = INT64_MAX / 4; /* damaged */
    if (process.begin < 0 || process.end > most)
        process.begin = process.end = most;
    return symbols_new(&process, files);
}

struct rec_samples *rec_samples_new(struct rec_load *load)
{
    struct rec_samples *samples = nl_zalloc(sizeof *samples);
    samples->load = load;
    samples->symbols = new_symbols(&load->head, load->symbols);
    cpuprofile_share(&samples->profile, load->builder, load->source, load->job, load->stage);
    return samples;
}

/* Takes the text up to the next tab off `text`. */
static struct nl_str next_field(struct nl_str *text)
{
    const char *tab = text->len ? memchr(text->ptr, '\t', text->len) : NULL;
    struct nl_str field = {text->ptr, tab ? (size_t)(tab - text->ptr) : text->len};
    size_t step = tab ? field.len + 1 : field.len;
    *text = (struct nl_str){text->ptr + step, text->len - step};
    return field;
}

static struct nl_str file_name(struct nl_str path)
{
    while (path.len && memchr(path.ptr, '/', path.len)) {
        path.ptr++;
        path.len--;
    }
    return path;
}

/* "0x12ab"; 0 where it is damaged. */
static uint64_t offset_of(struct nl_str text)
{
    uint64_t value;
    bool good = nl_str_starts(text, "0x") &&
                nl_hex_u64((struct nl_str){text.ptr + 2, text.len - 2}, &value);
    return good ? value : 0;
}

/* "py::function:/path/file.py": CPython's trampoline of a Python function (PYTHONPERFSUPPORT). */
static bool take_trampoline(struct cpuprofile *profile, struct nl_stack_row *frame,
                            struct nl_str text)
{
    const size_t prefix = sizeof "py::" - 1;
    if (text.len < prefix || memcmp(text.ptr, "py::", prefix) != 0)
        return false;
    struct nl_str name = {text.ptr + prefix, text.len - prefix};
    const char *colon = memchr(name.ptr, ':', name.len);
    if (colon) {
        size_t len = (size_t)(colon - name.ptr);
        frame->file = cpuprofile_name(profile, (struct nl_str){colon + 1, name.len - len - 1});
        name.len = len;
    }
    frame->name = cpuprofile_name(profile, name);
    return true;
}

/* A function, or "libm.so.6+0x1234" where there is no name to be had. */
static void take_machine_code(struct rec_samples *samples, struct nl_stack_row *frame,
                              struct nl_str module, struct nl_str id, struct nl_str offset)
{
    struct cpuprofile *profile = &samples->profile;
    struct symbols_place place;
    bool named = symbols_find(samples->symbols, module, id, offset_of(offset), &place);
    if (named && take_trampoline(profile, frame, place.function))
        return;
    frame->module = cpuprofile_name(profile, module);
    if (named) {
        frame->name = cpuprofile_name(profile, place.function);
        frame->file = cpuprofile_name(profile, place.file);
        if (place.line)
            frame->line = place.line;
        return;
    }
    struct nl_buf name;
    nl_buf_init(&name, NL_REC_MAX_NAME * 2);
    struct nl_str file = file_name(module);
    if (!file.len)
        file = nl_str("[unknown]");
    nl_buf_add(&name, file.ptr, file.len);
    nl_buf_add(&name, "+", offset.len > 0);
    nl_buf_add(&name, offset.ptr, offset.len);
    frame->name = cpuprofile_name(profile, (struct nl_str){name.ptr, name.len});
    nl_buf_release(&name);
}

static struct nl_stack_row parse_frame(struct rec_samples *samples, struct nl_str text)
{
    struct nl_stack_row frame = nl_stack_row();
    struct nl_str first = next_field(&text), second = next_field(&text);
    int64_t line;
    if (first.len && first.ptr[0] == '@') {
        take_machine_code(samples, &frame, (struct nl_str){first.ptr + 1, first.len - 1}, second,
                          text);
        return frame;
    }
    frame.name = cpuprofile_name(&samples->profile, first);
    frame.file = cpuprofile_name(&samples->profile, second);
    if (text.len && nl_parse_i64(text, &line) && line >= 0 && line < (int64_t)NL_NULL_U32)
        frame.line = (uint32_t)line;
    return frame;
}

static const struct nl_stack_row *frame_of(struct rec_samples *samples, uint32_t name)
{
    uint32_t at = nl_idmap_get(&samples->frame_of, name);
    if (at != NL_NO_ROW)
        return &samples->frames[at];
    at = (uint32_t)samples->frame_count++;
    nl_grow(&samples->frames, &samples->frame_cap, samples->frame_count);
    samples->frames[at] = parse_frame(samples, rec_name(samples->load, name));
    nl_idmap_put(&samples->frame_of, name, at);
    return &samples->frames[at];
}

static uint32_t thread_lane(struct rec_samples *samples, uint32_t thread)
{
    uint32_t lane = nl_idmap_get(&samples->lane_of, thread);
    if (lane != NL_NO_ROW)
        return lane;
    lane =
        cpuprofile_lane(&samples->profile, samples->load->head.pid, thread, (struct nl_str){"", 0});
    nl_idmap_put(&samples->lane_of, thread, lane);
    return lane;
}

static uint32_t stack_of(struct rec_samples *samples, const unsigned char *frames, size_t count)
{
    uint32_t node = NL_NULL_ROW;
    for (size_t i = count; i-- > 0;) {
        uint32_t name;
        memcpy(&name, frames + i * sizeof name, sizeof name);
        node = cpuprofile_frame(&samples->profile, node, frame_of(samples, name));
    }
    return node;
}

bool rec_samples_take(struct rec_samples *samples, const struct nl_rec_cell *cell,
                      const unsigned char *more, size_t bytes)
{
    struct nl_rec_more fixed[2];
    if (bytes < FIXED || (bytes - FIXED) / sizeof(uint32_t) < cell->depth)
        return false;
    memcpy(fixed, more, sizeof fixed);
    struct nl_sample_row row = nl_sample_row();
    if (cell->time < (uint64_t)INT64_MAX / 2)
        row.ts = (int64_t)cell->time;
    row.lane = thread_lane(samples, cell->id);
    if (fixed[1].a != NL_REC_NO_CPU)
        row.cpu = fixed[1].a;
    if (fixed[0].value <= INT64_MAX)
        row.weight = (int64_t)fixed[0].value;
    row.event = rec_name_id(samples->load, fixed[0].a);
    row.unit = rec_name_id(samples->load, fixed[0].b);
    row.stack = stack_of(samples, more + FIXED, cell->depth);
    samples->cut += fixed[1].b & NL_REC_SAMPLE_CUT;
    samples->unknown += !cell->depth;
    cpuprofile_sample(&samples->profile, &row);
    return true;
}

/* Places, not samples: each is one name in a report. */
static void tell_nameless(struct rec_samples *samples)
{
    static const struct {
        const char *item, *why;
    } reasons[SYMBOLS_REASONS] = {
        [SYMBOLS_STRIPPED] = {"machine code without a function name",
                              "the file has no symbol there (stripped?)"},
        [SYMBOLS_MISSING] = {"machine code of files that cannot be read", "not here any more"},
        [SYMBOLS_CHANGED] = {"machine code of files that are others by now",
                             "read the recording where and before they change"},
        [SYMBOLS_MADE] = {"machine code made while the program ran",
                          "it tells the names in /tmp/perf-PID.map, if asked"},
    };
    char detail[400];
    const char *files;
    for (unsigned i = 0; i < SYMBOLS_REASONS; i++) {
        uint64_t count = symbols_nameless(samples->symbols, (enum symbols_reason)i, &files);
        (void)snprintf(detail, sizeof detail, "%s; %s", files, reasons[i].why);
        cpuprofile_cover(&samples->profile, reasons[i].item, count, detail);
    }
}

void rec_samples_finish(struct rec_samples *samples)
{
    tell_nameless(samples);
    cpuprofile_cover(
        &samples->profile, "cut: call stacks without their outermost frames", samples->cut,
        "deeper than what is copied of a stack (run --stack-size), or unwinding stopped");
    cpuprofile_cover(&samples->profile, "samples without a call stack", samples->unknown, NULL);
}

void rec_samples_free(struct rec_samples *samples)
{
    if (!samples)
        return;
    symbols_free(samples->symbols);
    cpuprofile_release(&samples->profile);
    nl_free(samples->frames);
    nl_idmap_release(&samples->frame_of);
    nl_idmap_release(&samples->lane_of);
    nl_free(samples);
}

/*
 * Samples of a recording: where threads were, as the recorder saw it. Frames are names; each is taken apart
 * once. A frame of machine code is "@module, build id, offset" (recformat.h).
 */
#include <string.h>

#include "base/units.h"
#include "ingest/cpuprofile.h"
#include "ingest/recording.h"

#define FIXED (2 * sizeof(struct nl_rec_more)) /* before the frames */

struct rec_samples {
    struct rec_load *load;
    struct cpuprofile profile;
    struct id_index frame_of, lane_of; /* by name; by thread */
    struct nl_stack_row *frames;
    size_t frame_count, frame_cap;
    uint64_t cut, unknown;
};

struct rec_samples *rec_samples_new(struct rec_load *load)
{
    struct rec_samples *samples = nl_zalloc(sizeof *samples);
    samples->load = load;
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

/* "libm.so.6+0x1234": the file was not read for its symbols. */
static void take_machine_code(struct rec_samples *samples, struct nl_stack_row *frame,
                              struct nl_str module, struct nl_str offset)
{
    struct nl_buf name;
    nl_buf_init(&name, NL_REC_NAME_MOST * 2);
    struct nl_str file = file_name(module);
    nl_buf_add(&name, file.ptr, file.len);
    nl_buf_add(&name, "+", 1);
    nl_buf_add(&name, offset.ptr, offset.len);
    frame->name = cpuprofile_name(&samples->profile, (struct nl_str){name.ptr, name.len});
    frame->module = cpuprofile_name(&samples->profile, module);
    nl_buf_release(&name);
}

static struct nl_stack_row parse_frame(struct rec_samples *samples, struct nl_str text)
{
    struct nl_stack_row frame = nl_stack_row();
    struct nl_str first = next_field(&text), second = next_field(&text);
    int64_t line;
    if (first.len && first.ptr[0] == '@') {
        take_machine_code(samples, &frame, (struct nl_str){first.ptr + 1, first.len - 1}, text);
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
    uint32_t at = id_index_get(&samples->frame_of, name);
    if (at != ID_INDEX_NONE)
        return &samples->frames[at];
    at = (uint32_t)samples->frame_count++;
    nl_grow(&samples->frames, &samples->frame_cap, samples->frame_count);
    samples->frames[at] = parse_frame(samples, rec_name(samples->load, name));
    id_index_put(&samples->frame_of, name, at);
    return &samples->frames[at];
}

static uint32_t lane_of(struct rec_samples *samples, uint32_t thread)
{
    uint32_t lane = id_index_get(&samples->lane_of, thread);
    if (lane != ID_INDEX_NONE)
        return lane;
    lane =
        cpuprofile_lane(&samples->profile, samples->load->head.pid, thread, (struct nl_str){"", 0});
    id_index_put(&samples->lane_of, thread, lane);
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
    row.lane = lane_of(samples, cell->id);
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

void rec_samples_finish(struct rec_samples *samples)
{
    cpuprofile_cover(&samples->profile, "cut: call stacks without their outermost frames",
                     samples->cut, "deeper than is recorded, or unwinding stopped");
    cpuprofile_cover(&samples->profile, "samples without a call stack", samples->unknown, NULL);
}

void rec_samples_free(struct rec_samples *samples)
{
    if (!samples)
        return;
    nl_free(samples->profile.nodes);
    nl_free(samples->profile.slots);
    nl_free(samples->frames);
    id_index_release(&samples->frame_of);
    id_index_release(&samples->lane_of);
    nl_free(samples);
}

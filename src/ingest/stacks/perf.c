/*
 * `perf script` text, as perf, simpleperf and what imitates them print it: samples with a stack, a
 * time, a processor and a weight; of Intel PT a line per branch.
 *
 * The weight is the sample's period when it is printed (nanoseconds for the clock events), else 1.
 * Command lines in the header are not kept: they hold secrets.
 */
#include "ingest/lib/cpuprofile.h"

#include "base/mem.h"
#include "ingest/stacks/perfline.h"
#include "parse/textlines.h"

#define MAX_FRAMES 65536

struct frame_ids {
    uint32_t name, module;
};

struct perf {
    struct cpuprofile profile;
    struct frame_ids *frames; /* of the open stanza, innermost first */
    size_t depth, cap;
    bool open;
    struct nl_sample_row sample;
    int64_t pid, tid; /* of the lane found last */
    uint32_t lane;
    struct nl_buf comm;
    uint32_t unit_ns, unit_events, unit_samples, unit_branches;
    uint64_t odd, trouble, lost_frames, no_stack, no_time, deep;
};

/* ---- recognition ---- */

struct census {
    unsigned headers, frames, branches, comments, lines;
};

static void count_line(struct census *census, struct nl_str line)
{
    struct perfline_header header;
    struct perfline_frame frame;
    bool indented = line.ptr[0] == ' ' || line.ptr[0] == '\t';
    census->lines++;
    if (line.ptr[0] == '#')
        census->comments +=
            nl_str_starts(line, "# captured on") || nl_str_starts(line, "# perf version");
    else if (indented && perfline_frame(line, &frame) && census->headers)
        census->frames++;
    else if (perfline_header(line, &header)) {
        census->branches += header.is_branch;
        census->headers += !header.is_branch;
        census->frames += perfline_frame(header.rest, &frame) && !header.is_branch;
    } else if (!perfline_is_trouble(line)) {
        census->lines += 2;
    }
}

static int perf_sniff(const struct nl_input *input, const char **why)
{
    struct census census = {0};
    char *room = nl_alloc(input->head_len + 1);
    struct nl_str text = textlines_head(input->head, input->head_len, room), line;
    while (census.lines < 400 && textlines_split(&text, &line))
        if (line.len)
            count_line(&census, line);
    nl_free(room);
    unsigned known = census.headers + census.frames + census.branches;
    if (census.comments)
        return 85;
    if (!known || known * 2 < census.lines)
        return 0;
    if (census.frames || census.branches)
        return 85;
    *why = "like perf script, but without call stacks";
    return census.headers > 2 ? 60 : 0;
}

/* ---- stanzas ---- */

static void stage_sample(struct perf *load)
{
    struct cpuprofile *profile = &load->profile;
    if (!load->open)
        return;
    uint32_t node = NL_NULL_ROW;
    for (size_t i = load->depth; i-- > 0;) {
        struct nl_stack_row frame = nl_stack_row();
        frame.name = load->frames[i].name;
        frame.module = load->frames[i].module;
        node = cpuprofile_frame(profile, node, &frame);
    }
    load->no_stack += node == NL_NULL_ROW;
    load->sample.stack = node;
    cpuprofile_sample(profile, &load->sample);
    load->open = false;
    load->depth = 0;
}

static bool is_clock(struct nl_str event)
{
    return nl_str_starts(event, "cpu-clock") || nl_str_starts(event, "task-clock");
}

static uint32_t thread_lane(struct perf *load, const struct perfline_header *header)
{
    struct nl_str known = {load->comm.ptr, load->comm.len};
    if (load->lane != NL_NULL_ROW && load->pid == header->pid && load->tid == header->tid &&
        nl_str_eq(known, header->comm))
        return load->lane;
    struct nl_str name = header->comm;
    if (nl_str_starts(name, ":")) /* perf's way to say that it does not know */
        name.len = 0;
    load->pid = header->pid;
    load->tid = header->tid;
    nl_buf_clear(&load->comm);
    nl_buf_add(&load->comm, header->comm.ptr, header->comm.len);
    load->lane = cpuprofile_lane(&load->profile, header->pid, header->tid, name);
    return load->lane;
}

static void take_frame(struct perf *load, const struct perfline_frame *frame)
{
    if (load->depth == MAX_FRAMES) {
        load->deep++;
        return;
    }
    nl_grow(&load->frames, &load->cap, load->depth + 1);
    load->frames[load->depth++] =
        (struct frame_ids){cpuprofile_name(&load->profile, frame->symbol),
                           cpuprofile_name(&load->profile, frame->module)};
}

static void take_header(struct perf *load, const struct perfline_header *header)
{
    struct perfline_frame frame;
    stage_sample(load);
    struct nl_sample_row row = nl_sample_row();
    row.ts = header->time_ns;
    row.lane = thread_lane(load, header);
    row.cpu = header->cpu;
    row.event = cpuprofile_name(&load->profile, header->event);
    row.weight = header->period == NL_NULL_I64 ? 1 : header->period;
    row.unit = is_clock(header->event) ? load->unit_ns : load->unit_events;
    if (header->period == NL_NULL_I64)
        row.unit = header->is_branch ? load->unit_branches : load->unit_samples;
    load->no_time += row.ts == NL_NULL_I64;
    load->sample = row;
    load->open = true;
    if (perfline_frame(header->rest, &frame)) {
        take_frame(load, &frame);
        stage_sample(load);
    }
}

static void take_comment(struct perf *load, struct nl_str line)
{
    static const struct {
        const char *mark, *key;
    } facts[] = {{"# captured on", "captured on"},  {"# perf version", "perf version"},
                 {"# arch", "architecture"},        {"# os release", "os release"},
                 {"# nrcpus online", "processors"}, {"# cpudesc", "processor"}};
    const char *colon = memchr(line.ptr, ':', line.len);
    for (size_t i = 0; colon && i < sizeof facts / sizeof facts[0]; i++) {
        struct nl_str value = {colon + 1, line.len - (size_t)(colon + 1 - line.ptr)};
        while (value.len && value.ptr[0] == ' ') {
            value.ptr++;
            value.len--;
        }
        if (nl_str_starts(line, facts[i].mark))
            nl_builder_meta(load->profile.builder, load->profile.source, facts[i].key, value);
    }
}

static void take_line(struct perf *load, struct nl_str line)
{
    struct perfline_header header;
    struct perfline_frame frame;
    size_t at = 0;
    while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
        at++;
    if (at == line.len)
        stage_sample(load);
    else if (line.ptr[0] == '#')
        take_comment(load, line);
    else if (load->open && at > 0 && perfline_frame(line, &frame))
        take_frame(load, &frame);
    else if (perfline_is_trouble(line))
        load->trouble++;
    else if (perfline_header(line, &header))
        take_header(load, &header);
    else if (load->open)
        load->lost_frames++;
    else
        load->odd++;
}

static void report_coverage(struct perf *load, const struct textlines *lines)
{
    struct cpuprofile *profile = &load->profile;
    cpuprofile_cover(profile, "skipped: lines that are neither header nor frame", load->odd, NULL);
    cpuprofile_cover(profile, "skipped: stack lines without an address", load->lost_frames, NULL);
    cpuprofile_cover(profile, "skipped: frames of stacks over 65,536 deep", load->deep, NULL);
    cpuprofile_cover(profile, "cut: lines over 4 MiB", lines->cut, NULL);
    cpuprofile_cover(profile, "samples without a stack", load->no_stack,
                     "record with perf record -g");
    cpuprofile_cover(profile, "instruction trace errors", load->trouble,
                     "the decoder of Intel PT lost its way; branches are missing there");
    cpuprofile_cover(profile, "no samples", profile->samples == 0, "the file has none");
    if (load->no_time == profile->samples)
        cpuprofile_no_timeline(profile);
    else
        cpuprofile_cover(profile, "samples without a time", load->no_time, NULL);
}

static bool load_lines(struct perf *load, struct textlines *lines, struct nl_err *err)
{
    struct nl_str line;
    while (!cpuprofile_stopped(&load->profile) && textlines_next(lines, &line, err))
        take_line(load, line);
    if (lines->failed)
        return false;
    stage_sample(load);
    report_coverage(load, lines);
    return true;
}

static bool perf_load(struct nl_reading *reading, struct nl_err *err)
{
    struct perf load = {.lane = NL_NULL_ROW};
    struct textlines lines;
    cpuprofile_begin(&load.profile, reading->builder, reading->source, reading->job);
    load.unit_ns = cpuprofile_name(&load.profile, nl_str("ns"));
    load.unit_events = cpuprofile_name(&load.profile, nl_str("events"));
    load.unit_samples = cpuprofile_name(&load.profile, nl_str("samples"));
    load.unit_branches = cpuprofile_name(&load.profile, nl_str("branches"));
    nl_builder_clock(reading->builder, reading->source, "perf", NL_NULL_I64);
    nl_buf_init(&load.comm, 4096);
    textlines_init(&lines, reading->stream);
    bool done = load_lines(&load, &lines, err);
    textlines_release(&lines);
    nl_buf_release(&load.comm);
    nl_free(load.frames);
    return cpuprofile_end(&load.profile, done ? err : NULL) && done;
}

const struct nl_format nl_format_perf = {.name = "perf",
                                         .title = "perf script text",
                                         .sniff = perf_sniff,
                                         .load = perf_load,
                                         .feed = NL_FEED_STREAM,
                                         .doc = "formats/perf.md"};

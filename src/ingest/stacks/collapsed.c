/*
 * Collapsed ("folded") stacks, the text that flame graphs are made of:
 * `outer;inner;innermost weight`. Whatever wrote them: perf and stackcollapse, py-spy (raw),
 * async-profiler, Austin, inferno.
 *
 * Neighbouring lines share most of their stack, so what a line has in common with the one before is
 * not looked up again. Weights are kept until the end, since one with a fraction makes all of them
 * millionths: the store's weights are whole numbers.
 */
#include "base/chars.h"
#include "ingest/lib/cpuprofile.h"

#include "base/mem.h"
#include "base/units.h"
#include "parse/textlines.h"

#define MILLION 1000000

struct gathered {
    int64_t whole;
    uint32_t millionths;
    uint32_t node, lane;
    uint32_t event; /* name */
};

struct collapsed {
    struct cpuprofile profile;
    struct nl_buf before; /* stack of the line before */
    size_t *ends;         /* where its frames end */
    uint32_t *nodes;      /* and their nodes */
    size_t depth, ends_cap, nodes_cap;
    struct gathered *rows;
    size_t count, cap;
    bool fractions, two_weights, austin, is_time;
    int64_t pid, tid;
    uint32_t lane, events[2];
    uint64_t bad, rounded, huge, commands, empty;
};

static bool is_comment(struct nl_str line)
{
    return nl_str_starts(line, "#") || nl_str_starts(line, "//");
}

static bool is_weight(struct nl_str text)
{
    bool digit = false;
    unsigned points = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '.')
            points++;
        else if (!nl_is_digit(text.ptr[i]))
            return false;
        else
            digit = true;
    }
    return digit && points <= 1;
}

static struct nl_str trimmed(struct nl_str text)
{
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text.ptr++;
        text.len--;
    }
    return text;
}

/* Takes the number after the last space off the line. */
static bool take_weight(struct nl_str *line, struct nl_str *weight)
{
    size_t at = line->len;
    while (at && line->ptr[at - 1] != ' ' && line->ptr[at - 1] != '\t')
        at--;
    *weight = (struct nl_str){line->ptr + at, line->len - at};
    if (at < 2 || !is_weight(*weight))
        return false;
    *line = trimmed((struct nl_str){line->ptr, at - 1});
    return line->len > 0;
}

static bool is_text(struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 32 && c != '\n' && c != '\r' && c != '\t' && c != 27)
            return false;
    }
    return true;
}

/* How many lines of a text are stacks, how many of those have callers or two weights. */
struct census {
    unsigned lines, stacks, nested, doubles, comments;
};

static struct census count_lines(struct nl_str text, bool whole)
{
    struct census census = {0};
    struct nl_str line, weight;
    while (textlines_split(&text, &line)) {
        if (!text.len && !whole && census.lines)
            break; /* cut by the end of the head */
        line = trimmed(line);
        if (is_comment(line))
            census.comments++;
        if (!line.len || is_comment(line))
            continue;
        census.lines++;
        if (!take_weight(&line, &weight))
            continue;
        census.stacks++;
        census.nested += memchr(line.ptr, ';', line.len) != NULL;
        census.doubles += take_weight(&line, &weight);
    }
    return census;
}

static struct census count_head(const struct nl_input *input, bool *text)
{
    char *room = nl_alloc(input->head_len + 1);
    struct nl_str head = textlines_head(input->head, input->head_len, room);
    *text = is_text(head);
    struct census census = {0};
    if (*text)
        census = count_lines(head, input->head_len < NL_SNIFF_BYTES);
    nl_free(room);
    return census;
}

static int collapsed_sniff(const struct nl_input *input, const char **why)
{
    bool text;
    struct census census = count_head(input, &text);
    if (!census.nested || census.stacks * 2 <= census.lines) {
        if (text && census.stacks > 2 && census.stacks == census.lines)
            *why = "lines that end in numbers, but none has a call stack with ';'";
        else if (census.nested)
            *why = "text in which most lines do not end in a weight";
        return 0;
    }
    return census.stacks * 10 >= census.lines * 9 ? 80 : 60;
}

/* ---- frames ---- */

/* Austin's "file:function:line". */
static bool austin_frame(struct collapsed *load, struct nl_str text, struct nl_stack_row *frame)
{
    size_t line = text.len, name;
    int64_t number;
    while (line && text.ptr[line - 1] != ':')
        line--;
    for (name = line ? line - 1 : 0; name && text.ptr[name - 1] != ':'; name--)
        ;
    if (!name || !nl_parse_i64((struct nl_str){text.ptr + line, text.len - line}, &number))
        return false;
    *frame = nl_stack_row();
    frame->file = cpuprofile_name(&load->profile, (struct nl_str){text.ptr, name - 1});
    frame->name =
        cpuprofile_name(&load->profile, (struct nl_str){text.ptr + name, line - 1 - name});
    frame->line = number >= 0 && number < NL_NULL_U32 ? (uint32_t)number : NL_NULL_U32;
    return true;
}

/* Digits after `prefix`; NL_NULL_I64 when there are none. `rest` gets what follows. */
static int64_t number_after(struct nl_str text, const char *prefix, struct nl_str *rest)
{
    size_t from = strlen(prefix), at = from;
    int64_t number;
    if (!nl_str_starts(text, prefix))
        return NL_NULL_I64;
    while (at < text.len && nl_is_digit(text.ptr[at]))
        at++;
    if (!nl_parse_i64((struct nl_str){text.ptr + from, at - from}, &number))
        return NL_NULL_I64;
    *rest = (struct nl_str){text.ptr + at, text.len - at};
    return number;
}

/* Frames that name a process or a thread: of py-spy `process 12:"command line"`, of which the
 * command is left out, since command lines hold secrets; of Austin `P12` and `T12` or `T0:12`. */
static bool place_frame(struct collapsed *load, struct nl_str *text)
{
    struct nl_str rest;
    int64_t number = number_after(*text, "process ", &rest);
    if (number != NL_NULL_I64 && nl_str_starts(rest, ":")) {
        load->pid = number;
        load->commands++;
        text->len -= rest.len;
        return false;
    }
    if (!load->austin)
        return false;
    number = number_after(*text, "P", &rest);
    if (number != NL_NULL_I64 && !rest.len) {
        load->pid = number;
        return true;
    }
    number = number_after(*text, "T", &rest);
    if (number != NL_NULL_I64 && rest.len)
        number = number_after(rest, ":", &rest);
    if (number == NL_NULL_I64 || rest.len)
        return false;
    load->tid = number;
    return true;
}

static uint32_t node_below(struct collapsed *load, uint32_t parent, struct nl_str text)
{
    struct nl_stack_row frame;
    if (!text.len || place_frame(load, &text))
        return parent;
    if (!load->austin || !austin_frame(load, text, &frame))
        cpuprofile_frame_text(&load->profile, &frame, text);
    return cpuprofile_frame(&load->profile, parent, &frame);
}

/* Frames at the front that are those of the line before. */
static size_t shared_frames(const struct collapsed *load, struct nl_str stack)
{
    size_t most = stack.len < load->before.len ? stack.len : load->before.len;
    size_t same = 0, frames = 0;
    while (same < most && stack.ptr[same] == load->before.ptr[same])
        same++;
    while (frames < load->depth && load->ends[frames] <= same &&
           (load->ends[frames] == stack.len || stack.ptr[load->ends[frames]] == ';'))
        frames++;
    return frames;
}

static uint32_t node_of(struct collapsed *load, struct nl_str stack)
{
    size_t depth = shared_frames(load, stack);
    size_t at = depth ? load->ends[depth - 1] + 1 : 0;
    uint32_t node = depth ? load->nodes[depth - 1] : NL_NULL_ROW;
    int64_t pid = load->pid, tid = load->tid;
    if (depth < 2) /* where places are named, if at all */
        load->tid = NL_NULL_I64;
    if (depth < 1)
        load->pid = NL_NULL_I64;
    while (at < stack.len) {
        const char *semicolon = memchr(stack.ptr + at, ';', stack.len - at);
        size_t end = semicolon ? (size_t)(semicolon - stack.ptr) : stack.len;
        node = node_below(load, node, (struct nl_str){stack.ptr + at, end - at});
        nl_grow(&load->ends, &load->ends_cap, depth + 1);
        nl_grow(&load->nodes, &load->nodes_cap, depth + 1);
        load->ends[depth] = end;
        load->nodes[depth++] = node;
        at = end + 1;
    }
    load->depth = depth;
    nl_buf_clear(&load->before);
    nl_buf_add(&load->before, stack.ptr, stack.len);
    if (load->lane == NL_NULL_ROW || pid != load->pid || tid != load->tid)
        load->lane = cpuprofile_lane(&load->profile, load->pid, load->tid, nl_str(""));
    return node;
}

/* ---- lines ---- */

static void set_weight(struct collapsed *load, struct gathered *row, struct nl_str text)
{
    size_t point = 0;
    int64_t all;
    while (point < text.len && text.ptr[point] != '.')
        point++;
    struct nl_str fraction = {text.ptr + point + 1, point < text.len ? text.len - point - 1 : 0};
    row->millionths = 0;
    row->whole = NL_NULL_I64;
    if (nl_decimal_shifted((struct nl_str){text.ptr, point}, 0, &row->whole) || point == 0)
        row->whole = point ? row->whole : 0;
    else
        load->huge++;
    while (fraction.len && fraction.ptr[fraction.len - 1] == '0')
        fraction.len--;
    if (!fraction.len || row->whole == NL_NULL_I64)
        return;
    load->rounded += fraction.len > 6;
    load->fractions = true;
    if (!nl_decimal_shifted(fraction, 6 - (int)(fraction.len < 300 ? fraction.len : 300), &all))
        return;
    row->millionths = (uint32_t)(all % MILLION);
    row->whole += all / MILLION;
}

static void gather_sample(struct collapsed *load, uint32_t node, struct nl_str weight,
                          unsigned event)
{
    struct gathered row = {
        .node = node, .lane = load->lane, .event = load->two_weights ? load->events[event] : 0};
    set_weight(load, &row, weight);
    nl_grow(&load->rows, &load->cap, load->count + 1);
    load->rows[load->count++] = row;
}

static void take_comment(struct collapsed *load, struct nl_str line)
{
    if (nl_str_starts(line, "# austin:")) {
        load->austin = true;
        nl_builder_tool(load->profile.builder, load->profile.source,
                        trimmed((struct nl_str){line.ptr + 1, line.len - 1}));
    }
    if (nl_str_starts(line, "# mode: wall") || nl_str_starts(line, "# mode: cpu"))
        load->is_time = load->austin;
}

static void take_line(struct collapsed *load, struct nl_str line)
{
    struct nl_str weight, before = {0};
    line = trimmed(line);
    if (!line.len)
        return;
    if (is_comment(line)) {
        take_comment(load, line);
        return;
    }
    if (!take_weight(&line, &weight) || (load->two_weights && !take_weight(&line, &before))) {
        load->bad++;
        return;
    }
    uint32_t node = node_of(load, line);
    load->empty += node == NL_NULL_ROW;
    if (before.len)
        gather_sample(load, node, before, 0);
    gather_sample(load, node, weight, 1);
}

static void stage_rows(struct collapsed *load)
{
    struct nl_sample_row sample = nl_sample_row();
    int64_t scale = load->is_time ? 1000 : 1; /* Austin's are microseconds */
    const char *unit = load->is_time ? "ns" : load->fractions ? "millionths" : "";
    if (load->fractions && !load->is_time)
        scale = MILLION;
    sample.unit = cpuprofile_name(&load->profile, nl_str(unit));
    for (size_t i = 0; i < load->count && !cpuprofile_stopped(&load->profile); i++) {
        const struct gathered *row = &load->rows[i];
        sample.lane = row->lane;
        sample.stack = row->node;
        sample.event = row->event;
        sample.weight = NL_NULL_I64;
        int64_t weight, fraction = (int64_t)row->millionths * scale / MILLION;
        if (row->whole != NL_NULL_I64 && !__builtin_mul_overflow(row->whole, scale, &weight) &&
            !__builtin_add_overflow(weight, fraction, &weight))
            sample.weight = weight;
        else
            load->huge += row->whole != NL_NULL_I64;
        cpuprofile_sample(&load->profile, &sample);
    }
}

static void report_coverage(struct collapsed *load, const struct textlines *lines)
{
    struct cpuprofile *profile = &load->profile;
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "skipped: lines without a stack and a weight", load->bad, NULL);
    cpuprofile_cover(profile, "cut: lines over 4 MiB", lines->cut, NULL);
    cpuprofile_cover(profile, "weights too large", load->huge, "their samples have no weight");
    cpuprofile_cover(profile, "weights rounded to millionths", load->rounded, NULL);
    cpuprofile_cover(profile, "samples without a stack", load->empty, NULL);
    cpuprofile_cover(profile, "command lines left out", load->commands,
                     "they may hold secrets; the process id is kept");
    if (!load->is_time)
        cpuprofile_cover(profile, "unit of weights not recorded", 1,
                         "samples, microseconds or anything else: only shares compare");
    if (load->fractions && !load->is_time)
        cpuprofile_cover(profile, "weights with fractions", 1, "all are kept in millionths");
}

static bool load_lines(struct collapsed *load, struct textlines *lines, struct nl_err *err)
{
    struct nl_str line;
    uint64_t most = load->profile.job && load->profile.job->memory_bytes
                        ? load->profile.job->memory_bytes / 4
                        : UINT64_MAX;
    while (!cpuprofile_stopped(&load->profile) && textlines_next(lines, &line, err)) {
        take_line(load, line);
        if (load->count * sizeof *load->rows > most)
            return nl_fail(err, NL_MEMORY,
                           "too many stacks for the memory limit; raise it with "
                           "--memory");
    }
    if (lines->failed)
        return false;
    stage_rows(load);
    report_coverage(load, lines);
    if (load->count || cpuprofile_stopped(&load->profile))
        return true;
    return nl_fail(err, NL_FORMAT, "no line has a call stack and a weight");
}

static bool collapsed_load(struct nl_reading *reading, struct nl_err *err)
{
    bool text;
    struct census census = count_head(reading->input, &text);
    struct collapsed load = {.pid = NL_NULL_I64, .tid = NL_NULL_I64, .lane = NL_NULL_ROW};
    struct textlines lines;
    cpuprofile_begin(&load.profile, reading->builder, reading->source, reading->job);
    load.two_weights = census.stacks && census.doubles == census.stacks;
    load.events[0] = cpuprofile_name(&load.profile, nl_str("before"));
    load.events[1] = cpuprofile_name(&load.profile, nl_str("after"));
    nl_buf_init(&load.before, TEXTLINES_LONGEST);
    textlines_init(&lines, reading->stream);
    bool done = load_lines(&load, &lines, err);
    textlines_release(&lines);
    nl_buf_release(&load.before);
    nl_free(load.ends);
    nl_free(load.nodes);
    nl_free(load.rows);
    return cpuprofile_end(&load.profile, done ? err : NULL) && done;
}

const struct nl_format nl_format_collapsed = {.name = "collapsed",
                                              .title = "collapsed call stacks (flame graph text)",
                                              .sniff = collapsed_sniff,
                                              .load = collapsed_load,
                                              .feed = NL_FEED_STREAM,
                                              .doc = "formats/collapsed.md"};

/*
 * verdictmemory — snapshots and timelines of an allocator: how much memory is live at the peak, and
 * whose it is. Owners are the innermost frames of the program's own Python files; where a category
 * is recorded (memory timelines), that.
 */
#include <stdlib.h>

#include <stdio.h>

#include "answer/judge.h"
#include "base/chars.h"
#include "base/sum.h"
#include "base/units.h"
#include "base/utf8.h"

#define MAX_OWNERS 256
#define MAX_DEPTH  200
#define NAMED      4

struct owner {
    char *name;
    int64_t bytes;
};

struct event {
    int64_t ts;
    uint64_t address;
    uint32_t row;
};

struct snapshot {
    struct nl_judged *judged;
    const struct nl_trace *trace;
    struct event *events; /* allocations and frees, by time */
    size_t count, peak;   /* events up to the peak */
    int64_t above, net;   /* highest running sum; sum of all */
    int64_t live[2];      /* of what was allocated while recording: at the peak, at the end */
    int64_t end, reserved;
    uint32_t source; /* the one that is looked at, of several; NL_NULL_ROW all */
    bool unsure;     /* events do not name their blocks, or frees are missing */
    struct owner owners[MAX_OWNERS];
    size_t owner_count;
    bool categories;
};

static bool kind_is(const struct snapshot *it, uint32_t row, const char *kind)
{
    return nl_str_is(nl_trace_name(it->trace, it->trace->memory.kind[row]), kind);
}

/* 0 where it is not known. */
static int64_t bytes_of(const struct snapshot *it, uint32_t row)
{
    int64_t bytes = it->trace->memory.bytes[row];
    return bytes == NL_NULL_I64 ? 0 : bytes;
}

static bool is_event(const struct snapshot *it, uint32_t row)
{
    if (!bytes_of(it, row))
        return false;
    struct nl_str kind = nl_trace_name(it->trace, it->trace->memory.kind[row]);
    return it->categories || !nl_str_starts(kind, "snapshot");
}

static int by_ts(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_address(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return by_ts(left, right);
}

static uint32_t source_of(const struct nl_trace *trace, uint32_t row)
{
    uint32_t lane = trace->memory.lane[row];
    uint32_t process = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.process[lane];
    return process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
}

static void gather_memory_events(struct snapshot *it)
{
    const struct nl_trace *trace = it->trace;
    it->events = nl_alloc(((size_t)trace->memory.rows + 1) * sizeof *it->events);
    for (uint32_t row = 0; row < trace->memory.rows; row++) {
        if (it->source != NL_NULL_ROW && source_of(trace, row) != it->source)
            continue;
        if (kind_is(it, row, "snapshot segments"))
            nl_sum_add(&it->reserved, bytes_of(it, row));
        else if (kind_is(it, row, "snapshot blocks"))
            nl_sum_add(&it->end, bytes_of(it, row));
        if (!is_event(it, row))
            continue;
        it->events[it->count++] =
            (struct event){trace->memory.ts[row], trace->memory.address[row], row};
        it->unsure |= trace->memory.address[row] == NL_NULL_U64;
    }
    if (it->count)
        qsort(it->events, it->count, sizeof *it->events, by_ts);
    int64_t running = 0;
    for (size_t i = 0; i < it->count; i++) {
        nl_sum_add(&running, bytes_of(it, it->events[i].row));
        if (running > it->above) {
            it->above = running;
            it->peak = i + 1;
        }
    }
    it->net = running;
}

/* ---- owners ---- */

static void add_owner(struct snapshot *it, const char *name, int64_t bytes)
{
    size_t i = 0;
    while (i < it->owner_count && strcmp(it->owners[i].name, name) != 0)
        i++;
    if (i == MAX_OWNERS)
        return;
    if (i == it->owner_count)
        it->owners[it->owner_count++] =
            (struct owner){nl_arena_text(&it->judged->report->arena, name, strlen(name)), 0};
    nl_sum_add(&it->owners[i].bytes, bytes);
}

static bool is_library(struct nl_str file)
{
    static const char *const parts[] = {"site-packages",  "dist-packages", "/lib/python",
                                        "<frozen",        "/torch/",       "torch\\",
                                        "<eval_with_key", "torchinductor_"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (nl_str_contains(file, parts[i]))
            return true;
    return false;
}

/* Snapshots have "file.py:12" for the module of a frame. */
static struct nl_str file_of(const struct nl_trace *trace, uint32_t frame)
{
    struct nl_str file = nl_trace_name(trace, trace->stack.file[frame]);
    return file.len ? file : nl_trace_name(trace, trace->stack.module[frame]);
}

/* "train.py" of "src/train.py:12". */
static struct nl_str without_folder_and_line(struct nl_str file)
{
    while (file.len && (nl_is_digit(file.ptr[file.len - 1]) || file.ptr[file.len - 1] == ':'))
        file.len--;
    return nl_str_file_name(file);
}

/* Frames of the allocator and of what unwinds stacks. */
static bool is_machinery(struct nl_str name)
{
    static const char *const starts[] = {"torch::unwind", "torch::Captured",   "torch::cuda",
                                         "c10::",         "at::detail",        "at::(anonymous",
                                         "at::_ops",      "at::native::empty", "torch::Profiler"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(name, starts[i]))
            return true;
    return !name.len;
}

/* Of a stack without Python: the function of autograd's pass, else the
 * first outside the allocator. */
static uint32_t native_frame(const struct nl_trace *trace, uint32_t stack)
{
    uint32_t first = NL_NULL_ROW, frame = stack;
    for (int deep = 0; frame != NL_NULL_ROW && deep < MAX_DEPTH;
         frame = trace->stack.parent[frame], deep++) {
        struct nl_str name = nl_trace_name(trace, trace->stack.name[frame]);
        if (nl_str_contains(name, "autograd::generated") || nl_str_contains(name, "AccumulateGrad"))
            return frame;
        if (first == NL_NULL_ROW && !is_machinery(name))
            first = frame;
    }
    return first == NL_NULL_ROW ? stack : first;
}

/* The innermost frame of the program's own Python code, else of any, else of native code. */
static uint32_t own_frame(const struct nl_trace *trace, uint32_t stack)
{
    uint32_t python = NL_NULL_ROW, frame = stack;
    for (int deep = 0; frame != NL_NULL_ROW && deep < MAX_DEPTH;
         frame = trace->stack.parent[frame], deep++) {
        struct nl_str file = file_of(trace, frame);
        if (!nl_str_contains(file, ".py"))
            continue;
        if (!is_library(file))
            return frame;
        python = python == NL_NULL_ROW ? frame : python;
    }
    return python == NL_NULL_ROW ? native_frame(trace, stack) : python;
}

static void own_by_stack(struct snapshot *it, uint32_t row, int64_t bytes)
{
    char text[400];
    uint32_t stack = it->trace->memory.stack[row];
    if (stack == NL_NULL_ROW) {
        add_owner(it, "(no stack)", bytes);
        return;
    }
    uint32_t frame = own_frame(it->trace, stack);
    struct nl_str name = nl_trace_name(it->trace, it->trace->stack.name[frame]);
    struct nl_str file = without_folder_and_line(file_of(it->trace, frame));
    if (nl_str_starts(name, "void "))
        name = (struct nl_str){name.ptr + 5, name.len - 5};
    size_t open = 0; /* without template and parameters of native functions */
    while (open < name.len && name.ptr[open] != '(' && name.ptr[open] != '<')
        open++;
    name.len = open ? open : name.len;
    snprintf(text, sizeof text, nl_str_contains(file, ".py") ? "%.*s (%.*s)" : "%.*s",
             NL_UP_TO(150, name), NL_UP_TO(150, file));
    add_owner(it, text, bytes);
}

/* Bytes of the blocks that the first `count` events allocate and do not free;
 * `own` finds whose they are. */
static int64_t live_after(struct snapshot *it, size_t count, bool own)
{
    int64_t live = 0;
    struct event *upto = nl_alloc((count + 1) * sizeof *upto);
    memcpy(upto, it->events, count * sizeof *upto);
    if (count)
        qsort(upto, count, sizeof *upto, by_address);
    for (size_t i = 0; i < count; i++) {
        int64_t bytes = it->trace->memory.bytes[upto[i].row];
        bool last = i + 1 == count || upto[i + 1].address != upto[i].address;
        it->unsure |= !last && bytes > 0 && it->trace->memory.bytes[upto[i + 1].row] > 0;
        if (!last || bytes <= 0)
            continue;
        nl_sum_add(&live, bytes);
        if (own)
            own_by_stack(it, upto[i].row, bytes);
    }
    nl_free(upto);
    return live;
}

/* What was there before the recording may be freed in it: the running sum alone does not say
 * what is live of the rest. */
static void own_live(struct snapshot *it)
{
    it->live[0] = live_after(it, it->peak, true);
    it->live[1] = live_after(it, it->count, false);
    if (!it->unsure)
        return;
    it->live[0] = it->above;
    it->live[1] = it->net > 0 ? it->net : 0;
}

static void own_categories(struct snapshot *it)
{
    for (size_t i = 0; i < it->peak; i++) {
        char text[100];
        uint32_t row = it->events[i].row;
        struct nl_str kind = nl_trace_name(it->trace, it->trace->memory.kind[row]);
        size_t len = kind.len < sizeof text ? kind.len : sizeof text - 1;
        for (size_t at = 0; at < len; at++)
            text[at] = kind.ptr[at] == '_'         ? ' '
                       : nl_is_upper(kind.ptr[at]) ? (char)(kind.ptr[at] - 'A' + 'a')
                                                   : kind.ptr[at];
        text[len] = '\0';
        add_owner(it, len ? text : "unknown", it->trace->memory.bytes[row]);
    }
}

static int by_bytes(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* ---- words ---- */

static void put_owners(struct snapshot *it, struct nl_buf *out, const char *before, int64_t whole)
{
    for (size_t i = 0, said = 0; i < it->owner_count && said < NAMED; i++) {
        if ((double)it->owners[i].bytes * 100 < (double)whole)
            break;
        nl_buf_format(out, "%s%s", said++ ? ", " : before, it->owners[i].name);
        nl_tell_size(out, " ", (uint64_t)it->owners[i].bytes);
        if (it->categories)
            nl_tell_ratio(out, " (", it->owners[i].bytes, whole);
        nl_buf_text(out, it->categories ? ")" : "");
    }
}

/* Live at the peak, of that and of what was there before; at least what is known to be live. */
static int64_t peak_of(const struct snapshot *it)
{
    int64_t before = it->end > it->net && !it->categories ? nl_sum(it->end, -it->net) : 0;
    int64_t peak = nl_sum(before, it->above);
    return it->live[0] > peak ? it->live[0] : peak;
}

static void say_memory(struct snapshot *it)
{
    struct nl_verdict_words *verdict = it->judged->verdict;
    int64_t peak = peak_of(it);
    int64_t base = it->categories ? 0 : peak - it->live[0];
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_size(out, "Memory: at the peak ", (uint64_t)peak);
    nl_buf_text(out, " are live");
    if (it->reserved)
        nl_tell_size(out, ", of ", (uint64_t)it->reserved);
    nl_buf_text(out, it->reserved ? " reserved" : "");
    if (base) {
        nl_tell_size(out, ": ", (uint64_t)base);
        nl_tell_ratio(out, " (", base, peak);
        nl_buf_text(out, ") from before the recording, such as weights");
    }
    put_owners(it, out, base ? "; allocated since then by " : ": ",
               it->categories ? peak : it->live[0]);
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &verdict->sentence);
    verdict->class = NL_VERDICT_MEMORY_SNAPSHOT;
    if (base > peak - base)
        verdict->culprit = "weights and other memory from before the recording";
    else
        verdict->culprit = it->owner_count ? it->owners[0].name : NULL;
}

static void tell_more(struct snapshot *it)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    if (it->reserved > it->end && it->end) {
        nl_tell_size(out, "At the end ", (uint64_t)it->end);
        nl_tell_size(out, " are live and ", (uint64_t)(it->reserved - it->end));
        nl_tell_ratio(out, " (", it->reserved - it->end, it->reserved);
        nl_buf_text(out, " of what is reserved) lie unused in the allocator's cache.");
        nl_tell_note(it->judged);
    }
    out = nl_tell_begin(it->judged);
    if (it->live[1] && !it->categories) {
        nl_tell_size(out, "Of what was allocated while recording, ", (uint64_t)it->live[1]);
        nl_buf_text(out, " are still live at the end");
        if (it->live[1] > it->net)
            nl_tell_size(out, "; of what was live before, ",
                         (uint64_t)it->live[1] - (uint64_t)it->net);
        nl_buf_text(out, it->live[1] > it->net ? " were freed." : ".");
    } else if (!it->categories) {
        nl_buf_text(out, "Everything that was allocated while recording was freed again.");
    } else {
        nl_tell_size(out, "At the end ", it->net > 0 ? (uint64_t)it->net : 0);
        nl_buf_text(out, " are left.");
    }
    nl_tell_note(it->judged);
}

static bool is_about_memory(const struct nl_trace *trace)
{
    return trace->memory.rows && !trace->kernel.rows && !trace->op.rows && !trace->api.rows &&
           !trace->python.rows && !trace->layer.rows && trace->slice.rows < 100;
}

/* Per source: what its blocks come to, each by itself; nl_free it. */
static struct snapshot *each_source(struct snapshot *it)
{
    const struct nl_trace *trace = it->trace;
    struct snapshot *all = nl_zalloc(((size_t)trace->source.rows + 1) * sizeof *all);
    gather_memory_events(it);
    for (size_t i = 0; i < it->count; i++) {
        uint32_t source = source_of(trace, it->events[i].row);
        struct snapshot *one = &all[source == NL_NULL_ROW ? trace->source.rows : source];
        one->count++;
        nl_sum_add(&one->net, bytes_of(it, it->events[i].row));
        one->above = one->net > one->above ? one->net : one->above;
    }
    for (uint32_t row = 0; row < trace->memory.rows; row++) {
        uint32_t source = source_of(trace, row);
        struct snapshot *one = &all[source == NL_NULL_ROW ? trace->source.rows : source];
        one->categories = it->categories;
        if (kind_is(it, row, "snapshot blocks"))
            nl_sum_add(&one->end, bytes_of(it, row));
    }
    nl_free(it->events);
    *it = (struct snapshot){
        .judged = it->judged, .trace = trace, .source = NL_NULL_ROW, .categories = it->categories};
    return all;
}

/* Several files are of several processes, whose blocks do not add up on any device: the one with
 * the highest peak is looked at. */
static void choose_source(struct snapshot *it)
{
    const struct nl_trace *trace = it->trace;
    if (trace->source.rows < 2)
        return;
    struct snapshot *all = each_source(it);
    int64_t best = -1, least = INT64_MAX;
    uint32_t chosen = NL_NULL_ROW, count = 0;
    for (uint32_t source = 0; source < trace->source.rows; source++) {
        int64_t peak = peak_of(&all[source]);
        if (!all[source].count && !all[source].end)
            continue;
        count++;
        least = peak < least ? peak : least;
        chosen = peak > best ? source : chosen;
        best = peak > best ? peak : best;
    }
    nl_free(all);
    if (count < 2)
        return;
    it->source = chosen;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_number(out, "Of ", count, "file", "files");
    nl_tell_name(out, " this is ", nl_trace_name(trace, trace->source.file[chosen]));
    nl_tell_size(out, ", with the highest peak; the lowest peak is ", (uint64_t)least);
    nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

bool nl_judge_memory(struct nl_judged *judged)
{
    if (!is_about_memory(judged->trace))
        return false;
    struct snapshot it = {.judged = judged, .trace = judged->trace, .source = NL_NULL_ROW};
    it.categories = judged->trace->source.rows &&
                    nl_str_is(nl_trace_name(judged->trace, judged->trace->source.format[0]),
                              "torch-memory-timeline");
    choose_source(&it);
    gather_memory_events(&it);
    if (it.categories)
        own_categories(&it);
    else
        own_live(&it);
    if (it.owner_count)
        qsort(it.owners, it.owner_count, sizeof *it.owners, by_bytes);
    say_memory(&it);
    tell_more(&it);
    nl_free(it.events);
    return true;
}

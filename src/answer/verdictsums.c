/*
 * verdictsums — the answer for samples, sums per function or layer, and for profiles that hold nothing to judge: what
 * takes most, or what is missing and how it is recorded.
 */
#include <stdlib.h>

#include "answer/judge.h"
#include "answer/namesums.h"
#include "answer/waitname.h"
#include "base/sum.h"
#include "base/units.h"
#include "findings/advice.h"
#include "tables/lookup.h"

#define MAIN_SHARE_LEAST 0.5
#define LEAST_SHARE      0.01
#define LAYER_NAMES      64
#define MUCH_NAMELESS    0.25
#define MOST_DEEP        256

/* ---- samples ---- */

/* Weight per function of the innermost frames of one lane. */
struct leaves {
    uint32_t lane, stack; /* stack: one of the function with most */
    int64_t whole, most;
    uint32_t name;
};

static int64_t weight_of(const struct nl_trace *trace, uint32_t row)
{
    int64_t weight = trace->sample.weight[row];
    return weight == NL_NULL_I64 ? 1 : weight;
}

static bool is_main(const struct nl_trace *trace, uint32_t lane)
{
    uint32_t thread = trace->lane.thread[lane];
    struct nl_str name = nl_trace_name(trace, trace->lane.name[lane]);
    struct nl_str of_thread = thread == NL_NULL_ROW
                                  ? (struct nl_str){NULL, 0}
                                  : nl_trace_name(trace, trace->thread.name[thread]);
    return nl_str_find_nocase(name, "mainthread") >= 0 ||
           nl_str_find_nocase(name, "main thread") >= 0 ||
           nl_str_find_nocase(of_thread, "mainthread") >= 0 ||
           nl_str_find_nocase(of_thread, "main thread") >= 0;
}

/* The main thread by its name, else the lane with most weight. */
static bool main_leaves(const struct nl_trace *trace, struct leaves *leaves)
{
    int64_t *lanes = nl_zalloc(((size_t)trace->lane.rows + 1) * sizeof *lanes);
    int64_t *names = nl_zalloc((size_t)trace->names.count * sizeof *names);
    bool any = false;
    for (uint32_t i = 0; i < trace->sample.rows; i++)
        if (trace->sample.lane[i] != NL_NULL_ROW)
            lanes[trace->sample.lane[i]] += weight_of(trace, i);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        bool better =
            lanes[lane] > 0 && (!any || is_main(trace, lane) > is_main(trace, leaves->lane) ||
                                (is_main(trace, lane) == is_main(trace, leaves->lane) &&
                                 lanes[lane] > lanes[leaves->lane]));
        if (better)
            leaves->lane = lane;
        any |= better;
    }
    for (uint32_t i = 0; any && i < trace->sample.rows; i++) {
        uint32_t stack = trace->sample.stack[i];
        if (trace->sample.lane[i] != leaves->lane || stack == NL_NULL_ROW)
            continue;
        uint32_t name = trace->stack.name[stack];
        leaves->whole += weight_of(trace, i);
        names[name] += weight_of(trace, i);
        if (names[name] > leaves->most) {
            leaves->most = names[name];
            leaves->name = name;
            leaves->stack = stack;
        }
    }
    nl_free(lanes);
    nl_free(names);
    return any && leaves->whole > 0;
}

static bool is_library(struct nl_str file)
{
    return nl_str_contains(file, "site-packages") || nl_str_contains(file, "/lib/python") ||
           nl_str_contains(file, "cpython") || nl_str_contains(file, "<frozen") || !file.len;
}

/* Frames on the way out: the call that waits for something, and the program's own function. */
static void put_callers(const struct nl_trace *trace, struct nl_buf *out, uint32_t stack)
{
    uint32_t frame = trace->stack.parent[stack];
    for (int deep = 0, said = 0; frame != NL_NULL_ROW && deep < MOST_DEEP && said < 3;
         frame = trace->stack.parent[frame], deep++) {
        struct nl_str file = nl_trace_name(trace, trace->stack.file[frame]);
        bool own = !is_library(file.len ? file : nl_trace_name(trace, trace->stack.module[frame]));
        if (said >= 1 && !own)
            continue;
        nl_tell_name(out, said++ ? ", from " : ", called by ",
                     nl_trace_name(trace, trace->stack.name[frame]));
        if (own)
            return;
    }
}

static bool judge_waiting(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    struct leaves leaves = {0};
    if (!main_leaves(trace, &leaves) ||
        (double)leaves.most < MAIN_SHARE_LEAST * (double)leaves.whole ||
        !nl_is_wait_name(nl_trace_name(trace, leaves.name)))
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_ratio(out, "Waiting: the main thread spends ", leaves.most, leaves.whole);
    nl_tell_name(out, " of its samples in ", nl_trace_name(trace, leaves.name));
    put_callers(trace, out, leaves.stack);
    nl_buf_text(out, ": what it waits for is not in this thread.");
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_IDLE;
    judged->verdict->culprit = nl_keep_name(judged, nl_trace_name(trace, leaves.name));
    return true;
}

static struct nl_str file_of(struct nl_str place)
{
    size_t at = place.len;
    while (at && place.ptr[at - 1] != '/' && place.ptr[at - 1] != '\\')
        at--;
    return (struct nl_str){place.ptr + at, place.len - at};
}

static void put_function(struct nl_buf *out, const char *before, const struct nl_result *rows,
                         size_t row, const char *share)
{
    const char *column = nl_lookup_column(rows, "function") >= 0 ? "function" : "name";
    struct nl_str file = file_of(nl_lookup_text(rows, row, "place"));
    nl_tell_name(out, before, nl_lookup_text(rows, row, column));
    if (file.len)
        nl_tell_name(out, " in ", file);
    nl_tell_share(out, " ", nl_lookup_f64(rows, row, share));
}

/* V8 counts a thread that does nothing as well, perf what no frame is known of. */
static bool says_nothing(struct nl_str name)
{
    return !name.len || nl_str_is(name, "(idle)") || nl_str_is(name, "(root)") ||
           nl_str_is(name, "(program)") || nl_str_starts(name, "[unknown]");
}

/* With what it calls, not by itself, and not nearly all. */
static bool holds_much(const struct nl_result *rows, size_t row)
{
    double with = nl_lookup_f64(rows, row, "total_share"), self = nl_lookup_f64(rows, row, "share");
    return with >= 0.1 && with <= 0.95 && self * 2 <= with &&
           !says_nothing(nl_lookup_text(rows, row, "function"));
}

/* Functions of the event that hold much together with what they call, the largest first. */
static void tell_callers(struct nl_judged *judged, const struct nl_result *rows,
                         struct nl_str event)
{
    enum { LOOKED_AT = 60, MOST = 4 };
    size_t best[MOST], told = 0;
    for (size_t row = 0; row < rows->rows && row < LOOKED_AT; row++) {
        double with = nl_lookup_f64(rows, row, "total_share");
        if (!holds_much(rows, row) || !nl_str_eq(nl_lookup_text(rows, row, "event"), event))
            continue;
        size_t at = told < MOST ? told++ : MOST;
        for (; at && nl_lookup_f64(rows, best[at - 1], "total_share") < with; at--)
            if (at < MOST)
                best[at] = best[at - 1];
        if (at < MOST)
            best[at] = row;
    }
    struct nl_buf *out = nl_tell_begin(judged);
    for (size_t i = 0; i < told; i++)
        put_function(out, i ? ", " : "With what they call: ", rows, best[i], "total_share");
    if (told)
        nl_buf_char(out, '.');
    nl_tell_note(judged);
}

/* What the weights count: time, memory, or waiting for locks. */
static void put_kind(struct nl_judged *judged, struct nl_buf *out, const struct nl_result *rows,
                     struct nl_str event)
{
    bool bytes = false;
    for (size_t row = 0; row < rows->rows && !bytes; row++)
        bytes = nl_str_eq(nl_lookup_text(rows, row, "event"), event) &&
                nl_str_is(nl_lookup_text(rows, row, "unit"), "bytes");
    bool memory = bytes || nl_str_find_nocase(event, "alloc") >= 0 ||
                  nl_str_find_nocase(event, "inuse") >= 0 ||
                  nl_str_find_nocase(event, "space") >= 0;
    bool locks = nl_str_find_nocase(event, "contention") >= 0 ||
                 nl_str_find_nocase(event, "delay") >= 0 ||
                 nl_str_find_nocase(event, "mutex") >= 0 || nl_str_find_nocase(event, "block") >= 0;
    if (memory) {
        judged->verdict->class = NL_VERDICT_MEMORY_SNAPSHOT;
        nl_buf_format(
            out, "Heap profile, %s by where they were allocated: ", bytes ? "bytes" : "objects");
    } else if (locks) {
        judged->verdict->class = NL_VERDICT_IDLE;
        nl_buf_text(out, "Contention profile, waiting for locks by where: ");
    } else {
        bool calls =
            judged->trace->source.rows == 1 &&
            nl_str_is(nl_trace_name(judged->trace, judged->trace->source.format[0]), "pstats");
        nl_buf_text(out, calls ? "CPU-only profile, time of functions: "
                               : "CPU-only profile, samples: ");
    }
}

/* The event to speak of: of memory the bytes, not the objects; else that of the first function with a name. */
static struct nl_str told_event(const struct nl_result *rows)
{
    for (size_t row = 0; row < rows->rows; row++)
        if (nl_str_is(nl_lookup_text(rows, row, "unit"), "bytes"))
            return nl_lookup_text(rows, row, "event");
    for (size_t row = 0; row < rows->rows; row++)
        if (!says_nothing(nl_lookup_text(rows, row, "function")))
            return nl_lookup_text(rows, row, "event");
    return nl_lookup_text(rows, 0, "event");
}

/* "86 % idle; ", "58 % in code without names in [kernel.kallsyms]; ": what has no function, where it is much. */
static void put_nameless(struct nl_buf *out, const struct nl_result *rows, struct nl_str event)
{
    for (size_t row = 0; row < rows->rows && row < 8; row++) {
        struct nl_str name = nl_lookup_text(rows, row, "function");
        struct nl_str place = nl_lookup_text(rows, row, "place");
        double share = nl_lookup_f64(rows, row, "share");
        if (!nl_str_eq(nl_lookup_text(rows, row, "event"), event) || !says_nothing(name) ||
            !(share >= MUCH_NAMELESS))
            continue;
        nl_tell_share(out, "", share);
        if (nl_str_is(name, "(idle)"))
            nl_buf_text(out, " idle; ");
        else if (nl_str_is(name, "(program)"))
            nl_buf_text(out, " in native code without a name; ");
        else if (place.len && place.ptr[0] != '[') {
            nl_tell_name(out, " in code without names in ", file_of(place));
            nl_buf_text(out, "; ");
        } else if (nl_str_find_nocase(place, "kernel") >= 0)
            nl_buf_text(out, " in the operating system's kernel, without names; ");
        else
            nl_buf_text(out, " in code without names; ");
    }
}

static bool judge_samples(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "cpu_samples");
    if (!rows)
        return false;
    if (judge_waiting(judged))
        return true;
    struct nl_buf *out = nl_tell_begin(judged);
    judged->verdict->class = NL_VERDICT_CPU_ONLY;
    struct nl_str event = told_event(rows);
    put_kind(judged, out, rows, event);
    put_nameless(out, rows, event);
    size_t said = 0;
    for (size_t row = 0; row < rows->rows && said < 3; row++) {
        bool other = !nl_str_eq(nl_lookup_text(rows, row, "event"), event);
        if (other || says_nothing(nl_lookup_text(rows, row, "function")) ||
            (said && nl_lookup_f64(rows, row, "share") < LEAST_SHARE))
            continue;
        if (!said)
            judged->verdict->culprit = nl_keep_name(judged, nl_lookup_text(rows, row, "function"));
        put_function(out, said++ ? ", " : "most in ", rows, row, "share");
    }
    nl_buf_text(out, said ? "." : "no frame has a name.");
    nl_tell_end(judged, &judged->verdict->sentence);
    tell_callers(judged, rows, event);
    return true;
}

/* ---- sums ---- */

static bool judge_layers(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "model_layers");
    int64_t whole = rows ? nl_lookup_sum(rows, "total_ns") : 0;
    if (whole <= 0)
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Computing, by sums per layer: ", (int64_t)rows->rows, "layer", "layers");
    nl_tell_time(out, ", ", whole);
    struct nl_name_sum sums[LAYER_NAMES];
    size_t names = nl_sum_by_name(rows, "layer", "total_ns", sums, LAYER_NAMES);
    for (size_t i = 0; i < names && i < 3; i++) {
        nl_tell_kernel(out, i ? ", " : "; the longest ", sums[i].name);
        nl_tell_ratio(out, " ", sums[i].ns, whole);
        if (sums[i].count > 1)
            nl_tell_number(out, " (", (int64_t)sums[i].count, "layer)", "layers)");
    }
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_COMPUTE;
    judged->verdict->culprit = nl_keep_kernel(judged, sums[0].name);
    out = nl_tell_begin(judged);
    nl_tell_time(out, "A layer takes ", whole / (int64_t)rows->rows);
    nl_tell_ratio(out, " on average, the longest ", nl_lookup_i64(rows, 0, "total_ns"), whole);
    nl_buf_text(out, "; what ran when, and gaps between layers, are not in the file.");
    nl_tell_note(judged);
    return true;
}

static bool has_device_sums(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->source.rows; i++) {
        struct nl_str format = nl_trace_name(trace, trace->source.format[i]);
        if (nl_str_starts(format, "rocprof") || nl_str_starts(format, "nvprof") ||
            nl_str_starts(format, "nsys"))
            return true;
    }
    return false;
}

static bool judge_calls(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "call_sums");
    bool device = has_device_sums(judged->trace);
    if (!rows)
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_buf_text(out, device ? "Kernel sums: " : "CPU-only profile, sums per function: ");
    struct nl_str place = nl_lookup_text(rows, 0, "place");
    for (size_t row = 0; row < rows->rows && row < 3; row++) {
        struct nl_str name = nl_lookup_text(rows, row, "name");
        const char *before = row ? ", " : "most time in ";
        if (device && !nl_str_eq(nl_lookup_text(rows, row, "place"), place))
            continue;
        if (device)
            nl_tell_kernel(out, before, name);
        else
            nl_tell_name(out, before, name);
        nl_tell_time(out, " ", nl_lookup_i64(rows, row, "self_ns"));
        nl_tell_share(out, " (", nl_lookup_f64(rows, row, "share"));
        nl_buf_char(out, ')');
    }
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    struct nl_str first = nl_lookup_text(rows, 0, "name");
    bool copies = nl_str_starts_nocase(first, "copy") ||
                  nl_str_starts_nocase(first, "[cuda memcpy") ||
                  nl_str_starts_nocase(first, "memcpy");
    judged->verdict->class = !device  ? NL_VERDICT_CPU_ONLY
                             : copies ? NL_VERDICT_COPY
                                      : NL_VERDICT_COMPUTE;
    struct nl_str top = nl_lookup_text(rows, 0, "name");
    judged->verdict->culprit = device ? nl_keep_kernel(judged, top) : nl_keep_name(judged, top);
    out = nl_tell_begin(judged);
    nl_buf_text(out, "Sums only, no timeline: gaps, overlap and the CPU side are not in the file.");
    nl_tell_note(judged);
    return true;
}

bool nl_judge_sums(struct nl_judged *judged)
{
    return judge_samples(judged) || judge_layers(judged) || judge_calls(judged);
}

/* ---- nothing ---- */

/* "aten::empty 1,590, …": what occurs most often among the nodes of a graph without times: their types where they
 * have some (layers of an engine), else their names. Nothing where all occur once. */
static void put_node_counts(struct nl_judged *judged, const uint32_t *of_node, struct nl_buf *out)
{
    const struct nl_trace *trace = judged->trace;
    uint32_t *counts = nl_zalloc((size_t)trace->names.count * sizeof *counts);
    for (uint32_t i = 0; i < trace->node.rows; i++)
        counts[of_node[i]]++;
    for (int said = 0; said < 4; said++) {
        uint32_t best = 0;
        for (uint32_t name = 1; name < trace->names.count; name++)
            if (counts[name] > counts[best] || !best)
                best = name;
        if (!best || counts[best] < 2)
            break;
        nl_tell_name(out, said ? ", " : "; most often ", nl_trace_name(trace, best));
        nl_buf_format(out, " %u", counts[best]);
        counts[best] = 0;
    }
    nl_free(counts);
}

static bool is_engine(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->source.rows; i++)
        if (nl_str_starts(nl_trace_name(trace, trace->source.format[i]), "tensorrt"))
            return true;
    return false;
}

static bool has_types(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->node.rows; i++)
        if (trace->node.type[i])
            return true;
    return false;
}

static void tell_graph(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    bool engine = is_engine(trace);
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, engine ? "Engine description: " : "Execution trace: a graph of ",
                   trace->node.rows, engine ? "layer" : "node", engine ? "layers" : "nodes");
    nl_buf_text(out, " without times");
    put_node_counts(judged, has_types(trace) ? trace->node.type : trace->node.name, out);
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    out = nl_tell_begin(judged);
    nl_buf_text(out, engine ? "For times, load it together with the profile of the same engine: "
                              "trtexec --exportProfile=FILE."
                            : "For times, load it together with the Kineto trace of the same run.");
    nl_tell_note(judged);
}

/* What there is although it cannot be judged. */
static void put_kinds(const struct nl_trace *trace, struct nl_buf *out)
{
    uint32_t system = 0, overhead = 0;
    for (uint32_t i = 0; i < trace->slice.rows; i++) {
        system += trace->slice.kind[i] == NL_KIND_OSRT;
        overhead += trace->slice.kind[i] == NL_KIND_OVERHEAD;
    }
    if (trace->api.rows)
        nl_tell_number(out, ", ", trace->api.rows, "CUDA/HIP call", "CUDA/HIP calls");
    if (system)
        nl_tell_number(out, ", ", system, "system call", "system calls");
    if (overhead)
        nl_tell_number(out, ", ", overhead, "record of profiler overhead",
                       "records of profiler overhead");
    if (trace->counter.rows)
        nl_tell_number(out, ", ", trace->counter.rows, "counter value", "counter values");
}

/* How long the operations of a log took, where it has that, and the highest rate among them. */
static void put_log_times(struct nl_buf *out, const struct nl_result *rows)
{
    int64_t total = 0;
    uint64_t timed = 0, all = 0;
    double best = 0;
    for (size_t row = 0; rows && row < rows->rows; row++) {
        int64_t ns = nl_lookup_i64(rows, row, "total_ns"),
                count = nl_lookup_i64(rows, row, "count");
        double rate = nl_lookup_f64(rows, row, "bandwidth_bytes_per_s");
        all += count > 0 ? (uint64_t)count : 0;
        if (ns == NL_NULL_I64)
            continue;
        timed += count > 0 ? (uint64_t)count : 0;
        nl_sum_add(&total, ns);
        best = rate > best ? rate : best;
    }
    if (!total) {
        nl_buf_text(out, "; how long they took is not in the file");
        return;
    }
    nl_tell_time(out, "; ", total);
    if (timed < all)
        nl_tell_number(out, " for the ", (int64_t)timed, "operation with a time",
                       "operations with times");
    else
        nl_buf_text(out, " in all");
    if (best > 0) {
        char rate[NL_UNIT_TEXT];
        nl_buf_format(out, ", at %s at best", nl_format_rate(rate, best));
    }
}

/* Logs of communication libraries: which operations, on how much data, and their times where the log has some. */
static void tell_collectives(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "collectives");
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Communication log: ", judged->trace->collective.rows, "operation",
                   "operations");
    size_t said = 0;
    for (size_t row = 0; rows && row < rows->rows && said < 3; row++) {
        int64_t bytes = nl_lookup_i64(rows, row, "bytes");
        struct nl_str name = nl_lookup_text(rows, row, "operation");
        bool seen = !name.len;
        for (size_t i = 0; i < row && !seen; i++)
            seen = nl_str_eq(nl_lookup_text(rows, i, "operation"), name);
        if (seen)
            continue;
        nl_tell_name(out, said++ ? ", " : "; ", name);
        nl_buf_format(out, " %lld", (long long)nl_lookup_i64(rows, row, "count"));
        if (bytes > 0)
            nl_tell_size(out, " of ", (uint64_t)bytes);
    }
    put_log_times(out, rows);
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_COMMUNICATION;
    judged->verdict->culprit =
        rows ? nl_keep_name(judged, nl_lookup_text(rows, 0, "operation")) : NULL;
}

/* How device work would come into the file. Where calls were traced the option was there. */
static void tell_how(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    const char *record = nl_advice_record(trace, &(struct nl_need){NL_T_kernel, NULL});
    struct nl_buf *out = nl_tell_begin(judged);
    if (trace->api.rows)
        nl_buf_text(out, "Calls were traced, device work was not delivered or is in another file: "
                         "record until the "
                         "program has ended, and see what the profiler says about its buffers.");
    else if (record && trace->slice.rows)
        nl_buf_format(out, "To have device work, record with: %s.", record);
    nl_tell_note(judged);
}

bool nl_judge_nothing(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    judged->verdict->class = NL_VERDICT_NONE;
    if (trace->node.rows && !trace->slice.rows) {
        tell_graph(judged);
        return true;
    }
    if (trace->collective.rows) {
        tell_collectives(judged);
        return true;
    }
    struct nl_buf *out = nl_tell_begin(judged);
    if (!trace->slice.rows && !trace->counter.rows && (trace->meta.rows || trace->device.rows)) {
        nl_buf_text(
            out,
            "No event was recorded: no kernel, copy, call or range is in this file, only facts "
            "(table metadata).");
    } else if (!trace->slice.rows && !trace->counter.rows) {
        nl_buf_text(out, "No event was recorded: no kernel, copy, call or range is in this file.");
    } else {
        bool elsewhere = (trace->kernel.rows || trace->copy.rows || trace->memset.rows) &&
                         nl_judged_in_window(judged);
        nl_buf_format(out, "No verdict: no kernel and no copy in this %s",
                      elsewhere ? "window" : "file");
        put_kinds(trace, out);
        if (trace->last_ts > trace->first_ts)
            nl_tell_time(out, ", over ", trace->last_ts - trace->first_ts);
        nl_buf_char(out, '.');
    }
    nl_tell_end(judged, &judged->verdict->sentence);
    tell_how(judged);
    return true;
}

/*
 * verdictsums — the answer for sums per function, and for profiles that hold nothing to judge: what
 * takes most, or what is missing and how it is recorded.
 */
#include <stdlib.h>

#include "answer/judge.h"
#include "answer/unseenwork.h"
#include "base/sum.h"
#include "base/units.h"
#include "findings/recordadvice.h"
#include "tables/lookup.h"

/* ---- sums ---- */

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
    struct nl_str top = nl_lookup_text(rows, 0, "name");
    bool copies = nl_str_starts_nocase(top, "copy") || nl_str_starts_nocase(top, "[cuda memcpy") ||
                  nl_str_starts_nocase(top, "memcpy");
    struct nl_buf *out = nl_tell_begin(judged);
    nl_buf_text(out, !device  ? "CPU-only profile, sums per function: "
                     : copies ? "Sums of device work: "
                              : "Kernel sums: ");
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
    judged->verdict->class = !device  ? NL_VERDICT_CPU_ONLY
                             : copies ? NL_VERDICT_COPY
                                      : NL_VERDICT_COMPUTE;
    judged->verdict->culprit = device ? nl_keep_kernel(judged, top) : nl_keep_name(judged, top);
    out = nl_tell_begin(judged);
    nl_buf_text(out, "Sums only, no timeline: gaps, overlap and the CPU side are not in the file.");
    nl_tell_note(judged);
    return true;
}

bool nl_judge_sums(struct nl_judged *judged)
{
    return nl_judge_branches(judged) || nl_judge_samples(judged) || nl_judge_layers(judged) ||
           judge_calls(judged);
}

/* ---- nothing ---- */

/* "aten::empty 1,590, …": what occurs most often among the nodes of a graph without
 * times: their types where they have some (layers of an engine), else their names.
 * Nothing where all occur once. */
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

/* Logs of communication libraries: which operations, on how much data, and their
 * times where the log has some. */
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
    if (nl_unseen_unasked(trace))
        nl_buf_text(out,
                    "None of the calls launches or copies anything: the program ended before it "
                    "did, or does it in a process that was not traced.");
    else if (trace->api.rows)
        nl_buf_text(out, "Calls were traced, device work was not delivered or is in another file: "
                         "record until the program has ended, and see what the profiler says about "
                         "its buffers.");
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
        bool elsewhere = nl_has_device_work(trace) && nl_judged_in_window(judged);
        nl_buf_format(out, "No verdict: no kernel and no copy in this %s",
                      elsewhere ? "window" : "file");
        put_kinds(trace, out);
        if (trace->last_ts > trace->first_ts)
            nl_tell_time(out, ", over ", trace->last_ts - trace->first_ts);
        nl_buf_char(out, '.');
    }
    nl_tell_end(judged, &judged->verdict->sentence);
    nl_tell_longest(judged, nl_tell_begin(judged));
    nl_tell_note(judged);
    tell_how(judged);
    return true;
}

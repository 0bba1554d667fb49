/*
 * verdictcounters — hardware counters of kernels (Nsight Compute, rocprof, CUPTI ranges) and
 * telemetry of GPUs: what limits the kernel that takes most, how much of the machine is used.
 */
#include "answer/amdcounters.h"

#include <math.h>

#include "answer/judge.h"
#include "base/map.h"
#include "base/sum.h"
#include "base/units.h"
#include "tables/lookup.h"
#include "tables/readname.h"
#include "timeline/foreigncalls.h"

#define NAMED 3

/* ---- kernels with measurements ---- */

static void put_limits(struct nl_buf *out, const struct nl_result *rows, size_t row)
{
    double sm = nl_lookup_f64(rows, row, "sm_throughput");
    double memory = nl_lookup_f64(rows, row, "memory_throughput");
    double occupancy = nl_lookup_f64(rows, row, "achieved_occupancy");
    struct nl_str limiter = nl_lookup_text(rows, row, "limiter");
    if (sm == sm)
        nl_tell_share(out, ": SM ", sm);
    if (memory == memory)
        nl_tell_share(out, sm == sm ? ", memory " : ": memory ", memory);
    if (sm == sm || memory == memory)
        nl_buf_text(out, " of peak");
    if (nl_str_is(limiter, "balanced"))
        nl_buf_text(out, ", limited by compute and memory alike");
    else if (limiter.len)
        nl_buf_format(out, ", limited by %.*s", (int)limiter.len, limiter.ptr);
    if (occupancy == occupancy)
        nl_tell_share(out, ", occupancy ", occupancy);
}

/* A kernel, whose rows are its grids. */
struct measured {
    size_t first, row; /* of its grids, the first and the one with most time */
    size_t grids;
    int64_t ns;
    bool alike; /* some have one grid: they differ in something else */
};

static void add_grid(const struct nl_result *rows, size_t row, struct measured *kernel)
{
    int64_t ns = nl_lookup_i64(rows, row, "total_ns");
    if (ns > nl_lookup_i64(rows, kernel->row, "total_ns"))
        kernel->row = row;
    nl_sum_add(&kernel->ns, ns);
    kernel->alike |= kernel->grids++ && nl_str_eq(nl_lookup_text(rows, row, "grid"),
                                                  nl_lookup_text(rows, kernel->first, "grid"));
}

/* All kernels in the order of their first rows, to be freed. */
static struct measured *sum_kernels(const struct nl_result *rows, size_t *count)
{
    struct measured *kernels = nl_alloc((rows->rows + 1) * sizeof *kernels);
    struct nl_lookup names = {0};
    *count = 0;
    for (size_t row = 0; row < rows->rows; row++) {
        struct nl_str name = nl_lookup_text(rows, row, "name");
        uint64_t hash = nl_hash_keyed(name.ptr, name.len);
        uint32_t at = NL_LOOKUP(&names, hash, i,
                                nl_str_eq(nl_lookup_text(rows, kernels[i].first, "name"), name));
        if (at == NL_NO_ROW) {
            at = (uint32_t)(*count)++;
            kernels[at] = (struct measured){.first = row, .row = row};
            nl_lookup_add(&names, hash, at);
        }
        add_grid(rows, row, &kernels[at]);
    }
    nl_lookup_release(&names);
    return kernels;
}

/* The kernels that take most, the longest first; returns how many there are. */
static size_t find_kernels(const struct nl_result *rows, struct measured most[NAMED])
{
    size_t all, count = 0;
    struct measured *kernels = sum_kernels(rows, &all);
    for (size_t i = 0; i < all; i++) {
        size_t at = count < NAMED ? count : NAMED;
        for (; at && most[at - 1].ns < kernels[i].ns; at--)
            if (at < NAMED)
                most[at] = most[at - 1];
        if (at < NAMED)
            most[at] = kernels[i];
        count += count < NAMED;
    }
    nl_free(kernels);
    return count;
}

static bool has_limits(const struct nl_result *rows, size_t row)
{
    struct nl_buf limits;
    nl_buf_init(&limits, 1024);
    put_limits(&limits, rows, row);
    bool any = limits.len > 0;
    nl_buf_release(&limits);
    return any;
}

/* ", 134.2 ms of it with a grid of 2x5000x1: SM 23 % …". */
static void put_grid(struct nl_buf *out, const struct nl_result *rows,
                     const struct measured *kernel)
{
    struct nl_str grid = nl_lookup_text(rows, kernel->row, "grid");
    if (kernel->grids > 1 && has_limits(rows, kernel->row)) {
        nl_tell_time(out, ", ", nl_lookup_i64(rows, kernel->row, "total_ns"));
        if (kernel->alike || !grid.len)
            nl_buf_text(out, " of it in launches of one kind");
        else
            nl_buf_format(out, " of it with a grid of %.*s", (int)grid.len, grid.ptr);
    }
    put_limits(out, rows, kernel->row);
    nl_buf_char(out, '.');
}

static bool tell_measured(struct nl_judged *judged)
{
    struct measured kernels[NAMED];
    const struct nl_result *rows = nl_judged_part(judged, "kernel_counters");
    int64_t whole = rows ? nl_lookup_sum(rows, "total_ns") : 0;
    bool starts_unknown =
        nl_lookup_i64(nl_judged_part(judged, "breakdown"), 0, "wall_ns") == NL_NULL_I64;
    if (!rows || !starts_unknown)
        return false;
    size_t count = find_kernels(rows, kernels);
    for (size_t i = 0; i < count; i++) {
        struct nl_buf *out = nl_tell_begin(judged);
        struct nl_str name = nl_lookup_text(rows, kernels[i].row, "name");
        nl_tell_kernel(out, i ? "" : "Kernel counters: ", name);
        nl_tell_time(out, i ? ": " : " takes ", kernels[i].ns);
        if (!i) {
            nl_tell_time(out, " of ", whole);
            nl_tell_ratio(out, " (", kernels[i].ns, whole);
            nl_buf_text(out, ")");
        }
        put_grid(out, rows, &kernels[i]);
        if (i) {
            nl_tell_note(judged);
            continue;
        }
        nl_tell_end(judged, &judged->verdict->sentence);
        judged->verdict->culprit = nl_keep_kernel(judged, name);
    }
    return true;
}

/* ---- single counters of dispatches, without throughputs ---- */

struct sum {
    uint32_t kernel, metric; /* dictionary ids */
    int64_t ns;
    double value, whole;
};

/* Time of the kernel with most, and its part of the metric that is recorded most often. */
static bool sum_metrics(const struct nl_trace *trace, struct sum *sum)
{
    int64_t *ns = nl_zalloc((size_t)trace->names.count * sizeof *ns);
    sum->metric = 0;
    for (uint32_t i = 0; i < trace->metric.rows && !sum->metric; i++)
        if (trace->metric.value[i] == trace->metric.value[i])
            sum->metric = trace->metric.name[i];
    for (uint32_t i = 0; i < trace->kernel.rows; i++) {
        uint32_t slice = trace->kernel.slice[i];
        if (slice == NL_NULL_ROW || trace->slice.dur[slice] == NL_NULL_I64)
            continue;
        uint32_t name = trace->slice.name[slice];
        nl_sum_add(&ns[name], trace->slice.dur[slice]);
        if (ns[name] > ns[sum->kernel])
            sum->kernel = name;
    }
    sum->ns = ns[sum->kernel];
    nl_free(ns);
    for (uint32_t i = 0; i < trace->metric.rows; i++) {
        double value = trace->metric.value[i];
        if (trace->metric.name[i] != sum->metric || value != value ||
            trace->metric.slice[i] == NL_NULL_ROW)
            continue;
        sum->whole += value;
        if (trace->slice.name[trace->metric.slice[i]] == sum->kernel)
            sum->value += value;
    }
    return sum->metric && sum->ns > 0;
}

static bool tell_dispatches(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    struct sum sum = {0};
    const struct nl_result *kernels = nl_judged_part(judged, "kernels");
    if (!trace->metric.rows || !kernels || trace->op.rows ||
        (trace->api.rows && !nl_calls_are_foreign(trace)) || !sum_metrics(trace, &sum))
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_kernel(out, "Kernel counters: ", nl_trace_name(trace, sum.kernel));
    nl_tell_ratio(out, " takes ", sum.ns, nl_lookup_sum(kernels, "total_ns"));
    nl_tell_time(out, " of ", nl_lookup_sum(kernels, "total_ns"));
    nl_tell_number(out, " kernel time (", trace->kernel.rows, "dispatch", "dispatches");
    nl_buf_char(out, ')');
    if (!nl_tell_amd_counters(out, trace, sum.kernel) && sum.whole > 0 && sum.value < sum.whole) {
        nl_tell_share(out, " and ", sum.value / sum.whole);
        nl_tell_name(out, " of all ", nl_trace_name(trace, sum.metric));
    }
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->culprit = nl_keep_kernel(judged, nl_trace_name(trace, sum.kernel));
    out = nl_tell_begin(judged);
    nl_buf_text(out, "Counter collection runs kernels one by one, so the time between them says "
                     "nothing of the program.");
    nl_tell_note(judged);
    return true;
}

/* ---- ranges of the CUPTI range profiler ---- */

static bool tell_ranges(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    uint32_t ranges = 0;
    if (trace->kernel.rows || trace->copy.rows)
        return false;
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        ranges += trace->slice.kind[i] == NL_KIND_DEVICE_OTHER;
    if (!ranges)
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Hardware counters: ", ranges, "range", "ranges");
    nl_buf_text(out, " of the CUPTI range profiler, and no timeline of kernels or copies. The "
                     "durations of the ranges are "
                     "those of replayed passes, not of kernels.");
    nl_tell_end(judged, &judged->verdict->sentence);
    out = nl_tell_begin(judged);
    nl_buf_text(out, "Counter collection slows every launch down, so CPU times are inflated. For "
                     "times, record again "
                     "without counters.");
    nl_tell_note(judged);
    judged->verdict->culprit = "CUPTI range profiler";
    return true;
}

/* ---- telemetry ---- */

static bool is_unnamed(const struct nl_result *rows)
{
    for (size_t i = 0; i < rows->rows; i++)
        if (!nl_str_starts(nl_lookup_text(rows, i, "name"), "column "))
            return false;
    return true;
}

#define BUSY_COUNTERS     4      /* of the words below */
#define MAX_UNUSED_MEMORY 0.0025 /* 200 of 81559 MiB: a CUDA context alone takes more */

/* By what a reader asks first. */
static int interest(struct nl_str name)
{
    static const char *const words[] = {
        "gpu_util",    "utilization.gpu", "sm_active", "gr_engine", "util", "busy",
        "memory.used", "fb_used",         "power",     "temp",      "mem",  "clock"};
    if (nl_str_find_nocase(name, "enc_util") >= 0 || nl_str_find_nocase(name, "dec_util") >= 0)
        return 99;
    for (int i = 0; i < (int)(sizeof words / sizeof words[0]); i++)
        if (nl_str_find_nocase(name, words[i]) >= 0)
            return i;
    return 100;
}

static void put_number(struct nl_buf *out, const char *before, double value)
{
    double size = value < 0 ? -value : value;
    nl_buf_format(out, size >= 100 || value == floor(value) ? "%s%.0f" : "%s%.1f", before, value);
}

static void put_counter(struct nl_buf *out, const struct nl_result *rows, size_t row)
{
    struct nl_str unit = nl_lookup_text(rows, row, "unit"),
                  name = nl_lookup_text(rows, row, "name");
    double least = nl_lookup_f64(rows, row, "min"), most = nl_lookup_f64(rows, row, "max");
    double mean = 0;
    size_t devices = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        if (!nl_str_eq(nl_lookup_text(rows, i, "name"), name))
            continue;
        devices++;
        mean += nl_lookup_f64(rows, i, "mean");
        least = nl_lookup_f64(rows, i, "min") < least ? nl_lookup_f64(rows, i, "min") : least;
        most = nl_lookup_f64(rows, i, "max") > most ? nl_lookup_f64(rows, i, "max") : most;
    }
    nl_tell_name(out, "", name);
    if (devices > 1)
        nl_buf_format(out, " (%zu devices)", devices);
    if (least == most) {
        put_number(out, " always ", most);
    } else {
        put_number(out, " ", least);
        put_number(out, "–", most);
        put_number(out, ", mean ", mean / (double)devices);
    }
    if (unit.len)
        nl_buf_format(out, " %.*s", (int)unit.len, unit.ptr);
}

static void put_counters(struct nl_buf *out, const struct nl_result *rows, size_t most)
{
    uint8_t *said = nl_zalloc(rows->rows + 1);
    for (size_t i = 0; i < most && i < rows->rows; i++) {
        size_t best = rows->rows;
        for (size_t row = 0; row < rows->rows; row++)
            if (!said[row] &&
                (best == rows->rows || interest(nl_lookup_text(rows, row, "name")) <
                                           interest(nl_lookup_text(rows, best, "name"))))
                best = row;
        if (best == rows->rows)
            break;
        for (size_t row = 0; row < rows->rows; row++)
            said[row] |=
                nl_str_eq(nl_lookup_text(rows, row, "name"), nl_lookup_text(rows, best, "name"));
        nl_buf_text(out, i ? "; " : "");
        put_counter(out, rows, best);
    }
    nl_free(said);
}

/* The counter that says how busy devices are: the one that a reader asks for first. */
static struct nl_str busy_counter(const struct nl_result *rows)
{
    size_t best = rows->rows;
    for (size_t row = 0; row < rows->rows; row++) {
        int asked = interest(nl_lookup_text(rows, row, "name"));
        if (asked < BUSY_COUNTERS &&
            (best == rows->rows || asked < interest(nl_lookup_text(rows, best, "name"))))
            best = row;
    }
    return best < rows->rows ? nl_lookup_text(rows, best, "name") : (struct nl_str){0};
}

/* Devices on which nothing ran, if all their values say so. */
static void note_no_work(struct nl_judged *judged, const struct nl_result *rows, struct nl_str busy)
{
    size_t devices = 0, idle = 0;
    for (size_t row = 0; row < rows->rows; row++)
        if (nl_str_eq(nl_lookup_text(rows, row, "name"), busy)) {
            devices++;
            idle += nl_lookup_f64(rows, row, "max") == 0;
        }
    if (!idle)
        return;
    struct nl_buf *out = nl_tell_begin(judged);
    if (devices == 1)
        nl_buf_text(out, "The device had no work");
    else if (idle == devices)
        nl_buf_format(out, "None of %zu devices had work", devices);
    else
        nl_buf_format(out, "%zu of %zu devices had no work", idle, devices);
    nl_tell_name(out, ": ", busy);
    nl_buf_text(out, idle == devices ? " is 0 in all values." : " is 0 in all their values.");
    nl_tell_note(judged);
}

/* A row of memory.used; its device's memory, 0: not recorded. */
static double memory_of(const struct nl_result *rows, size_t row)
{
    if (nl_str_is(nl_lookup_text(rows, row, "name"), "memory.used"))
        for (size_t other = 0; other < rows->rows; other++)
            if (nl_str_is(nl_lookup_text(rows, other, "name"), "memory.total") &&
                nl_lookup_i64(rows, other, "device") == nl_lookup_i64(rows, row, "device"))
                return nl_lookup_f64(rows, other, "min");
    return 0;
}

/* Without a program a driver has some memory of a device in use, and little. */
static void note_no_program(struct nl_judged *judged, const struct nl_result *rows)
{
    size_t devices = 0;
    double used = 0, whole = 0;
    for (size_t row = 0; row < rows->rows; row++) {
        double memory = memory_of(rows, row), most = nl_lookup_f64(rows, row, "max");
        if (!(memory > 0))
            continue;
        if (!(most <= MAX_UNUSED_MEMORY * memory))
            return;
        if (!devices++ || most > used) {
            used = most;
            whole = memory;
        }
    }
    if (!devices)
        return;
    struct nl_buf *out = nl_tell_begin(judged);
    if (devices == 1)
        nl_buf_text(out, "No program seems to use the device");
    else
        nl_buf_format(out, "No program seems to use any of %zu devices", devices);
    put_number(out, ": memory.used is at most ", used);
    put_number(out, " of ", whole);
    nl_buf_char(out, '.');
    nl_tell_note(judged);
}

static bool tell_telemetry(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    const struct nl_result *rows = nl_judged_part(judged, "counters");
    if (!rows || trace->slice.rows || trace->sample.rows || trace->memory.rows)
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Telemetry: ", (int64_t)rows->rows, "counter", "counters");
    if (trace->last_ts > trace->first_ts)
        nl_tell_time(out, " over ", trace->last_ts - trace->first_ts);
    else
        nl_buf_text(out, " at one moment");
    if (is_unnamed(rows)) {
        nl_buf_text(out, "; the file has no header, so the meaning of its columns is uncertain "
                         "(utilisation, memory, "
                         "temperature …): ");
        put_counters(out, rows, 4);
    } else {
        nl_buf_text(out, ": ");
        put_counters(out, rows, 4);
        judged->verdict->culprit = nl_keep_name(judged, nl_lookup_text(rows, 0, "name"));
    }
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    struct nl_str busy = busy_counter(rows);
    if (busy.len)
        note_no_work(judged, rows, busy);
    else
        note_no_program(judged, rows);
    return true;
}

bool nl_judge_counters(struct nl_judged *judged)
{
    if (!tell_measured(judged) && !tell_dispatches(judged) && !tell_ranges(judged) &&
        !tell_telemetry(judged))
        return false;
    judged->verdict->class = NL_VERDICT_COUNTERS;
    return true;
}

/*
 * verdictsamples — the answer for CPU samples and sums per function: what the program spends its
 * time in, by itself and with what is called; a thread that waits; CPUs without work.
 */
#include <math.h>

#include "answer/judge.h"
#include "answer/unseenwork.h"
#include "base/chars.h"
#include "base/mem.h"
#include "base/sum.h"
#include "tables/shortname.h"
#include "tables/lookup.h"
#include "timeline/feeder.h"
#include "timeline/waitname.h"

#define MIN_MAIN_SHARE     0.5
#define MIN_SHARE          0.01
#define MIN_NAMELESS_SHARE 0.25
#define MIN_IMPORT_SHARE   0.3
#define FLAT_SHARE         0.05
#define MAX_DEPTH          256
#define LOOKED_AT          60 /* functions with most self time */
#define CALLERS            4
#define LINES              3
#define NEARLY_ALL         0.95
#define OTHERS             2
#define MIN_OTHERS         0.25 /* of what the main thread waits: what other threads work meanwhile */

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

/* The main thread by its name, else the lane with most weight. */
static bool main_leaves(const struct nl_trace *trace, struct leaves *leaves)
{
    int64_t *lanes = nl_zalloc(((size_t)trace->lane.rows + 1) * sizeof *lanes);
    int64_t *names = nl_zalloc((size_t)trace->names.count * sizeof *names);
    bool any = false;
    for (uint32_t i = 0; i < trace->sample.rows; i++)
        if (trace->sample.lane[i] != NL_NULL_ROW)
            nl_sum_add(&lanes[trace->sample.lane[i]], weight_of(trace, i));
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        bool better =
            lanes[lane] > 0 &&
            (!any || nl_lane_says_main(trace, lane) > nl_lane_says_main(trace, leaves->lane) ||
             (nl_lane_says_main(trace, lane) == nl_lane_says_main(trace, leaves->lane) &&
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
        nl_sum_add(&leaves->whole, weight_of(trace, i));
        nl_sum_add(&names[name], weight_of(trace, i));
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

/* In a sentence parameters would hide the name. */
static void tell_function(struct nl_buf *out, const char *before, struct nl_str name)
{
    nl_tell_name(out, before, nl_short_kernel(name));
}

/* Frames on the way out: the call that waits for something, and the program's own function. */
static void put_callers(const struct nl_trace *trace, struct nl_buf *out, uint32_t stack)
{
    uint32_t frame = trace->stack.parent[stack];
    for (int deep = 0, said = 0; frame != NL_NULL_ROW && deep < MAX_DEPTH && said < 3;
         frame = trace->stack.parent[frame], deep++) {
        struct nl_str file = nl_trace_name(trace, trace->stack.file[frame]);
        bool own = !is_library(file.len ? file : nl_trace_name(trace, trace->stack.module[frame]));
        if (said >= 1 && !own)
            continue;
        tell_function(out, said++ ? ", from " : ", called by ",
                      nl_trace_name(trace, trace->stack.name[frame]));
        if (own)
            return;
    }
}

static bool is_waiting(const struct nl_trace *trace, uint32_t stack)
{
    return nl_is_wait_frame(nl_trace_name(trace, trace->stack.name[stack]),
                            nl_trace_name(trace, trace->stack.file[stack]));
}

/* What other threads than that of the leaves work; `names`: per name, or NULL. */
static int64_t work_beside(const struct nl_trace *trace, const struct leaves *leaves,
                           int64_t *names)
{
    int64_t whole = 0;
    for (uint32_t i = 0; i < trace->sample.rows; i++) {
        uint32_t stack = trace->sample.stack[i], lane = trace->sample.lane[i];
        if (lane == NL_NULL_ROW || lane == leaves->lane || stack == NL_NULL_ROW ||
            is_waiting(trace, stack))
            continue;
        if (names)
            nl_sum_add(&names[trace->stack.name[stack]], weight_of(trace, i));
        nl_sum_add(&whole, weight_of(trace, i));
    }
    return whole;
}

/* Where the other threads are while the main thread waits, where that is much. */
static void note_others(struct nl_judged *judged, const struct leaves *leaves)
{
    const struct nl_trace *trace = judged->trace;
    int64_t *names = nl_zalloc((size_t)trace->names.count * sizeof *names);
    int64_t whole = work_beside(trace, leaves, names);
    uint32_t most[OTHERS] = {NL_NO_NAME, NL_NO_NAME};
    names[NL_NO_NAME] = 0; /* of the whole, but no work that has a name */
    for (uint32_t name = 1; name < trace->names.count; name++)
        if (names[name] > names[most[0]]) {
            most[1] = most[0];
            most[0] = name;
        } else if (names[name] > names[most[1]]) {
            most[1] = name;
        }
    struct nl_buf *out = nl_tell_begin(judged);
    if (names[most[0]] && (double)whole >= MIN_OTHERS * (double)leaves->most) {
        for (size_t i = 0; i < OTHERS && names[most[i]]; i++) {
            tell_function(out, i ? ", " : "Meanwhile other threads are in ",
                          nl_trace_name(trace, most[i]));
            nl_tell_ratio(out, " ", names[most[i]], whole);
        }
        nl_buf_char(out, '.');
    }
    nl_tell_note(judged);
    nl_free(names);
}

static bool judge_waiting(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    struct leaves leaves = {0};
    if (!main_leaves(trace, &leaves) ||
        (double)leaves.most < MIN_MAIN_SHARE * (double)leaves.whole ||
        !is_waiting(trace, leaves.stack))
        return false;
    if (!nl_lane_says_main(trace, leaves.lane) &&
        work_beside(trace, &leaves, NULL) > leaves.most / 2)
        return false; /* a helper, as far as one knows */
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_ratio(out, "Waiting: the main thread spends ", leaves.most, leaves.whole);
    tell_function(out, " of its samples in ", nl_trace_name(trace, leaves.name));
    put_callers(trace, out, leaves.stack);
    nl_buf_text(out, ": what it waits for is not in this thread.");
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_IDLE;
    judged->verdict->culprit = nl_keep_name(judged, nl_trace_name(trace, leaves.name));
    note_others(judged, &leaves);
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
    tell_function(out, before, nl_lookup_text(rows, row, column));
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

/* Where every program begins: that all time passes below says nothing. */
static bool is_entry(struct nl_str name)
{
    static const char *const names[] = {"_start", "__libc_start_main", "main", "start_thread",
                                        "clone",  "__clone",           "all"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (nl_str_is(name, names[i]))
            return true;
    return false;
}

/* One that calls another and does nothing else has the same total: of a
 * chain of such, one is enough. */
static bool is_said(const struct nl_result *rows, const size_t *best, size_t told, double with)
{
    for (size_t i = 0; i < told; i++)
        if (fabs(nl_lookup_f64(rows, best[i], "total_share") - with) < 0.01)
            return true;
    return false;
}

/* Rows by what they hold with all they call, the largest `most` of them; of
 * equal ones the first. */
static void keep_largest(const struct nl_result *rows, size_t *best, size_t *told, size_t most,
                         size_t row)
{
    double with = nl_lookup_f64(rows, row, "total_share");
    size_t at = *told < most ? (*told)++ : most;
    for (; at && nl_lookup_f64(rows, best[at - 1], "total_share") < with; at--)
        if (at < most)
            best[at] = best[at - 1];
    if (at < most)
        best[at] = row;
}

/* Functions of the event that hold much together with what they call, the largest first: among
 * those that have most themselves, and in flat profiles among all. */
static void tell_callers(struct nl_judged *judged, const struct nl_result *rows,
                         struct nl_str event, bool flat)
{
    size_t best[CALLERS], told = 0;
    for (size_t row = 0; row < rows->rows && (row < LOOKED_AT || flat); row++) {
        if (!holds_much(rows, row) || !nl_str_eq(nl_lookup_text(rows, row, "event"), event) ||
            is_entry(nl_lookup_text(rows, row, "function")) ||
            (flat && is_said(rows, best, told, nl_lookup_f64(rows, row, "total_share"))))
            continue;
        keep_largest(rows, best, &told, CALLERS, row);
    }
    struct nl_buf *out = nl_tell_begin(judged);
    for (size_t i = 0; i < told; i++)
        put_function(out, i ? ", " : "With what they call: ", rows, best[i], "total_share");
    if (told)
        nl_buf_char(out, '.');
    nl_tell_note(judged);
}

/* Python's import of a module: what it runs is start-up. */
static bool is_import(struct nl_str function)
{
    static const char import[] = "_find_and_load";
    size_t len = sizeof import - 1;
    return nl_str_starts(function, import) && (function.len == len || function.ptr[len] == ' ');
}

/* Its functions call each other, so that none has much by itself. */
static void tell_imports(struct nl_judged *judged, const struct nl_result *rows,
                         struct nl_str event)
{
    double most = 0;
    for (size_t row = 0; row < rows->rows; row++)
        if (nl_str_eq(nl_lookup_text(rows, row, "event"), event) &&
            is_import(nl_lookup_text(rows, row, "function")))
            most = fmax(most, nl_lookup_f64(rows, row, "total_share"));
    if (most < MIN_IMPORT_SHARE || judged->verdict->class != NL_VERDICT_CPU_ONLY)
        return;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_share(out, "Importing modules takes ", most);
    nl_buf_text(out, " of it: start-up, which each process pays once.");
    nl_tell_note(judged);
}

static void put_samples(const struct nl_judged *judged, struct nl_buf *out)
{
    const struct nl_trace *trace = judged->trace;
    bool calls = trace->source.rows == 1 &&
                 nl_str_is(nl_trace_name(trace, trace->source.format[0]), "pstats");
    if (nl_unseen_launched(judged, out))
        nl_buf_text(out, "The CPU alone: ");
    else
        nl_unseen_put_head(judged, out);
    nl_buf_text(out, calls ? "time of functions: " : "samples: ");
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
    if (memory) {
        judged->verdict->class = NL_VERDICT_MEMORY_SNAPSHOT;
        nl_buf_format(
            out, "Heap profile, %s by where they were allocated: ", bytes ? "bytes" : "objects");
    } else if (nl_is_lock_event(event)) {
        judged->verdict->class = NL_VERDICT_IDLE;
        nl_buf_text(out, "Contention profile, waiting for locks by where: ");
    } else {
        put_samples(judged, out);
    }
}

/* The event to speak of: of memory the bytes, not the objects; else that of the
 * first function with a name. */
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

/* "86 % idle; ", "58 % in code without names in [kernel.kallsyms]; ": what has no
 * function, where it is much. */
static void put_nameless(struct nl_buf *out, const struct nl_result *rows, struct nl_str event)
{
    for (size_t row = 0; row < rows->rows && row < 8; row++) {
        struct nl_str name = nl_lookup_text(rows, row, "function");
        struct nl_str place = nl_lookup_text(rows, row, "place");
        double share = nl_lookup_f64(rows, row, "share");
        if (!nl_str_eq(nl_lookup_text(rows, row, "event"), event) || !says_nothing(name) ||
            !(share >= MIN_NAMELESS_SHARE))
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

/* Does it run for a device or a timer? Such work stands on whatever the CPU did, or on nothing. */
static bool in_interrupt(const struct nl_trace *trace, uint32_t stack)
{
    static const char *const entries[] = {
        "do_IRQ",      "common_interrupt",     "asm_common_interrupt",
        "asm_sysvec_", "apic_timer_interrupt", "irq_exit",
        "__irq_exit",  "__do_softirq",         "__softirqentry_text_start",
        "el1_irq",     "el1h_64_irq"};
    for (; stack != NL_NULL_ROW; stack = trace->stack.parent[stack]) {
        struct nl_str name = nl_trace_name(trace, trace->stack.name[stack]);
        for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
            if (nl_str_starts(name, entries[i]))
                return true;
    }
    return false;
}

/* Of an event: the share of samples in which perf found a CPU without work; its kernel
 * calls that process swapper, in which interrupts run, too. */
static double share_of_swapper(const struct nl_judged *judged, struct nl_str event)
{
    const struct nl_trace *trace = judged->trace;
    const struct nl_sample_table *sample = &trace->sample;
    int64_t whole = 0, idle = 0;
    if (nl_judged_in_window(judged))
        return 0;
    for (uint32_t row = 0; row < sample->rows; row++) {
        uint32_t lane = sample->lane[row];
        uint32_t thread = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.thread[lane];
        int64_t weight = weight_of(trace, row);
        if (weight <= 0 || !nl_str_eq(nl_trace_name(trace, sample->event[row]), event))
            continue;
        nl_sum_add(&whole, weight);
        if (thread != NL_NULL_ROW &&
            nl_str_is(nl_trace_name(trace, trace->thread.name[thread]), "swapper") &&
            !in_interrupt(trace, sample->stack[row]))
            nl_sum_add(&idle, weight);
    }
    return whole > 0 ? (double)idle / (double)whole : 0;
}

/* Scalene divides the time of a line among Python, native code and the system;
 * the line is what is slow. */
static bool is_part_of_line(struct nl_str name)
{
    return nl_str_is(name, "[native]") || nl_str_is(name, "[system]");
}

static bool is_scalene(const struct nl_trace *trace)
{
    return trace->source.rows == 1 &&
           nl_str_is(nl_trace_name(trace, trace->source.format[0]), "scalene");
}

static void judge_lines(struct nl_judged *judged, const struct nl_result *rows)
{
    size_t best[LINES], told = 0;
    double native = 0, system = 0;
    for (size_t row = 0; row < rows->rows; row++) {
        struct nl_str name = nl_lookup_text(rows, row, "function");
        native += nl_str_is(name, "[native]") ? nl_lookup_f64(rows, row, "share") : 0;
        system += nl_str_is(name, "[system]") ? nl_lookup_f64(rows, row, "share") : 0;
        if (is_part_of_line(name) || !nl_str_contains(name, ":"))
            continue;
        keep_largest(rows, best, &told, LINES, row);
    }
    struct nl_buf *out = nl_tell_begin(judged);
    nl_buf_text(out, "CPU-only profile, samples by line: ");
    for (size_t i = 0; i < told; i++) {
        nl_tell_name(out, i ? ", " : "most in ", nl_lookup_text(rows, best[i], "function"));
        nl_tell_share(out, " ", nl_lookup_f64(rows, best[i], "total_share"));
    }
    nl_buf_text(out, told ? "." : "no line has a name.");
    nl_tell_end(judged, &judged->verdict->sentence);
    if (told)
        judged->verdict->culprit = nl_keep_name(judged, nl_lookup_text(rows, best[0], "function"));
    out = nl_tell_begin(judged);
    nl_tell_share(out, "Of all of it ", native);
    nl_tell_share(out, " pass in native code (libraries in C), ", system);
    nl_buf_text(out, " in the system or waiting, the rest in Python.");
    nl_tell_note(judged);
}

static bool is_wait_row(const struct nl_result *rows, size_t row)
{
    return !nl_is_on_cpu(nl_lookup_text(rows, row, "event")) &&
           nl_is_wait_frame(nl_lookup_text(rows, row, "function"),
                            nl_lookup_text(rows, row, "place"));
}

/* "50 % waiting (mostly wait); ": functions that only wait are no work. */
static bool put_waiting(struct nl_buf *out, const struct nl_result *rows, struct nl_str event)
{
    size_t first = rows->rows;
    double share = 0;
    for (size_t row = 0; row < rows->rows; row++) {
        if (!nl_str_eq(nl_lookup_text(rows, row, "event"), event) || !is_wait_row(rows, row))
            continue;
        share += nl_lookup_f64(rows, row, "share");
        first = first == rows->rows ? row : first;
    }
    if (!(share >= MIN_SHARE) || share > NEARLY_ALL)
        return false;
    nl_tell_share(out, "", share);
    tell_function(out, " waiting (mostly ", nl_lookup_text(rows, first, "function"));
    nl_buf_text(out, "); ");
    return true;
}

/* "most in f in a.so 12 %, …". Returns how many were said. */
static size_t put_most(struct nl_judged *judged, struct nl_buf *out, const struct nl_result *rows,
                       struct nl_str event, bool waits_apart, bool *flat)
{
    size_t said = 0;
    for (size_t row = 0; row < rows->rows && said < 3; row++) {
        double share = nl_lookup_f64(rows, row, "share");
        bool other = !nl_str_eq(nl_lookup_text(rows, row, "event"), event);
        if (other || says_nothing(nl_lookup_text(rows, row, "function")) ||
            (waits_apart && is_wait_row(rows, row)) || (said && share < MIN_SHARE))
            continue;
        if (!said) {
            judged->verdict->culprit = nl_keep_name(judged, nl_lookup_text(rows, row, "function"));
            *flat = share < FLAT_SHARE;
        }
        put_function(out,
                     said    ? ", "
                     : *flat ? "no function stands out, the longest are "
                             : "most in ",
                     rows, row, "share");
        said++;
    }
    return said;
}

static bool is_address(struct nl_str name)
{
    if (name.len < 3 || name.ptr[0] != '0' || name.ptr[1] != 'x')
        return false;
    for (size_t i = 2; i < name.len; i++)
        if (!nl_is_hex(name.ptr[i]))
            return false;
    return true;
}

/* Of a stripped program the places are known, and none of their names. */
static void tell_addresses(struct nl_judged *judged, const struct nl_result *rows,
                           struct nl_str event)
{
    double bare = 0;
    for (size_t row = 0; row < rows->rows; row++)
        if (nl_str_eq(nl_lookup_text(rows, row, "event"), event) &&
            is_address(nl_lookup_text(rows, row, "function")))
            bare += nl_lookup_f64(rows, row, "share");
    if (bare < MIN_NAMELESS_SHARE)
        return;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_share(out, "Names are missing: ", bare);
    nl_buf_text(out,
                " of it is in bare addresses. Profile a program with symbols (not stripped), or "
                "let the profiler put the names in where the program lies.");
    nl_tell_note(judged);
}

bool nl_judge_samples(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "cpu_samples");
    if (!rows)
        return false;
    if (judge_waiting(judged))
        return true;
    struct nl_buf *out;
    bool flat = false;
    judged->verdict->class = NL_VERDICT_CPU_ONLY;
    if (is_scalene(judged->trace)) {
        judge_lines(judged, rows);
        return true;
    }
    out = nl_tell_begin(judged);
    struct nl_str event = told_event(rows);
    put_kind(judged, out, rows, event);
    double idle = share_of_swapper(judged, event);
    if (idle >= MIN_NAMELESS_SHARE) {
        nl_tell_share(out, "the CPUs are idle in ", idle);
        nl_buf_text(out, " of them (process swapper); ");
    } else {
        put_nameless(out, rows, event);
    }
    bool apart = judged->verdict->class == NL_VERDICT_CPU_ONLY && put_waiting(out, rows, event);
    size_t said = put_most(judged, out, rows, event, apart, &flat);
    nl_buf_text(out, said ? "." : "no frame has a name.");
    nl_tell_end(judged, &judged->verdict->sentence);
    tell_imports(judged, rows, event);
    tell_callers(judged, rows, event, flat);
    tell_addresses(judged, rows, event);
    return true;
}

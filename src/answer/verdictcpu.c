/*
 * verdictcpu — the answer for timelines without device work: what takes the time of the CPU,
 * whether the main thread waits instead, whether start-up or one slow step dominates.
 */
#include "answer/clockgap.h"
#include "answer/devicewords.h"
#include "answer/otherswork.h"
#include "answer/outermost.h"
#include "answer/unseenwork.h"
#include "base/sum.h"
#include "tables/leftout.h"
#include "tables/lookup.h"
#include "tables/memo.h"
#include "tables/scope.h"
#include "timeline/nowork.h"
#include "timeline/waitname.h"

#define MIN_MAIN_SHARE  0.5
#define STARTUP_SHARE   0.2  /* steps that cover less of the profile: start-up dominates */
#define MIN_NAMED_SHARE 0.2  /* of all samples in functions with a name */
#define OUTLIER_MEDIANS 2.0  /* times the median */
#define MIN_INSIDE      0.3  /* of the time, with what is called: worth a look */
#define ALL_OF_IT       0.97 /* the whole program: says nothing */

struct cpu_case {
    struct nl_judged *judged;
    const struct nl_result *rows; /* the table that says most, by self time */
    const char *what;             /* what its rows are */
    int64_t whole;                /* self time of its rows that have a share: what these are of */
    int64_t span;
};

/* Whether a row has a share: states and waits have none, as no thread works in them
 * (timeline/nowork.h). Rows of functions of which calls were left out are judged by their name. */
static bool has_share(const struct cpu_case *it, const struct nl_result *rows, size_t row)
{
    const struct nl_trace *trace = it->judged->trace;
    if (!nl_lookup_text(rows, row, "bound").len)
        return nl_lookup_f64(rows, row, "share") >= 0;
    uint32_t name = nl_dict_find(&trace->names, nl_lookup_text(rows, row, "name"));
    return name >= trace->names.count || !nl_memo_no_work(it->judged->options->memo)[name];
}

/* The thread waits there, as the scheduler's switches show. */
static bool is_off(const struct cpu_case *it, const struct nl_result *rows, size_t row)
{
    uint32_t name = nl_dict_find(&it->judged->trace->names, nl_lookup_text(rows, row, "name"));
    return name < it->judged->trace->names.count &&
           nl_memo_no_work(it->judged->options->memo)[name] == NL_OFF_CPU;
}

/* Nor is the profiler's overhead, though it has a share. */
static bool is_work(const struct cpu_case *it, const struct nl_result *rows, size_t row)
{
    return has_share(it, rows, row) && !nl_str_is(nl_lookup_text(rows, row, "kind"), "overhead");
}

/* Whether some of the table has no share. */
static bool leaves_out(const struct cpu_case *it)
{
    return nl_lookup_sum(it->rows, "self_ns") > it->whole;
}

static const struct {
    const char *part, *what;
} tables[] = {{"ops", "operators"},
              {"python", "Python functions"},
              {"layers", "layers"},
              {"nvtx", "ranges"},
              {"others", "slices"}};

typedef bool cpu_filter(const struct cpu_case *it, const struct nl_result *rows, size_t row);

/* Of the rows that pass, that with the nth most self time, counted from 0; of equal ones the first
 * in the table comes first. The number of rows where there are not so many. */
static size_t nth_row(const struct cpu_case *it, const struct nl_result *rows, size_t nth,
                      cpu_filter *passes)
{
    size_t best = rows->rows, before = rows->rows;
    for (size_t found = 0; found <= nth; found++) {
        int64_t most = -1, last = found ? nl_lookup_i64(rows, before, "self_ns") : INT64_MAX;
        best = rows->rows;
        for (size_t row = 0; row < rows->rows; row++) {
            int64_t self = nl_lookup_i64(rows, row, "self_ns");
            bool left = !found || self < last || (self == last && row > before);
            if (self > most && left && passes(it, rows, row)) {
                most = self;
                best = row;
            }
        }
        if (best == rows->rows)
            return best;
        before = best;
    }
    return best;
}

static size_t nth_work_row(const struct cpu_case *it, const struct nl_result *rows, size_t nth)
{
    return nth_row(it, rows, nth, is_work);
}

static int64_t shared_time(const struct cpu_case *it, const struct nl_result *rows)
{
    int64_t sum = 0;
    for (size_t row = 0; row < rows->rows; row++)
        if (has_share(it, rows, row))
            nl_sum_add(&sum, nl_lookup_i64(rows, row, "self_ns"));
    return sum;
}

/* The table of the most specific kind that covers a tenth of the largest table's time. */
static bool find_table(struct cpu_case *it)
{
    int64_t most = 0;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const struct nl_result *rows = nl_judged_part(it->judged, tables[i].part);
        int64_t sum = rows ? nl_lookup_sum(rows, "self_ns") : 0;
        most = sum > most ? sum : most;
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const struct nl_result *rows = nl_judged_part(it->judged, tables[i].part);
        int64_t sum = rows ? nl_lookup_sum(rows, "self_ns") : 0;
        if (sum <= 0 || sum < most / 10 || nth_work_row(it, rows, 0) == rows->rows)
            continue;
        it->rows = rows;
        it->what = tables[i].what;
        it->whole = shared_time(it, rows);
        return true;
    }
    return false;
}

static void put_row(struct cpu_case *it, struct nl_buf *out, const char *before, size_t row)
{
    int64_t self = nl_lookup_i64(it->rows, row, "self_ns");
    int64_t calls = nl_lookup_i64(it->rows, row, "count");
    struct nl_str bound = nl_lookup_text(it->rows, row, "bound");
    bool first = nl_str_is(bound, nl_left_text(NL_LEFT_FIRST));
    nl_tell_name(out, before, nl_lookup_text(it->rows, row, "name"));
    if (bound.len && !first)
        nl_buf_format(out, " %.*s", (int)bound.len, bound.ptr);
    nl_tell_time(out, " ", self);
    if (first) {
        nl_tell_number(out, " in its first ", calls, "call", "calls");
    } else if (bound.len) {
        nl_tell_number(out, nl_str_is(bound, nl_left_text(NL_LEFT_LEAST)) ? " (at least " : " (",
                       calls, "call)", "calls)");
    } else {
        nl_tell_ratio(out, " (", self, it->whole);
        nl_tell_number(out, ", ", calls, "call)", "calls)");
    }
}

static void put_head(struct cpu_case *it, struct nl_buf *out)
{
    const struct nl_result *threads = nl_judged_part(it->judged, "threads");
    if (nl_unseen_launched(it->judged, out))
        nl_buf_text(out, "The CPU alone: ");
    else if (nl_has_device_work(it->judged->trace) && nl_judged_in_window(it->judged))
        nl_buf_text(out, "No device work in this window, ");
    else
        nl_unseen_put_head(it->judged, out);
    nl_tell_time(out, "", it->span);
    if (threads)
        nl_tell_number(out, " on ", (int64_t)threads->rows, "thread", "threads");
}

/* "Conv 85 %, Gemm 9 %" of compiled models. */
static bool put_node_types(struct cpu_case *it, struct nl_buf *out)
{
    const struct nl_result *types = nl_judged_part(it->judged, "node_types");
    int64_t whole = types ? nl_lookup_sum(types, "total_ns") : 0;
    if (whole <= 0 || strcmp(it->what, "operators") != 0)
        return false;
    for (size_t row = 0; row < types->rows && row < 3; row++) {
        nl_tell_name(out,
                     row ? ", " : "; by kind of operator: ", nl_lookup_text(types, row, "type"));
        nl_tell_ratio(out, " ", nl_lookup_i64(types, row, "total_ns"), whole);
    }
    nl_tell_time(out, " of ", whole);
    size_t top = nth_work_row(it, it->rows, 0);
    if (top < it->rows->rows) {
        nl_tell_name(out, "; the longest operator is ", nl_lookup_text(it->rows, top, "name"));
        nl_tell_ratio(out, " ", nl_lookup_i64(it->rows, top, "self_ns"), whole);
        nl_tell_number(out, " in ", nl_lookup_i64(it->rows, top, "count"), "call", "calls");
    }
    it->judged->verdict->culprit = nl_keep_name(it->judged, nl_lookup_text(types, 0, "type"));
    return true;
}

/* Who waits for a lock or a thread waits for what the others do; where that is waiting, too, for
 * half as long or more: in which call. */
static void put_helpers(const struct cpu_case *it, struct nl_buf *out, size_t top)
{
    int64_t most = nl_lookup_i64(it->rows, top, "self_ns") / 2;
    size_t best = it->rows->rows;
    for (size_t row = 0; row < it->rows->rows; row++) {
        struct nl_str name = nl_lookup_text(it->rows, row, "name");
        int64_t self = nl_lookup_i64(it->rows, row, "self_ns");
        if (self > most && !has_share(it, it->rows, row) && nl_is_wait_name(name) &&
            !nl_is_lock_name(name)) {
            most = self;
            best = row;
        }
    }
    if (best == it->rows->rows || !nl_is_lock_name(nl_lookup_text(it->rows, top, "name")))
        return;
    nl_tell_name(out, ", while helper threads are in ", nl_lookup_text(it->rows, best, "name"));
    nl_tell_time(out, " for ", most);
    nl_tell_number(out, " (", nl_lookup_i64(it->rows, best, "count"), "call)", "calls)");
}

static bool judge_waiting(struct cpu_case *it)
{
    size_t top = nth_work_row(it, it->rows, 0);
    struct nl_str name = nl_lookup_text(it->rows, top, "name");
    int64_t self = nl_lookup_i64(it->rows, top, "self_ns");
    if (nl_lookup_text(it->rows, top, "bound").len || !nl_is_wait_name(name) ||
        (double)self < MIN_MAIN_SHARE * (double)it->whole)
        return false;
    bool several = self > it->span; /* threads: of all they take */
    int64_t whole = several ? it->whole : it->span;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_unseen_launched(it->judged, out);
    uint32_t id = nl_dict_find(&it->judged->trace->names, name);
    int64_t busy = nl_others_work(it->judged->trace, &it->judged->options->window, id);
    bool others = busy > self / 2;
    nl_tell_time(out,
                 several  ? "Waiting: threads do nothing for "
                 : others ? "Waiting: one thread does nothing for "
                          : "Waiting: the program does nothing for ",
                 self);
    nl_tell_time(out, several ? " of all threads' " : " of ", whole);
    nl_tell_ratio(out, " (", self, whole);
    nl_tell_name(out, "), in ", name);
    nl_tell_number(out, " (", nl_lookup_i64(it->rows, top, "count"), "call)", "calls)");
    if (others) {
        nl_tell_time(out, ", while others work for ", busy);
        nl_buf_text(out, " of that");
    } else {
        put_helpers(it, out, top);
    }
    size_t next = nth_work_row(it, it->rows, 1);
    if (next < it->rows->rows)
        put_row(it, out, others ? ", most in " : "; of the rest most in ", next);
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    it->judged->verdict->class = others ? NL_VERDICT_CPU_ONLY : NL_VERDICT_IDLE;
    if (others && next < it->rows->rows)
        name = nl_lookup_text(it->rows, next, "name");
    it->judged->verdict->culprit = nl_keep_name(it->judged, name);
    return true;
}

/* Collectives and messages between processes, as the backends of torch.distributed name them. */
static bool is_message(struct nl_str name)
{
    static const char *const starts[] = {"gloo:", "nccl:", "mpi:", "ucc:", "c10d::", "MPI_"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(name, starts[i]))
            return true;
    return false;
}

static bool judge_messages(struct cpu_case *it)
{
    int64_t sum = 0;
    for (size_t row = 0; row < it->rows->rows; row++)
        if (is_message(nl_lookup_text(it->rows, row, "name")))
            nl_sum_add(&sum, nl_lookup_i64(it->rows, row, "self_ns"));
    if (sum <= 0 || (double)sum < MIN_MAIN_SHARE * (double)it->whole)
        return false;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_unseen_launched(it->judged, out);
    nl_tell_time(out, "Communication: the program spends ", sum);
    nl_tell_time(out, " of ", it->whole);
    nl_tell_ratio(out, " (", sum, it->whole);
    nl_buf_text(out, ") in messages to other processes: ");
    for (size_t nth = 0, said = 0; nth < 8 && said < 2; nth++) {
        size_t row = nth_work_row(it, it->rows, nth);
        if (row == it->rows->rows)
            break;
        if (!is_message(nl_lookup_text(it->rows, row, "name")))
            continue;
        if (!said)
            it->judged->verdict->culprit =
                nl_keep_name(it->judged, nl_lookup_text(it->rows, row, "name"));
        put_row(it, out, said++ ? ", " : "", row);
    }
    nl_buf_text(out, "; how much of it is waiting for them is not in the file.");
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    it->judged->verdict->class = NL_VERDICT_COMMUNICATION;
    return true;
}

/* Steps that are marked and take little of the profile: what was before them. */
static bool judge_startup(struct cpu_case *it)
{
    const struct nl_result *steps = nl_judged_part(it->judged, "steps");
    const struct nl_result *ranges = nl_judged_part(it->judged, "nvtx");
    int64_t sum = steps ? nl_lookup_sum(steps, "dur_ns") : 0;
    int64_t first = steps ? nl_lookup_i64(steps, 0, "start_ns") : 0;
    if (it->judged->options->window.has_time)
        return false; /* a window has no start-up; starts of steps are those of the profile */
    if (!steps || sum <= 0 || (double)sum > STARTUP_SHARE * (double)it->span ||
        (double)first < MIN_MAIN_SHARE * (double)it->span)
        return false;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_unseen_launched(it->judged, out);
    nl_tell_time(out, "Start-up: the first step begins after ", first);
    nl_tell_time(out, " of ", it->span);
    nl_tell_ratio(out, " (", first, it->span);
    nl_buf_text(out, "), spent on loading and initialisation");
    for (size_t row = 0, said = 0; ranges && row < ranges->rows && said < 2; row++) {
        if (nl_lookup_i64(ranges, row, "self_ns") < it->span / 20 ||
            nl_lookup_i64(ranges, row, "count") > 2)
            continue;
        nl_tell_name(out, said++ ? ", " : ": ", nl_lookup_text(ranges, row, "name"));
        nl_tell_time(out, " ", nl_lookup_i64(ranges, row, "self_ns"));
    }
    nl_tell_number(out, "; ", (int64_t)steps->rows, "step takes", "steps take");
    nl_tell_time(out, " ", sum);
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    it->judged->verdict->class = NL_VERDICT_STARTUP;
    it->judged->verdict->phase = "startup";
    it->judged->verdict->culprit = "loading and initialisation";
    return true;
}

/* The median leaves these out. */
static bool is_warm_up(const struct nl_result *steps, size_t row)
{
    struct nl_str phase = nl_lookup_text(steps, row, "phase");
    return nl_str_is(phase, "warm-up") || nl_str_is(phase, "compile");
}

/* One or a few steps far over the median: what the mean hides. */
static void tell_outliers(struct cpu_case *it)
{
    const struct nl_result *steps = nl_judged_part(it->judged, "steps");
    const struct nl_result *summary = nl_judged_part(it->judged, "step_summary");
    double median = summary ? nl_lookup_f64(summary, 0, "p50_ns") : 0;
    size_t slow[2] = {0}, slowest[2] = {0}; /* of the others, of warm-up */
    for (size_t row = 0; steps && median > 0 && row < steps->rows; row++) {
        int64_t ns = nl_lookup_i64(steps, row, "dur_ns");
        bool warm = is_warm_up(steps, row);
        if ((double)ns > OUTLIER_MEDIANS * median &&
            (!slow[warm]++ || ns > nl_lookup_i64(steps, slowest[warm], "dur_ns")))
            slowest[warm] = row;
    }
    if (!slow[0] && !slow[1])
        return;
    struct nl_buf *out = nl_tell_begin(it->judged);
    bool excludes = nl_lookup_i64(summary, 0, "excluded_steps") > 0;
    size_t top = slowest[!slow[0]];
    if (slow[0]) {
        nl_tell_number(out, "Outliers: ", (int64_t)slow[0], "step takes", "steps take");
        nl_tell_time(out,
                     excludes ? " more than twice the median after warm-up, "
                              : " more than twice the median of ",
                     nl_sum_near(median));
    }
    nl_buf_format(out, slow[0] ? "; the slowest, step %lld," : "Warm-up: step %lld",
                  (long long)nl_lookup_i64(steps, top, "index"));
    nl_tell_time(out, " takes ", nl_lookup_i64(steps, top, "dur_ns"));
    if (!slow[0])
        nl_tell_time(out, ", the median after it is ", nl_sum_near(median));
    nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

/* Rows of functions that may hold most of the time with what they call, and how much of
 * it: recursion counts once. */
static size_t find_holders(const struct cpu_case *it, size_t *rows, int64_t *totals)
{
    const struct nl_trace *trace = it->judged->trace;
    uint32_t names[NL_OUTERMOST_NAMES];
    size_t count = 0;
    for (size_t row = 0; row < it->rows->rows && count < NL_OUTERMOST_NAMES; row++) {
        uint32_t name = nl_dict_find(&trace->names, nl_lookup_text(it->rows, row, "name"));
        if (!is_work(it, it->rows, row) || name >= trace->names.count ||
            (double)nl_lookup_i64(it->rows, row, "total_ns") < MIN_INSIDE * (double)it->whole)
            continue;
        rows[count] = row;
        names[count++] = name;
    }
    if (count)
        nl_outermost_sums(trace, &it->judged->options->window, names, count, totals);
    return count;
}

/* Functions that hold most of the time together with what they call: where to look first. */
static void tell_inclusive(struct cpu_case *it)
{
    size_t rows[NL_OUTERMOST_NAMES], said = 0;
    int64_t totals[NL_OUTERMOST_NAMES];
    size_t count = find_holders(it, rows, totals);
    struct nl_buf *out = nl_tell_begin(it->judged);
    for (size_t i = 0; i < count; i++)
        if ((double)totals[i] < MIN_INSIDE * (double)it->whole ||
            (double)totals[i] > ALL_OF_IT * (double)it->whole ||
            nl_lookup_i64(it->rows, rows[i], "self_ns") > totals[i] / 2)
            totals[i] = -1; /* not to be reported */
    for (; said < 3; said++) {
        size_t most = 0;
        for (size_t i = 1; i < count; i++)
            most = totals[i] > totals[most] ? i : most;
        if (!count || totals[most] < 0)
            break;
        nl_tell_name(out, said ? ", " : "With what they call: ",
                     nl_lookup_text(it->rows, rows[most], "name"));
        nl_tell_ratio(out, " ", totals[most], it->whole);
        totals[most] = -1;
    }
    if (said)
        nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

static bool is_unended(const struct nl_trace *trace, uint32_t row, uint32_t name)
{
    return row != NL_NULL_ROW && trace->slice.flags[row] & NL_SLICE_CLAMPED &&
           trace->slice.name[row] == name;
}

/* Self time of the calls of that name of which no end was recorded. */
static int64_t unended_time(const struct cpu_case *it, uint32_t name, int64_t *calls)
{
    const struct nl_trace *trace = it->judged->trace;
    struct nl_scope scope;
    int64_t sum = 0, start, end;
    *calls = 0;
    nl_scope_init(&scope, trace, &it->judged->options->window);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        bool own = is_unended(trace, row, name);
        bool inside = is_unended(trace, trace->slice.parent[row], name);
        if ((!own && !inside) || !nl_scope_slice(&scope, row, &start, &end))
            continue;
        *calls += own;
        nl_sum_add(&sum, (own ? end - start : 0) - (inside ? end - start : 0));
    }
    nl_scope_release(&scope);
    return sum;
}

static bool has_unended(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        if (trace->slice.flags[row] & NL_SLICE_CLAMPED)
            return true;
    return false;
}

/* A call of which no end was recorded counts up to the last moment: it may have ended before. */
static void tell_unended(const struct cpu_case *it)
{
    if (!has_unended(it->judged->trace))
        return;
    struct nl_buf *out = nl_tell_begin(it->judged);
    size_t said = 0;
    for (size_t nth = 0; nth < 3; nth++) {
        size_t row = nth_work_row(it, it->rows, nth);
        if (row == it->rows->rows)
            break;
        struct nl_str name = nl_lookup_text(it->rows, row, "name");
        int64_t calls, self = nl_lookup_i64(it->rows, row, "self_ns");
        int64_t ns = unended_time(it, nl_dict_find(&it->judged->trace->names, name), &calls);
        if (ns <= self / 2)
            continue;
        nl_tell_time(out,
                     said++ ? ", " : "Counted up to the last moment, as no end was recorded: ", ns);
        nl_tell_name(out, " of ", name);
        nl_tell_number(out, " (", calls, "call)", "calls)");
    }
    if (said)
        nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

/* Slices longer than those of work in which threads wait, by the scheduler: the program may wait
 * there, and what calls them holds that time. */
static bool tell_off(const struct cpu_case *it)
{
    size_t top = nth_row(it, it->rows, 0, is_off), next = nth_row(it, it->rows, 1, is_off);
    if (top == it->rows->rows ||
        nl_lookup_i64(it->rows, top, "self_ns") <
            nl_lookup_i64(it->rows, nth_work_row(it, it->rows, 0), "self_ns"))
        return false;
    struct nl_buf *out = nl_tell_begin(it->judged);
    for (size_t row = top; row < it->rows->rows; row = row == top ? next : it->rows->rows) {
        nl_tell_name(out,
                     row == top ? "Waiting off the processors, as the scheduler's switches show: "
                                : ", ",
                     nl_lookup_text(it->rows, row, "name"));
        nl_tell_time(out, " ", nl_lookup_i64(it->rows, row, "self_ns"));
        nl_tell_number(out, " (", nl_lookup_i64(it->rows, row, "count"), "call)", "calls)");
    }
    nl_buf_char(out, '.');
    nl_tell_note(it->judged);
    return true;
}

/* Also with what functions call, unless runs of a model say all. */
static void tell_busy(struct cpu_case *it)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    put_head(it, out);
    if (nl_judge_runs(it->judged, out, it->span))
        return;
    size_t top = nth_work_row(it, it->rows, 0);
    it->judged->verdict->culprit = nl_keep_name(it->judged, nl_lookup_text(it->rows, top, "name"));
    if (!put_node_types(it, out)) {
        nl_buf_format(out, "; of the self time of %s%s: ", it->what,
                      leaves_out(it) ? " in which a thread works" : "");
        for (size_t nth = 0; nth < 3; nth++) {
            size_t row = nth_work_row(it, it->rows, nth);
            if (row < it->rows->rows)
                put_row(it, out, nth ? ", " : "", row);
        }
    }
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    it->judged->verdict->class = NL_VERDICT_CPU_ONLY;
    tell_unended(it);
    if (!tell_off(it))
        tell_inclusive(it);
}

/* Samples without slices of the program's own, unless nearly all of them are of a
 * thread that does nothing. */
static bool samples_say_more(const struct cpu_case *it)
{
    const struct nl_result *samples = nl_judged_part(it->judged, "cpu_samples");
    const struct nl_trace *trace = it->judged->trace;
    double told = 0;
    for (size_t row = 0; samples && row < samples->rows; row++) {
        struct nl_str name = nl_lookup_text(samples, row, "function");
        double share = nl_lookup_f64(samples, row, "share");
        if (share == share && name.len && name.ptr[0] != '(')
            told += share;
    }
    return samples && !trace->op.rows && !trace->python.rows && told > MIN_NAMED_SHARE;
}

/* What is reported of a timeline whose table is known. */
static bool judge_timeline(struct cpu_case *it)
{
    if (nl_judge_few(it->judged))
        return true;
    if (samples_say_more(it))
        return false;
    if (judge_messages(it) || judge_waiting(it) || judge_startup(it))
        return true;
    tell_busy(it);
    tell_outliers(it);
    return true;
}

/* Of the window, or of all; of one clock's events alone where there are two. */
static struct nl_clock_gap find_span(struct cpu_case *it)
{
    const struct nl_trace *trace = it->judged->trace;
    const struct nl_window *window = &it->judged->options->window;
    if (window->has_time) {
        int64_t start = window->start > trace->first_ts ? window->start : trace->first_ts;
        int64_t end = window->end < trace->last_ts ? window->end : trace->last_ts;
        it->span = end > start ? end - start : 0;
        return (struct nl_clock_gap){0};
    }
    struct nl_clock_gap gap = nl_clock_gap_of(trace);
    it->span = gap.gap_ns ? gap.span_ns : trace->last_ts - trace->first_ts;
    return gap;
}

bool nl_judge_cpu(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    struct cpu_case it = {.judged = judged};
    struct nl_clock_gap gap = find_span(&it);
    bool timeline = trace->op.rows || trace->python.rows || trace->nvtx.rows || trace->layer.rows;
    for (uint32_t i = 0; i < trace->slice.rows && !timeline; i++)
        timeline = trace->slice.kind[i] == NL_KIND_GENERIC;
    if (!timeline || nl_judged_part(judged, "breakdown"))
        return false;
    bool judged_it = find_table(&it) && judge_timeline(&it);
    if (judged_it && gap.gap_ns)
        nl_clock_gap_tell(judged, &gap);
    return judged_it;
}

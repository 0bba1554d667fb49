/*
 * cpu_samples — where CPU samples were taken: per function what it weighs itself, and with all it
 * called.
 *
 * Stacks are a prefix tree whose parents come before their children, so one pass from the end sums
 * everything below each node. A function counts once per stack: nodes below another one of the same
 * function add nothing to its total. Profiles that hold sums per function instead of stacks say the
 * totals themselves (table calls). Weights of different events or units are never added.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/map.h"
#include "base/sum.h"
#include "timeline/waitname.h"

#define MAX_KINDS 64

#define COLUMNS(C)                                                                                 \
    C(function, NULL, TEXT)                                                                        \
    C(place, "in", TEXT)                                                                           \
    C(samples, NULL, COUNT)                                                                        \
    C(share, NULL, SHARE)                                                                          \
    C(total_share, "with callees", SHARE)                                                          \
    C(self_weight, "self", WEIGHT)                                                                 \
    C(total_weight, "total", WEIGHT)                                                               \
    C(unit, NULL, UNIT)                                                                            \
    C(event, NULL, TEXT)
NL_COLUMNS(COLUMNS);

struct function {
    uint32_t name, place; /* module, or file; 0 = unknown */
    uint64_t samples;
    int64_t self, total;
};

/* What may be added: samples of one event in one unit. */
struct kind {
    uint32_t event, unit;
    bool weighed; /* some sample has a weight */
};

struct work {
    const struct nl_trace *trace;
    struct nl_scope scope;
    struct nl_result *result;
    struct kind kinds[MAX_KINDS];
    size_t kind_count;
    uint64_t left_out;
    struct function *functions;
    size_t function_count, function_cap;
    struct nl_lookup by_place;
    uint32_t *function_of;        /* per stack node */
    uint8_t *below_same;          /* per node: inside another call of the same function */
    int64_t *self, *below, *said; /* per node; said: total as table calls has it */
    uint32_t *count;              /* per node: samples */
};

/* ---- functions ---- */

static uint32_t function_at(struct work *work, uint32_t name, uint32_t place)
{
    const uint64_t hash = nl_hash_number((uint64_t)name << 32 | place);
    uint32_t row = NL_LOOKUP(&work->by_place, hash, i,
                             work->functions[i].name == name && work->functions[i].place == place);
    if (row != NL_NO_ROW)
        return row;
    nl_grow(&work->functions, &work->function_cap, work->function_count + 1);
    work->functions[work->function_count] = (struct function){.name = name, .place = place};
    nl_lookup_add(&work->by_place, hash, (uint32_t)work->function_count);
    return (uint32_t)work->function_count++;
}

/* Marks the nodes that have their own function above them: a walk over the
 * tree, without recursion. */
static void mark_recursion(struct work *work)
{
    const struct nl_stack_table *stack = &work->trace->stack;
    size_t rows = stack->rows;
    uint32_t *first = nl_alloc((rows + 1) * 2 * sizeof *first), *next = first + rows + 1;
    uint32_t *open = nl_zalloc((work->function_count + 1) * sizeof *open);
    memset(first, 0xff, (rows + 1) * 2 * sizeof *first);
    for (size_t i = rows; i-- > 0;) {
        size_t parent = stack->parent[i] == NL_NULL_ROW ? rows : stack->parent[i];
        next[i] = first[parent];
        first[parent] = (uint32_t)i;
    }
    uint32_t node = first[rows];
    while (node != NL_NULL_ROW) {
        uint32_t *within = &open[work->function_of[node]];
        work->below_same[node] = *within > 0;
        ++*within;
        if (first[node] != NL_NULL_ROW) {
            node = first[node];
            continue;
        }
        while (node != NL_NULL_ROW) { /* back up to where there is a next one */
            open[work->function_of[node]]--;
            if (next[node] != NL_NULL_ROW)
                break;
            node = stack->parent[node];
        }
        node = node == NL_NULL_ROW ? node : next[node];
    }
    nl_free(first);
    nl_free(open);
}

static void find_functions(struct work *work)
{
    const struct nl_stack_table *stack = &work->trace->stack;
    const struct nl_call_table *call = &work->trace->call;
    for (uint32_t i = 0; i < stack->rows; i++) {
        uint32_t place = stack->module[i] ? stack->module[i] : stack->file[i];
        work->function_of[i] = function_at(work, stack->name[i], place);
        work->said[i] = NL_NULL_I64;
    }
    for (uint32_t i = 0; i < call->rows; i++)
        if (call->caller[i] == NL_NULL_ROW && call->stack[i] != NL_NULL_ROW)
            work->said[call->stack[i]] = call->total_ns[i];
    mark_recursion(work);
}

/* ---- samples ---- */

static struct kind *sample_kind(struct work *work, uint32_t event, uint32_t unit)
{
    for (size_t i = 0; i < work->kind_count; i++)
        if (work->kinds[i].event == event && work->kinds[i].unit == unit)
            return &work->kinds[i];
    if (work->kind_count == MAX_KINDS)
        return NULL;
    work->kinds[work->kind_count] = (struct kind){.event = event, .unit = unit};
    return &work->kinds[work->kind_count++];
}

static bool sample_counts(const struct work *work, uint32_t row)
{
    const struct nl_sample_table *sample = &work->trace->sample;
    return sample->stack[row] != NL_NULL_ROW &&
           nl_scope_moment(&work->scope, sample->lane[row], sample->ts[row]);
}

/* Samples of threads that waited: what ran is shown before what did not. */
static bool is_waiting(const struct work *work, const struct kind *kind)
{
    struct nl_str event = nl_trace_name(work->trace, kind->event), end = nl_str("(waiting)");
    return event.len >= end.len && memcmp(event.ptr + event.len - end.len, end.ptr, end.len) == 0;
}

/* Where a recording has both, what people wrote comes before the machine code that ran it. */
static bool is_source_level(const struct work *work, const struct kind *kind)
{
    return nl_str_is(nl_trace_name(work->trace, kind->event), "python");
}

static void order_kinds(struct work *work)
{
    struct kind ordered[MAX_KINDS];
    size_t count = 0;
    for (int place = 0; place < 3; place++)
        for (size_t i = 0; i < work->kind_count; i++) {
            const struct kind *kind = &work->kinds[i];
            if (place == (is_waiting(work, kind) ? 2 : !is_source_level(work, kind)))
                ordered[count++] = *kind;
        }
    memcpy(work->kinds, ordered, count * sizeof *ordered);
}

static void find_kinds(struct work *work)
{
    const struct nl_sample_table *sample = &work->trace->sample;
    for (uint32_t row = 0; row < sample->rows; row++) {
        if (!sample_counts(work, row))
            continue;
        struct kind *kind = sample_kind(work, sample->event[row], sample->unit[row]);
        if (kind)
            kind->weighed |= sample->weight[row] != NL_NULL_I64;
        else
            work->left_out++;
    }
    order_kinds(work);
}

static void add_samples(struct work *work, const struct kind *kind)
{
    const struct nl_sample_table *sample = &work->trace->sample;
    size_t rows = work->trace->stack.rows;
    memset(work->self, 0, rows * sizeof *work->self);
    memset(work->count, 0, rows * sizeof *work->count);
    for (uint32_t row = 0; row < sample->rows; row++) {
        if (sample->event[row] != kind->event || sample->unit[row] != kind->unit ||
            !sample_counts(work, row))
            continue;
        int64_t weight = sample->weight[row] == NL_NULL_I64 ? 0 : sample->weight[row];
        uint32_t node = sample->stack[row];
        work->self[node] = nl_sum(work->self[node], kind->weighed ? weight : 1);
        work->count[node]++;
    }
}

/* Sums per node → per function; returns the weight of all samples. */
static int64_t add_functions(struct work *work)
{
    const struct nl_stack_table *stack = &work->trace->stack;
    int64_t whole = 0;
    for (size_t i = 0; i < work->function_count; i++)
        work->functions[i].samples =
            (uint64_t)(work->functions[i].self = work->functions[i].total = 0);
    if (stack->rows)
        memcpy(work->below, work->self, stack->rows * sizeof *work->below);
    for (uint32_t i = stack->rows; i-- > 0;) {
        struct function *function = &work->functions[work->function_of[i]];
        uint32_t parent = stack->parent[i];
        whole = nl_sum(whole, work->self[i]);
        function->samples += work->count[i];
        function->self = nl_sum(function->self, work->self[i]);
        if (parent != NL_NULL_ROW)
            work->below[parent] = nl_sum(work->below[parent], work->below[i]);
        bool said = work->said[i] != NL_NULL_I64 && work->count[i];
        if (!work->below_same[i])
            function->total = nl_sum(function->total, said ? work->said[i] : work->below[i]);
    }
    return whole;
}

static int by_text(const struct nl_trace *trace, uint32_t a, uint32_t b)
{
    struct nl_str x = nl_trace_name(trace, a), y = nl_trace_name(trace, b);
    size_t len = x.len < y.len ? x.len : y.len;
    int order = len ? memcmp(x.ptr, y.ptr, len) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static int by_weight(const void *x, const void *y, void *trace)
{
    const struct function *a = x, *b = y;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    int order = by_text(trace, a->name, b->name);
    return order ? order : by_text(trace, a->place, b->place);
}

static void cpu_samples_add_rows(struct work *work, const struct kind *kind)
{
    struct nl_result *result = work->result;
    add_samples(work, kind);
    int64_t whole = add_functions(work);
    size_t count = work->function_count;
    struct function *order = nl_alloc((count + 1) * sizeof *order);
    memcpy(order, work->functions, count * sizeof *order);
    qsort_r(order, count, sizeof *order, by_weight, (void *)(uintptr_t)work->trace);
    for (size_t i = 0; i < count; i++) {
        const struct function *function = &order[i];
        if (!function->samples && !function->total)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_function] = nl_cell_name(result, work->trace, function->name);
        cells[AT_place] = nl_cell_name(result, work->trace, function->place);
        cells[AT_samples] = nl_cell_count(function->samples);
        cells[AT_share] = nl_cell_given_share(function->self, whole);
        cells[AT_total_share] = nl_cell_given_share(function->total, whole);
        cells[AT_self_weight] = nl_cell_i64(function->self);
        cells[AT_total_weight] = nl_cell_i64(function->total);
        cells[AT_unit] = kind->weighed ? nl_cell_name(result, work->trace, kind->unit)
                                       : nl_cell_static("samples");
        cells[AT_event] = nl_cell_name(result, work->trace, kind->event);
    }
    nl_free(order);
}

#define SAMPLES_COLUMN 2

/* What is no processor time, by the names that pprof's producers give their events. */
static const char *title_of(struct nl_str event)
{
    static const struct {
        const char *word, *title;
    } rows[] = {{"alloc", "Functions by what they allocate"},
                {"inuse", "Functions by what they hold allocated"}};
    if (nl_is_lock_event(event))
        return "Functions by waits for locks";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (nl_str_find_nocase(event, rows[i].word) >= 0)
            return rows[i].title;
    return NULL;
}

/* What has no times has been summed by somebody else: a row of the file is no sample, and what a
 * tracer measured of every call was not sampled at all. */
static void name_sums(struct nl_result *result, const struct nl_trace *trace)
{
    bool calls = trace->source.rows > 0;
    for (uint32_t row = 0; row < trace->sample.rows; row++)
        if (trace->sample.ts[row] != NL_NULL_I64)
            return;
    for (uint32_t row = 0; row < trace->source.rows; row++)
        calls = calls && nl_str_is(nl_trace_name(trace, trace->source.format[row]), "pstats");
    result->columns[SAMPLES_COLUMN].head = "records";
    if (trace->sample.rows)
        result->title = title_of(nl_trace_name(trace, trace->sample.event[0]));
    if (calls)
        result->title = "Functions by their own time (every call measured, none sampled)";
}

/* Of Intel PT: how often a function is left, by calls, returns and the like. */
static void name_branches(struct nl_result *result, const struct nl_trace *trace)
{
    if (!trace->sample.rows || !nl_str_is(nl_trace_name(trace, trace->sample.unit[0]), "branches"))
        return;
    result->columns[SAMPLES_COLUMN].head = "branches";
    result->title = "Functions by branches that leave them";
}

static struct nl_result *cpu_samples_run(const struct nl_trace *trace,
                                         const struct nl_analyze_options *options,
                                         struct nl_job *job, struct nl_err *err)
{
    size_t rows = trace->stack.rows + (size_t)1;
    struct work *work = nl_zalloc(sizeof *work);
    work->trace = trace;
    work->result = NL_ANSWER_NEW("cpu_samples", NULL, columns);
    work->function_of = nl_alloc(rows * sizeof *work->function_of);
    work->below_same = nl_zalloc(rows);
    work->self = nl_alloc(rows * 3 * sizeof *work->self);
    work->below = work->self + rows;
    work->said = work->below + rows;
    work->count = nl_alloc(rows * sizeof *work->count);
    nl_scope_init(&work->scope, trace, &options->window);
    if (trace->sample.rows) {
        find_functions(work);
        find_kinds(work);
    }
    for (size_t i = 0; i < work->kind_count && !nl_job_cancelled(job); i++)
        cpu_samples_add_rows(work, &work->kinds[i]);
    if (work->left_out)
        work->result->note = "Events after the 64th are left out.";
    struct nl_result *result = work->result;
    name_sums(result, trace);
    name_branches(result, trace);
    nl_scope_release(&work->scope);
    nl_free(work->functions);
    nl_lookup_release(&work->by_place);
    nl_free(work->function_of);
    nl_free(work->below_same);
    nl_free(work->self);
    nl_free(work->count);
    nl_free(work);
    if (!nl_job_cancelled(job))
        return result;
    nl_result_free(result);
    nl_fail(err, NL_INTERRUPTED, "interrupted");
    return NULL;
}

const struct nl_analysis nl_analysis_cpu_samples = {
    .name = "cpu_samples",
    .key = "cpu_samples",
    .title = "Functions by CPU samples",
    .needs = {{NL_T_sample, NULL}},
    .need_count = 1,
    .run = cpu_samples_run,
    .doc = "Per sampled event and function (with its module or file): samples in it (self), their "
           "weight (in `unit`, 1 each if the profile has no weights), the weight including "
           "callees, and the share of both in all samples of that event. Recursion counts once. "
           "Samples of Python stacks come first, those of waiting threads last.",
};

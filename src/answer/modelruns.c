/* modelruns — see modelruns.h. A call stalled when it took STALL_MEDIANS times the median of its
 * operator and is longer than that by a tenth of a median run: short calls vary by themselves.
 * Three calls at least make a median. Stalls that are less than a tenth of all runs are left in the
 * operators. Calls of one operator with other shapes are compared with each other only where shapes
 * were not recorded; so a run in which more than a tenth of the calls are slow is a slower run,
 * whatever made it slower, and no stall of single calls. */
#include "answer/modelruns.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sum.h"
#include "base/median.h"
#include "timeline/interval.h"

#define STALL_MEDIANS 3
#define STALL_SHARE   10 /* a tenth of runs */
#define MIN_CALLS     3
#define FEW_SHARE     10 /* a tenth of the calls of a run */
#define ONE_OF        4  /* calls of a run, of which a single one is few, too */

struct call {
    uint32_t name, type, shapes;
    int64_t start, ns;
};

struct calls {
    struct call *items;
    size_t count, cap;
    struct nl_intervals busy, runs;
};

static int by_operator_and_length(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->shapes != b->shapes)
        return a->shapes < b->shapes ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static int by_usual(const void *left, const void *right)
{
    const struct nl_model_sum *a = left, *b = right;
    if (a->usual_ns != b->usual_ns)
        return a->usual_ns > b->usual_ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Their places; runs at the same time (of several threads) are one. */
static void find_runs(struct nl_model_runs *it, struct calls *calls, const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->step.rows; row++) {
        int64_t ns = trace->step.dur[row];
        if (ns == NL_NULL_I64 || ns < 0)
            continue;
        nl_intervals_add(&calls->runs, trace->step.ts[row], nl_sum(trace->step.ts[row], ns));
    }
    nl_intervals_normalise(&calls->runs);
    for (size_t i = 1; i < calls->runs.count; i++)
        nl_sum_add(&it->between_ns, calls->runs.items[i].start - calls->runs.items[i - 1].end);
}

static bool is_nested(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t parent = trace->slice.parent[slice];
    return parent != NL_NULL_ROW && trace->slice.kind[parent] == NL_KIND_OP;
}

static void find_calls(struct calls *calls, const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->node.rows; row++) {
        uint32_t slice = trace->node.slice[row];
        if (slice == NL_NULL_ROW || trace->slice.kind[slice] != NL_KIND_OP ||
            trace->slice.dur[slice] == NL_NULL_I64 || is_nested(trace, slice) ||
            nl_intervals_find(&calls->runs, trace->slice.ts[slice]) < 0)
            continue;
        nl_grow(&calls->items, &calls->cap, calls->count + 1);
        calls->items[calls->count++] = (struct call){
            trace->slice.name[slice], trace->node.type[row], trace->node.input_shapes[row],
            trace->slice.ts[slice], trace->slice.dur[slice]};
        nl_intervals_add(&calls->busy, trace->slice.ts[slice], nl_slice_end(trace, slice));
    }
    nl_intervals_normalise(&calls->busy);
}

/* Where in its run no operator ran; false when none was recorded in it. */
static bool book_run(struct nl_model_runs *it, const struct nl_interval *run,
                     const struct nl_intervals *busy, size_t *at)
{
    while (*at < busy->count && busy->items[*at].end <= run->start)
        (*at)++;
    if (*at == busy->count || busy->items[*at].start >= run->end)
        return false;
    int64_t done = run->start;
    bool any = false;
    for (; *at < busy->count && busy->items[*at].start < run->end; (*at)++) {
        const struct nl_interval *work = &busy->items[*at];
        if (work->start > done)
            nl_sum_add(any ? &it->inner_ns : &it->lead_ns, work->start - done);
        any = true;
        done = work->end;
        if (done >= run->end)
            break;
    }
    if (done < run->end)
        nl_sum_add(&it->end_ns, run->end - done);
    return true;
}

static void book_runs(struct nl_model_runs *it, const struct calls *calls)
{
    int64_t *lengths = nl_alloc((calls->runs.count + 1) * sizeof *lengths);
    size_t at = 0;
    for (size_t i = 0; i < calls->runs.count; i++) {
        const struct nl_interval *run = &calls->runs.items[i];
        if (!book_run(it, run, &calls->busy, &at)) {
            it->bare_runs++;
            continue;
        }
        lengths[it->runs++] = run->end - run->start;
        nl_sum_add(&it->run_ns, run->end - run->start);
    }
    if (it->runs)
        it->median_ns = nl_median_i64(lengths, it->runs);
    it->none_ns = nl_sum(nl_sum(it->lead_ns, it->inner_ns), it->end_ns);
    nl_free(lengths);
}

static void add_sum(struct nl_model_sum *sum, uint32_t name, int64_t usual)
{
    sum->name = name;
    nl_sum_add(&sum->usual_ns, usual);
    sum->calls++;
}

static bool has_stalled(const struct nl_model_runs *it, size_t count, int64_t median, int64_t ns)
{
    return !it->no_stalls && count >= MIN_CALLS && ns / STALL_MEDIANS > median &&
           ns - median > it->median_ns / STALL_SHARE;
}

/* End of the calls of one operator with the same shapes. */
static size_t group_end(const struct calls *calls, size_t first)
{
    size_t next = first + 1;
    while (next < calls->count && calls->items[next].name == calls->items[first].name &&
           calls->items[next].shapes == calls->items[first].shapes)
        next++;
    return next;
}

/* Calls of one operator with the same shapes, shortest first; whether some stalled. */
static bool book_operator(struct nl_model_runs *it, const struct call *calls, size_t count,
                          size_t *type_of)
{
    int64_t median = calls[nl_median_lower_at(count)].ns;
    struct nl_model_sum *own = &it->names[it->name_count - 1];
    bool stalled = false;
    for (size_t i = 0; i < count; i++) {
        bool slow = has_stalled(it, count, median, calls[i].ns);
        if (!type_of[calls[i].type])
            type_of[calls[i].type] = ++it->type_count;
        add_sum(own, calls[i].name, slow ? median : calls[i].ns);
        add_sum(&it->types[type_of[calls[i].type] - 1], calls[i].type, slow ? median : calls[i].ns);
        nl_sum_add(&it->operator_ns, calls[i].ns);
        if (!slow)
            continue;
        stalled = true;
        it->stalls++;
        nl_sum_add(&it->stall_ns, calls[i].ns - median);
        if (calls[i].ns > it->worst_ns) {
            it->worst_ns = calls[i].ns;
            it->worst_median_ns = median;
            it->worst = calls[i].name;
        }
    }
    return stalled;
}

static void book_operators(struct nl_model_runs *it, const struct calls *calls,
                           const struct nl_trace *trace)
{
    memset(it->names, 0, (calls->count + 1) * sizeof *it->names);
    memset(it->types, 0, (calls->count + 1) * sizeof *it->types);
    it->name_count = it->type_count = 0;
    it->operator_ns = it->stall_ns = it->worst_ns = 0;
    it->stalls = it->stalled_names = 0;
    size_t *type_of = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *type_of);
    bool stalled = false;
    for (size_t first = 0, next; first < calls->count; first = next) {
        next = group_end(calls, first);
        bool same = first && calls->items[first].name == calls->items[first - 1].name;
        it->name_count += !same;
        bool slow = book_operator(it, calls->items + first, next - first, type_of);
        it->stalled_names += slow && !(same && stalled);
        stalled = slow || (same && stalled);
    }
    nl_free(type_of);
    qsort(it->names, it->name_count, sizeof *it->names, by_usual);
    qsort(it->types, it->type_count, sizeof *it->types, by_usual);
}

/* Of one run: its calls, those that stalled, and by how much. */
struct hits {
    uint64_t calls, slow;
    int64_t ns;
};

static bool are_few(const struct hits *run)
{
    return run->slow <= run->calls / FEW_SHARE || (run->slow == 1 && run->calls >= ONE_OF);
}

static struct hits *count_hits(const struct nl_model_runs *it, const struct calls *calls)
{
    struct hits *hits = nl_zalloc((calls->runs.count + 1) * sizeof *hits);
    for (size_t first = 0, next; first < calls->count; first = next) {
        next = group_end(calls, first);
        int64_t median = calls->items[first + nl_median_lower_at(next - first)].ns;
        for (size_t i = first; i < next; i++) {
            const struct call *call = &calls->items[i];
            struct hits *run = &hits[nl_intervals_find(&calls->runs, call->start)];
            run->calls++;
            if (!has_stalled(it, next - first, median, call->ns))
                continue;
            run->slow++;
            nl_sum_add(&run->ns, call->ns - median);
        }
    }
    return hits;
}

/* Runs that hold calls which stalled, and those that are slow as a whole. */
static void count_runs(struct nl_model_runs *it, const struct calls *calls)
{
    struct hits *hits = count_hits(it, calls);
    for (size_t i = 0; i < calls->runs.count; i++) {
        it->stalled_runs += hits[i].slow > 0;
        if (are_few(&hits[i]))
            continue;
        it->slow_runs++;
        nl_sum_add(&it->slow_ns, hits[i].ns);
    }
    it->first_stalled = hits[0].slow > 0;
    it->changing = it->stalled_names > 1 && it->stalls <= it->stalled_runs * it->stalled_names / 2;
    it->same_shapes = true;
    for (size_t i = 0; i < calls->count; i++)
        it->same_shapes = it->same_shapes && calls->items[i].shapes != NL_NO_NAME;
    nl_free(hits);
}

bool nl_model_runs_init(struct nl_model_runs *it, const struct nl_trace *trace)
{
    struct calls calls = {0};
    *it = (struct nl_model_runs){0};
    nl_intervals_init(&calls.busy);
    nl_intervals_init(&calls.runs);
    find_runs(it, &calls, trace);
    find_calls(&calls, trace);
    bool found = calls.runs.count && calls.count;
    if (found) {
        book_runs(it, &calls);
        it->names = nl_alloc((calls.count + 1) * sizeof *it->names);
        it->types = nl_alloc((calls.count + 1) * sizeof *it->types);
        qsort(calls.items, calls.count, sizeof *calls.items, by_operator_and_length);
        book_operators(it, &calls, trace);
        it->no_stalls = it->stall_ns <= it->run_ns / STALL_SHARE;
        if (it->no_stalls && it->stalls)
            book_operators(it, &calls, trace);
        count_runs(it, &calls);
    }
    nl_free(calls.items);
    nl_intervals_release(&calls.busy);
    nl_intervals_release(&calls.runs);
    return found;
}

void nl_model_runs_release(struct nl_model_runs *it)
{
    nl_free(it->names);
    nl_free(it->types);
}

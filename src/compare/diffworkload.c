/* See diffworkload.h. */
#include "base/chars.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffworkload.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "rundoc/runfacts.h"

#define SHARE_ALIKE 0.5 /* of the operators with shapes that must differ by one factor */
#define MIN_OPS     1
#define NUMBERS     64 /* of one text of shapes */

static const struct {
    const char *key, *name;
    enum diff_decides decides;
} facts[] = {
    {"workload.batch_size", "batch size", DIFF_DECIDES},
    {"workload.sequence_length", "sequence length", DIFF_DECIDES},
    {"workload.phase", "phase", DIFF_DECIDES},
    {"workload.model", "model", DIFF_DECIDES_IN_CHECK},
    {"workload.precision", "precision", DIFF_DECIDES_IN_CHECK},
    {"software.framework", "framework", DIFF_DECIDES_IN_CHECK},
    {"software.framework_version", "framework version", DIFF_DECIDES_IN_CHECK},
    {"software.backend_version", "backend version", DIFF_DECIDES_IN_CHECK},
    {"hardware.driver_version", "driver", DIFF_DECIDES_IN_CHECK},
    {"software.cuda_runtime_version", "CUDA runtime", DIFF_DECIDES_IN_CHECK},
    {"software.nccl_version", "NCCL", DIFF_DECIDES_IN_CHECK},
    {"software.python_version", "Python", DIFF_TOLD},
    {"hardware.cpu_model", "CPU model", DIFF_DECIDES_IN_CHECK},
    {"hardware.host_name", "host", DIFF_TOLD},
    {"run.command", "command", DIFF_TOLD},
    {"run.git_commit", "commit", DIFF_TOLD},
};

static void add_fact(struct diff_workload *w, const char *name, const char *base,
                     const char *changed, enum diff_decides decides)
{
    if (!base && !changed)
        return;
    w->items[w->count++] = (struct diff_workload_fact){
        .name = name,
        .base = base ? nl_arena_text(&w->arena, base, strlen(base)) : NULL,
        .changed = changed ? nl_arena_text(&w->arena, changed, strlen(changed)) : NULL,
        .decides = decides,
        .agrees = base && changed && !strcmp(base, changed)};
}

/* What the ledger has of a run wins over what its profile says. */
static const char *value_of(struct run_facts *found, const struct nl_diff_input *input,
                            const char *key)
{
    for (size_t i = 0; input && i < input->fact_count; i++)
        if (!strcmp(input->facts[i].key, key))
            return input->facts[i].value;
    return run_fact(found, key);
}

static void find_facts(struct run_facts *found, const struct doc_schema *schema,
                       struct diff_side *side)
{
    size_t busy;
    (void)nl_memo_breakdown(side->memo, &busy);
    run_facts_init(found);
    run_facts_find(found, schema, side->trace, busy);
}

/* ---- shapes ---- */

/* An operator and its most frequent shapes. */
struct shaped {
    struct nl_str name, shapes;
};

static int by_name(const void *left, const void *right)
{
    return nl_str_order(((const struct shaped *)left)->name, ((const struct shaped *)right)->name);
}

static size_t shaped_ops(const struct nl_trace *trace, struct shaped **out)
{
    struct nl_keyed *pairs = nl_alloc((trace->op.rows + (size_t)1) * 2 * sizeof *pairs);
    size_t count = 0, kept = 0;
    for (uint32_t row = 0; row < trace->op.rows; row++)
        if (trace->op.shapes[row])
            pairs[count++].key =
                (uint64_t)trace->slice.name[trace->op.slice[row]] << 32 | trace->op.shapes[row];
    nl_sort_keyed(pairs, pairs + trace->op.rows + 1, count);
    *out = nl_alloc((count + 1) * sizeof **out);
    for (size_t i = 0, most = 0, next; i < count; i = next) {
        for (next = i; next < count && pairs[next].key == pairs[i].key; next++) {
        }
        struct shaped one = {nl_trace_name(trace, (uint32_t)(pairs[i].key >> 32)),
                             nl_trace_name(trace, (uint32_t)pairs[i].key)};
        bool same = kept && nl_str_eq((*out)[kept - 1].name, one.name);
        if (same && (next - i < most ||
                     (next - i == most && nl_str_order(one.shapes, (*out)[kept - 1].shapes) > 0)))
            continue;
        most = next - i;
        (*out)[same ? kept - 1 : kept] = one;
        kept += !same;
    }
    nl_free(pairs);
    if (kept)
        qsort(*out, kept, sizeof **out, by_name);
    return kept;
}

static size_t numbers_of(struct nl_str text, double values[NUMBERS])
{
    size_t count = 0;
    for (size_t i = 0; i < text.len && count < NUMBERS; i++) {
        if (!nl_is_digit(text.ptr[i]))
            continue;
        double value = 0;
        for (; i < text.len && nl_is_digit(text.ptr[i]); i++)
            value = 10 * value + (text.ptr[i] - '0');
        values[count++] = value;
    }
    return count;
}

/* The one factor by which two shapes differ: 1 = not at all, NaN = otherwise. */
static double factor_of(struct nl_str a, struct nl_str b, double first[2])
{
    double x[NUMBERS], y[NUMBERS], factor = 1;
    size_t n = numbers_of(a, x), m = numbers_of(b, y);
    if (n != m)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        if (x[i] == y[i])
            continue;
        if (!(x[i] > 0) || !(y[i] > 0) || (factor != 1 && y[i] / x[i] != factor))
            return NAN;
        if (factor == 1) {
            first[0] = x[i];
            first[1] = y[i];
        }
        factor = y[i] / x[i];
    }
    return factor;
}

struct vote {
    double factor, first[2];
};

static int by_factor(const void *left, const void *right)
{
    const struct vote *a = left, *b = right;
    if (a->factor != b->factor)
        return a->factor < b->factor ? -1 : 1;
    return a->first[0] < b->first[0] ? -1 : a->first[0] > b->first[0];
}

/* The most frequent factor among those that differ; the first of its votes. */
static size_t most_frequent(struct vote *votes, size_t count, struct vote *best)
{
    size_t most = 0;
    if (count)
        qsort(votes, count, sizeof *votes, by_factor);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && votes[next].factor == votes[i].factor; next++) {
        }
        if (next - i > most) {
            most = next - i;
            *best = votes[i];
        }
    }
    return most;
}

static void put_shapes(struct diff_workload *w, const struct nl_trace *base,
                       const struct nl_trace *changed)
{
    struct shaped *a, *b;
    size_t n = shaped_ops(base, &a), m = shaped_ops(changed, &b), votes = 0, both = 0, other = 0;
    struct vote *all = nl_alloc((n + 1) * sizeof *all), best = {0};
    for (size_t i = 0, j = 0; i < n && j < m;) {
        int order = nl_str_order(a[i].name, b[j].name);
        struct vote vote;
        if (!order) {
            vote.factor = factor_of(a[i].shapes, b[j].shapes, vote.first);
            both++;
            other += isnan(vote.factor) || vote.factor != 1;
            if (!isnan(vote.factor) && vote.factor != 1)
                all[votes++] = vote;
        }
        i += order <= 0;
        j += order >= 0;
    }
    size_t most = most_frequent(all, votes, &best);
    struct nl_arena *arena = &w->arena;
    if (most >= MIN_OPS && (double)most >= SHARE_ALIKE * (double)both) {
        add_fact(w, "batch or length (input shapes)", nl_arena_format(arena, "%.0f", best.first[0]),
                 nl_arena_format(arena, "%.0f", best.first[1]), DIFF_DECIDES);
    } else if (both) {
        add_fact(w, "input shapes", nl_arena_format(arena, "%zu operators", both),
                 other ? nl_arena_format(arena, "other shapes in %zu of them", other)
                       : nl_arena_format(arena, "%zu operators", both),
                 DIFF_TOLD);
    }
    nl_free(all);
    nl_free(a);
    nl_free(b);
}

void diff_workload_find(struct diff_workload *w, struct diff_side *base,
                        const struct nl_diff_input *a, struct diff_side *changed,
                        const struct nl_diff_input *b)
{
    struct doc_schema schema;
    struct run_facts base_facts, changed_facts;
    *w = (struct diff_workload){0};
    nl_arena_init(&w->arena);
    doc_schema_open(&schema);
    struct diff_side *first = diff_captures(base), *second = diff_captures(changed);
    find_facts(&base_facts, &schema, first);
    find_facts(&changed_facts, &schema, second);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        add_fact(w, facts[i].name, value_of(&base_facts, a, facts[i].key),
                 value_of(&changed_facts, b, facts[i].key), facts[i].decides);
    put_shapes(w, first->trace, second->trace);
    run_facts_release(&base_facts);
    run_facts_release(&changed_facts);
    doc_schema_release(&schema);
}

void diff_workload_release(struct diff_workload *w)
{
    nl_arena_free(&w->arena);
}

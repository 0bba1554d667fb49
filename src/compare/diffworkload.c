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

/* Share of the operators common to both sides whose shapes must differ by the same factor. */
#define MIN_SHARE_ALIKE 0.5
#define MIN_OPS         1
#define MAX_NUMBERS     64 /* of one text of shapes */

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

static size_t numbers_of(struct nl_str text, double values[MAX_NUMBERS])
{
    size_t count = 0;
    for (size_t i = 0; i < text.len && count < MAX_NUMBERS; i++) {
        if (!nl_is_digit(text.ptr[i]))
            continue;
        double value = 0;
        for (; i < text.len && nl_is_digit(text.ptr[i]); i++)
            value = 10 * value + (text.ptr[i] - '0');
        values[count++] = value;
    }
    return count;
}

struct vote {
    double factor;        /* by which two shapes differ: 1 = not at all, NaN = by no single one */
    double base, changed; /* the first number that differs, of each side */
};

static struct vote vote_of(struct nl_str base_shapes, struct nl_str changed_shapes)
{
    double base[MAX_NUMBERS], changed[MAX_NUMBERS];
    struct vote vote = {.factor = 1};
    size_t count = numbers_of(base_shapes, base);
    if (numbers_of(changed_shapes, changed) != count)
        return (struct vote){.factor = NAN};
    for (size_t i = 0; i < count; i++) {
        if (base[i] == changed[i])
            continue;
        double factor = base[i] > 0 && changed[i] > 0 ? changed[i] / base[i] : NAN;
        if (isnan(factor) || (vote.factor != 1 && factor != vote.factor))
            return (struct vote){.factor = NAN};
        if (vote.factor == 1)
            vote = (struct vote){factor, base[i], changed[i]};
    }
    return vote;
}

static int by_factor(const void *left, const void *right)
{
    const struct vote *a = left, *b = right;
    if (a->factor != b->factor)
        return a->factor < b->factor ? -1 : 1;
    return a->base < b->base ? -1 : a->base > b->base;
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
    struct shaped *base_ops, *changed_ops;
    size_t base_count = shaped_ops(base, &base_ops);
    size_t changed_count = shaped_ops(changed, &changed_ops);
    size_t votes = 0, both = 0, other = 0;
    struct vote *all = nl_alloc((base_count + 1) * sizeof *all), best = {0};
    for (size_t i = 0, j = 0; i < base_count && j < changed_count;) {
        int order = nl_str_order(base_ops[i].name, changed_ops[j].name);
        if (!order) {
            struct vote vote = vote_of(base_ops[i].shapes, changed_ops[j].shapes);
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
    if (most >= MIN_OPS && (double)most >= MIN_SHARE_ALIKE * (double)both) {
        add_fact(w, "batch or length (input shapes)", nl_arena_format(arena, "%.0f", best.base),
                 nl_arena_format(arena, "%.0f", best.changed), DIFF_DECIDES);
    } else if (both) {
        add_fact(w, "input shapes", nl_arena_format(arena, "%zu operators", both),
                 other ? nl_arena_format(arena, "other shapes in %zu of them", other)
                       : nl_arena_format(arena, "%zu operators", both),
                 DIFF_TOLD);
    }
    nl_free(all);
    nl_free(base_ops);
    nl_free(changed_ops);
}

void diff_workload_find(struct diff_workload *w, struct diff_side *base,
                        const struct nl_diff_input *base_input, struct diff_side *changed,
                        const struct nl_diff_input *changed_input)
{
    struct doc_schema schema;
    struct run_facts base_facts, changed_facts;
    *w = (struct diff_workload){0};
    nl_arena_init(&w->arena);
    doc_schema_open(&schema);
    find_facts(&base_facts, &schema, diff_captures(base));
    find_facts(&changed_facts, &schema, diff_captures(changed));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        add_fact(w, facts[i].name, value_of(&base_facts, base_input, facts[i].key),
                 value_of(&changed_facts, changed_input, facts[i].key), facts[i].decides);
    put_shapes(w, diff_captures(base)->trace, diff_captures(changed)->trace);
    run_facts_release(&base_facts);
    run_facts_release(&changed_facts);
    doc_schema_release(&schema);
}

void diff_workload_release(struct diff_workload *w)
{
    nl_arena_free(&w->arena);
}

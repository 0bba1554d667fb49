/*
 * Whether candidates did the same work, by the facts that a diff stands on: names of the work, how
 * much of it, and its amount without steps. Another backend has other names and fuses operations,
 * so that these facts decide between candidates of one backend alone. Kernels are what devices and
 * types change: their names decide where nothing of that kind differs and the framework is known.
 * Settings change names, too: of the same steps one name in common is enough.
 */
#include "base/mem.h"
#include "compare/diffpace.h"
#include "compare/rankinner.h"
#include "tables/resultcells.h"
#include "tables/lookup.h"
#include "compare/diffjudge.h"

#define AGAINST  ((size_t)1 << 12)
#define ANY_NAME 1e-9 /* share of names that both have: one is enough */

static const char *copied(struct diff_workload *w, struct nl_str text)
{
    return text.len ? nl_arena_text(&w->arena, text.ptr, text.len) : NULL;
}

static void add_fact(struct diff_workload *w, struct diff_workload_fact fact)
{
    if (w->count < sizeof w->items / sizeof *w->items)
        w->items[w->count++] = fact;
}

/* ---- backends ---- */

/* Whether every name in a column of `b` is in one of `a`; `any`: whether both have any. */
static bool has_all(const struct nl_trace *a, const uint32_t *of_a, uint32_t a_rows,
                    const struct nl_trace *b, const uint32_t *of_b, uint32_t b_rows, bool *any)
{
    uint8_t *in_a = nl_zalloc(a->names.count + (size_t)1);
    uint8_t *seen = nl_zalloc(b->names.count + (size_t)1);
    bool all = true, a_any = false, b_any = false;
    for (uint32_t i = 0; i < a_rows; i++) {
        in_a[of_a[i]] = 1;
        a_any |= of_a[i] != 0;
    }
    for (uint32_t i = 0; i < b_rows; i++) {
        if (!of_b[i] || seen[of_b[i]])
            continue;
        seen[of_b[i]] = 1;
        b_any = true;
        uint32_t id = nl_dict_find(&a->names, nl_trace_name(b, of_b[i]));
        all = all && id != UINT32_MAX && in_a[id];
    }
    nl_free(in_a);
    nl_free(seen);
    *any = a_any && b_any;
    return all;
}

static bool other_format(const struct nl_trace *a, const struct nl_trace *b)
{
    bool any;
    return !has_all(a, a->source.format, a->source.rows, b, b->source.format, b->source.rows,
                    &any) &&
           any;
}

static bool other_provider(const struct nl_trace *a, const struct nl_trace *b)
{
    bool any;
    bool same =
        has_all(a, a->node.provider, a->node.rows, b, b->node.provider, b->node.rows, &any) &&
        has_all(b, b->node.provider, b->node.rows, a, a->node.provider, a->node.rows, &any);
    return any && !same;
}

/* A fact of the workload: 1 = both have it and agree, -1 = they differ, 0 = not known of both. */
static int known_fact(const struct diff_workload *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (!strcmp(w->items[i].name, name) && w->items[i].base && w->items[i].changed)
            return w->items[i].agrees ? 1 : -1;
    return 0;
}

static const struct nl_trace *trace_of(const struct rank_candidate *c)
{
    return diff_captures((struct diff_side *)&c->side)[0].trace;
}

static bool other_backend(const struct diff_workload *w, const struct rank_candidate *a,
                          const struct rank_candidate *b)
{
    return known_fact(w, "framework") < 0 || other_format(trace_of(a), trace_of(b)) ||
           other_provider(trace_of(a), trace_of(b));
}

/* Whether their kernels should have the same names. */
static bool same_kernels(const struct diff_workload *w, const struct rank_candidate *a,
                         const struct rank_candidate *b)
{
    const struct nl_trace *one = trace_of(a), *other = trace_of(b);
    bool any;
    return known_fact(w, "framework") > 0 && known_fact(w, "precision") >= 0 &&
           nl_str_eq(rank_device(a), rank_device(b)) &&
           has_all(one, one->kernel.dtype, one->kernel.rows, other, other->kernel.dtype,
                   other->kernel.rows, &any);
}

/* ---- facts ---- */

/* The parts by name are in the level that shows them. */
static struct diff_parts *parts_of(struct ranking *r, const struct rank_candidate *c)
{
    bool operators = r->levels[RANK_KERNELS].row_of[0];
    return &r->levels[operators ? RANK_KERNELS : RANK_OPERATORS].parts[c - r->items];
}

static struct diff_judged judged(struct ranking *r, const struct rank_candidate *c)
{
    struct diff_parts *parts = parts_of(r, c),
                      *first = &r->levels[RANK_OPERATORS].parts[c - r->items];
    return (struct diff_judged){(struct diff_side *)&c->side, parts, first != parts ? first : NULL,
                                c->input};
}

/* What a diff would refuse to compare; of another backend that decides nothing. */
static void add_work_facts(struct ranking *r, const struct rank_candidate *a,
                           const struct rank_candidate *b, struct diff_workload *w)
{
    struct diff_judged sides[2] = {judged(r, a), judged(r, b)};
    struct diff_sureness sureness = {.facts = diff_facts_table()};
    struct nl_buf against;
    bool other = other_backend(w, a, b), kernels = same_kernels(w, a, b);
    nl_buf_init(&against, AGAINST);
    diff_find_work_facts(&sureness, &sides[0], &sides[1], a->side.by_step ? ANY_NAME : DIFF_JACCARD,
                         &against);
    for (size_t i = 0; i < sureness.facts->rows; i++) {
        struct nl_str name = nl_lookup_text(sureness.facts, i, "fact");
        bool decides = !other && nl_str_is(nl_lookup_text(sureness.facts, i, "decides"), "yes") &&
                       (kernels || !nl_str_is(name, "names of kernels"));
        add_fact(w, (struct diff_workload_fact){
                        copied(w, name), copied(w, nl_lookup_text(sureness.facts, i, "base")),
                        copied(w, nl_lookup_text(sureness.facts, i, "new")),
                        decides ? DIFF_DECIDES : DIFF_TOLD,
                        nl_str_is(nl_lookup_text(sureness.facts, i, "agrees"), "yes")});
    }
    nl_buf_release(&against);
    nl_result_free(sureness.facts);
}

/* Without steps, one may have done less of the same work. */
static void add_amount(struct ranking *r, const struct rank_candidate *a,
                       const struct rank_candidate *b, struct diff_workload *w)
{
    struct diff_rows rows = {0};
    struct diff_pace pace;
    diff_pair(&rows, (struct diff_side *)&a->side, parts_of(r, a), (struct diff_side *)&b->side,
              parts_of(r, b), false);
    diff_pace_find(&pace, &a->side, &b->side, &rows);
    diff_rows_release(&rows);
    if (pace.other_work && !a->side.plain_count)
        add_fact(w, (struct diff_workload_fact){
                        "amount of work",
                        nl_arena_format(&w->arena, "%.6g operations", pace.base_pieces),
                        nl_arena_format(&w->arena, "%.6g operations", pace.changed_pieces),
                        DIFF_DECIDES, false});
}

void rank_work_compare(struct ranking *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct rank_candidate *other = r->order[i ? i : 1];
        struct diff_workload *w = &r->order[i]->facts;
        add_work_facts(r, r->order[0], other, w);
        add_amount(r, r->order[0], other, w);
        for (size_t k = 0; k < w->count; k++)
            if (w->items[k].base && w->items[k].changed && !w->items[k].agrees &&
                w->items[k].decides == DIFF_DECIDES)
                r->comparable = false;
    }
}

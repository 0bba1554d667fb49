/* Facts of hardware, software and workload, as the run document has them,
 * and metadata, side by side. */
#include <stdlib.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/difffacts.h"
#include "compare/diffcounts.h"
#include "rundoc/runfacts.h"

#define MAX_FACTS 500

#define FACT_LIST(C, P)                                                                            \
    C(P, fact, NULL, TEXT)                                                                         \
    C(P, base, "A", TEXT)                                                                          \
    C(P, new, "B", TEXT)
NL_TABLE_COLUMNS(columns, FACT, FACT_LIST);

static void put_fact(struct nl_result *result, struct nl_str fact, struct nl_str base,
                     struct nl_str changed)
{
    if (result->rows == MAX_FACTS) {
        result->truncated = true;
        result->note = "further differences of metadata are left out";
        return;
    }
    struct nl_cell *cells = nl_result_row(result);
    cells[FACT_fact] = nl_cell_text(result, fact);
    cells[FACT_base] = nl_cell_text(result, base);
    cells[FACT_new] = nl_cell_text(result, changed);
}

static void find_run_facts(struct run_facts *facts, const struct doc_schema *schema,
                           struct diff_side *side)
{
    size_t busy;
    (void)nl_memo_breakdown(side->memo, &busy);
    run_facts_init(facts);
    run_facts_find(facts, schema, side->trace, busy);
}

static int by_key(const void *left, const void *right)
{
    return strcmp(((const struct run_fact *)left)->key, ((const struct run_fact *)right)->key);
}

static void put_facts(struct nl_result *result, struct run_facts *a, struct run_facts *b)
{
    size_t count = a->count + b->count;
    struct run_fact *all = nl_alloc((count + 1) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = i < a->count ? a->items[i] : b->items[i - a->count];
    qsort(all, count, sizeof *all, by_key);
    for (size_t i = 0; i < count; i++) {
        const char *key = all[i].key, *base = run_fact(a, key), *changed = run_fact(b, key);
        bool again = i && strcmp(all[i - 1].key, key) == 0;
        bool when = strcmp(key, "run.start_epoch_ns") == 0; /* always differs, and says nothing */
        if (!again && !when && (!base != !changed || (base && strcmp(base, changed) != 0)))
            put_fact(result, nl_str(key), nl_str(base), nl_str(changed));
    }
    nl_free(all);
}

/* ---- metadata ---- */

struct item {
    struct nl_str key, value;
    bool changed;
};

static int by_item(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = nl_str_order(a->key, b->key);
    order = order ? order : a->changed - b->changed;
    return order ? order : nl_str_order(a->value, b->value);
}

static size_t add_items(struct item *items, const struct nl_trace *trace, bool changed)
{
    for (uint32_t row = 0; row < trace->meta.rows; row++)
        items[row] = (struct item){nl_trace_name(trace, trace->meta.key[row]),
                                   nl_trace_name(trace, trace->meta.value[row]), changed};
    return trace->meta.rows;
}

/* Keys that each side has once, with different values: of others it is not known which belong
 * together. */
static void put_metadata(struct nl_result *result, const struct nl_trace *base,
                         const struct nl_trace *changed)
{
    struct item *items =
        nl_alloc(((size_t)base->meta.rows + changed->meta.rows + 1) * sizeof *items);
    size_t count = add_items(items, base, false);
    count += add_items(items + count, changed, true);
    qsort(items, count, sizeof *items, by_item);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && nl_str_eq(items[next].key, items[i].key); next++) {
        }
        bool pair = next - i == 2 && !items[i].changed && items[i + 1].changed;
        if (pair && !nl_str_eq(items[i].value, items[i + 1].value))
            put_fact(result, items[i].key, items[i].value, items[i + 1].value);
    }
    nl_free(items);
}

struct nl_result *diff_facts(struct diff_side *base, struct diff_side *changed)
{
    struct nl_result *result = NL_ANSWER_NEW("facts", "Facts that differ", columns);
    struct doc_schema schema;
    struct run_facts a, b;
    doc_schema_open(&schema);
    find_run_facts(&a, &schema, base);
    find_run_facts(&b, &schema, changed);
    put_facts(result, &a, &b);
    put_metadata(result, base->trace, changed->trace);
    run_facts_release(&a);
    run_facts_release(&b);
    doc_schema_release(&schema);
    return result;
}

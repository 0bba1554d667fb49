/*
 * Counters side by side: what telemetry has instead of durations. Counters of one name on one
 * device are one, whatever the process that had them: processes have other numbers in the next run.
 */
#include <math.h>
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/lookup.h"
#include "base/mem.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "compare/diffcounters.h"
#include "compare/diffcounts.h"
#include "tables/analyses.h"

#define COUNTER_LIST(C, P)                                                                         \
    C(P, counter, NULL, TEXT)                                                                      \
    C(P, unit, NULL, TEXT)                                                                         \
    C(P, rank, NULL, INTEGER)                                                                      \
    C(P, device, NULL, INTEGER)                                                                    \
    C(P, base_mean, "A mean", NUMBER)                                                              \
    C(P, new_mean, "B mean", NUMBER)                                                               \
    C(P, base_max, "A most", NUMBER)                                                               \
    C(P, new_max, "B most", NUMBER)                                                                \
    C(P, base_count, "A values", COUNT)                                                            \
    C(P, new_count, "B values", COUNT)
NL_TABLE_COLUMNS(columns, COUNTER, COUNTER_LIST);

/* A row of the analysis. */
struct row {
    struct nl_str name, unit;
    int64_t rank, device, count;
    double mean, max;
    bool changed; /* side */
};

static int by_key(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    int order = nl_str_order(a->name, b->name);
    order = order ? order : nl_str_order(a->unit, b->unit);
    if (!order && a->rank != b->rank)
        order = a->rank < b->rank ? -1 : 1;
    if (!order && a->device != b->device)
        order = a->device < b->device ? -1 : 1;
    return order;
}

static struct nl_result *ask(const struct diff_side *side)
{
    struct nl_err err = {0};
    if (!side->trace->counter.rows)
        return NULL;
    return nl_analysis_run(&nl_analysis_counters, side->trace, &side->options, NULL, &err);
}

static void add_counters(struct row **rows, size_t *count, size_t *cap,
                         const struct nl_result *result, bool changed)
{
    for (size_t i = 0; result && i < result->rows; i++) {
        nl_grow(rows, cap, *count + 1);
        (*rows)[(*count)++] = (struct row){.name = nl_lookup_text(result, i, "name"),
                                           .unit = nl_lookup_text(result, i, "unit"),
                                           .rank = nl_lookup_i64(result, i, "rank"),
                                           .device = nl_lookup_i64(result, i, "device"),
                                           .count = nl_lookup_i64(result, i, "count"),
                                           .mean = nl_lookup_f64(result, i, "mean"),
                                           .max = nl_lookup_f64(result, i, "max"),
                                           .changed = changed};
    }
}

static void put_row(struct nl_result *result, const struct row *rows, size_t count)
{
    double sum[2] = {0, 0}, max[2] = {NAN, NAN};
    int64_t values[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int side = rows[i].changed;
        sum[side] += rows[i].mean * (double)rows[i].count;
        values[side] += rows[i].count;
        max[side] = isnan(max[side]) || rows[i].max > max[side] ? rows[i].max : max[side];
    }
    struct nl_cell *cells = nl_result_row(result);
    cells[COUNTER_counter] = nl_cell_text(result, rows->name);
    cells[COUNTER_unit] = rows->unit.len ? nl_cell_text(result, rows->unit) : (struct nl_cell){0};
    cells[COUNTER_rank] = nl_cell_i64(rows->rank);
    cells[COUNTER_device] = nl_cell_i64(rows->device);
    for (int side = 0; side < 2; side++) {
        cells[COUNTER_base_mean + side] =
            nl_cell_f64(values[side] ? sum[side] / (double)values[side] : NAN);
        cells[COUNTER_base_max + side] = nl_cell_f64(max[side]);
        cells[COUNTER_base_count + side] = nl_cell_i64(values[side]);
    }
}

struct nl_result *diff_counters(struct diff_side *base, struct diff_side *changed)
{
    struct nl_result *result = NL_ANSWER_NEW("counters", "Counters", columns);
    struct row *rows = NULL;
    struct nl_result **asked =
        nl_alloc((diff_capture_count(base) + diff_capture_count(changed) + 1) * sizeof *asked);
    size_t count = 0, cap = 0, asks = 0;
    for (size_t i = 0; i < diff_capture_count(base); i++)
        add_counters(&rows, &count, &cap, asked[asks++] = ask(&diff_captures(base)[i]), false);
    for (size_t i = 0; i < diff_capture_count(changed); i++)
        add_counters(&rows, &count, &cap, asked[asks++] = ask(&diff_captures(changed)[i]), true);
    if (count)
        qsort(rows, count, sizeof *rows, by_key);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && !by_key(&rows[i], &rows[next]); next++) {
        }
        put_row(result, rows + i, next - i);
    }
    nl_free(rows);
    for (size_t i = 0; i < asks; i++)
        if (asked[i])
            nl_result_free(asked[i]);
    nl_free(asked);
    return result;
}

/* resultcells — see resultcells.h. */
#include "tables/resultcells.h"

#include <stdlib.h>

#include "tables/lookup.h"
#include "timeline/fold.h"
#include "timeline/quantile.h"

struct nl_cell nl_cell_static(const char *text)
{
    if (!text)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return (struct nl_cell){.type = NL_CELL_TEXT, .text = nl_str(text)};
}

struct nl_cell nl_cell_name(struct nl_result *result, const struct nl_trace *trace, uint32_t id)
{
    if (id == NL_NO_NAME)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return nl_cell_text(result, nl_trace_name(trace, id));
}

struct nl_cell nl_cell_folded(const struct nl_fold *fold, struct nl_result *result, uint32_t id)
{
    if (id == NL_NO_NAME)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return nl_cell_text(result, nl_fold_id_text(fold, id));
}

struct nl_cell nl_cell_enum(enum nl_enum_id id, unsigned value)
{
    return nl_cell_static(nl_enum_text(id, value));
}

struct nl_cell nl_cell_count(uint64_t value)
{
    return nl_cell_i64(value == NL_NULL_U64 ? NL_NULL_I64 : (int64_t)value);
}

struct nl_cell nl_cell_u32(uint32_t value)
{
    return nl_cell_i64(value == NL_NULL_U32 ? NL_NULL_I64 : (int64_t)value);
}

struct nl_cell nl_cell_share(int64_t part, int64_t whole)
{
    return nl_cell_f64(whole ? (double)part / (double)whole : NL_NULL_F64);
}

struct nl_cell nl_cell_given_share(int64_t part, int64_t whole)
{
    const double rounding = 1e-5; /* files have totals in microseconds */
    double share = whole ? (double)part / (double)whole : (double)NL_NULL_F64;
    if (share > 1 && share <= 1 + rounding)
        share = 1;
    return nl_cell_f64(share >= 0 && share <= 1 ? share : (double)NL_NULL_F64);
}

void nl_cells_stats(struct nl_cell *cells, const struct nl_group_stats *stats, int64_t whole)
{
    cells[NL_STATS_count] = nl_cell_count(stats->count);
    cells[NL_STATS_total_ns] = nl_cell_i64(stats->total_ns);
    cells[NL_STATS_share] = nl_cell_share(stats->total_ns, whole);
    cells[NL_STATS_min_ns] = nl_cell_i64(stats->min_ns);
    cells[NL_STATS_median_ns] = nl_cell_f64(stats->median_ns);
    cells[NL_STATS_p95_ns] = nl_cell_f64(stats->p95_ns);
    cells[NL_STATS_max_ns] = nl_cell_i64(stats->max_ns);
    cells[NL_STATS_stddev_ns] = nl_cell_f64(stats->stddev_ns);
}

struct nl_cell nl_cell_percentile(const int64_t *sorted, size_t count, unsigned percent)
{
    return nl_cell_f64(nl_quantile_sorted(sorted, nl_quantile_at(count, percent)));
}

struct nl_window nl_analyze_host_window(const struct nl_analyze_options *options)
{
    struct nl_window window = options->window;
    window.has_device = false;
    return window;
}

struct row {
    struct nl_cell *cells;
    size_t count;
};

static int compare_cells(const struct nl_cell *a, const struct nl_cell *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    switch (a->type) {
    case NL_CELL_NULL: return 0;
    case NL_CELL_I64: return (a->i64 > b->i64) - (a->i64 < b->i64);
    case NL_CELL_F64: return (a->f64 > b->f64) - (a->f64 < b->f64);
    case NL_CELL_TEXT: return nl_str_order(a->text, b->text);
    }
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    int order = 0;
    for (size_t i = 0; i < a->count && !order; i++)
        order = compare_cells(&a->cells[i], &b->cells[i]);
    return order;
}

/* Sorts `rows` rows that start at `cells`. */
static void sort_rows(struct nl_cell *cells, size_t rows, size_t columns)
{
    size_t bytes = rows * columns * sizeof *cells;
    struct nl_cell *copy = nl_alloc(bytes);
    struct row *order = nl_alloc(rows * sizeof *order);
    memcpy(copy, cells, bytes);
    for (size_t i = 0; i < rows; i++)
        order[i] = (struct row){copy + i * columns, columns};
    qsort(order, rows, sizeof *order, compare_rows);
    for (size_t i = 0; i < rows; i++)
        memcpy(cells + i * columns, order[i].cells, columns * sizeof *cells);
    nl_free(order);
    nl_free(copy);
}

void nl_result_settle(struct nl_result *result, const char *column)
{
    ptrdiff_t key = nl_lookup_column(result, column);
    size_t columns = result->column_count;
    if (key < 0)
        NL_BUG("a result is settled by a column it does not have");
    for (size_t first = 0, next; first < result->rows; first = next) {
        const struct nl_cell *value = nl_result_cell(result, first, (size_t)key);
        for (next = first + 1; next < result->rows; next++)
            if (compare_cells(nl_result_cell(result, next, (size_t)key), value) != 0)
                break;
        if (next - first > 1)
            sort_rows(result->cells + first * columns, next - first, columns);
    }
}

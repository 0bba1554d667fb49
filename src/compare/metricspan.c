/* See metricspan.h. */
#include "compare/metricspan.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tables/scope.h"

#define MAX_NAME 1024

static const struct {
    const char *column;
    double share; /* of a quantile; -1 total, -2 mean */
} columns[] = {{"median_ns", 0.5}, {"p95_ns", 0.95}, {"min_ns", 0},
               {"max_ns", 1},      {"total_ns", -1}, {"mean", -2}};
#define COLUMNS (sizeof columns / sizeof columns[0])

struct span {
    uint32_t name;
    double length;
};

struct spans {
    struct span *items;
    size_t count;
};

bool nl_metric_fits(struct nl_str name, const char *pattern)
{
    char text[MAX_NAME];
    if (!pattern)
        return true;
    if (name.len >= sizeof text)
        return false;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    return nl_str_is(name, pattern) || fnmatch(pattern, text, 0) == 0;
}

static const uint32_t *slices_of(const struct nl_trace *trace, const char *table, uint32_t *rows)
{
    *rows = 0;
    if (strcmp(table, "ops") == 0) {
        *rows = trace->op.rows;
        return trace->op.slice;
    }
    if (strcmp(table, "layers") == 0) {
        *rows = trace->layer.rows;
        return trace->layer.slice;
    }
    if (strcmp(table, "python") == 0) {
        *rows = trace->python.rows;
        return trace->python.slice;
    }
    return NULL;
}

/* Lengths of the slices whose names fit. */
static struct spans find_spans(const struct nl_metric *metric, struct diff_side *capture,
                               const uint32_t *slices, uint32_t rows)
{
    const struct nl_trace *trace = capture->trace;
    struct spans spans = {nl_alloc(((size_t)rows + 1) * sizeof *spans.items), 0};
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &capture->window);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t slice = slices[i], name = trace->slice.name[slice];
        int64_t length = nl_scope_length(&scope, slice), ts = trace->slice.ts[slice];
        if (length < 0 || !nl_metric_fits(nl_trace_name(trace, name), metric->row))
            continue;
        length -= nl_preempt_in(capture->preempt, trace->lane.thread[trace->slice.lane[slice]], ts,
                                ts + length);
        spans.items[spans.count++] = (struct span){name, length > 0 ? (double)length : 0};
    }
    nl_scope_release(&scope);
    return spans;
}

static int by_name(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->length < b->length ? -1 : a->length > b->length;
}

/* Of the sorted lengths of one name. */
static double one_name(const struct span *spans, size_t count, double share)
{
    double sum = 0;
    if (share >= 0) {
        double rank = share * (double)(count - 1);
        size_t low = (size_t)rank;
        double over = low + 1 < count ? spans[low + 1].length - spans[low].length : 0;
        return spans[low].length + (rank - (double)low) * over;
    }
    for (size_t i = 0; i < count; i++)
        sum += spans[i].length;
    return share > -2 ? sum : sum / (double)count;
}

static double all_names(const struct spans *spans, double share)
{
    double all = NAN;
    for (size_t i = 0, next; i < spans->count; i = next) {
        for (next = i; next < spans->count && spans->items[next].name == spans->items[i].name;)
            next++;
        double one = one_name(spans->items + i, next - i, share);
        if (isnan(all))
            all = one;
        else if (share == -1)
            all += one;
        else
            all = one > all ? one : all;
    }
    return all;
}

bool nl_metric_span(const struct nl_metric *metric, struct diff_side *capture,
                    struct nl_metric_value *value)
{
    uint32_t rows;
    size_t column = 0;
    if (!capture->preempt || capture->unit != DIFF_BY_HOST || metric->source != NL_METRIC_TABLE)
        return false;
    while (column < COLUMNS && strcmp(columns[column].column, metric->column) != 0)
        column++;
    const uint32_t *slices = slices_of(capture->trace, metric->table, &rows);
    if (column == COLUMNS || !slices || !rows)
        return false;
    struct spans spans = find_spans(metric, capture, slices, rows);
    if (spans.count)
        qsort(spans.items, spans.count, sizeof *spans.items, by_name);
    value->value = all_names(&spans, columns[column].share);
    nl_free(spans.items);
    return !isnan(value->value);
}

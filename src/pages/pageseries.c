/* pageseries — what a page draws over time: steps, how busy devices are, memory, counters. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "pages/pagepart.h"
#include "tables/lanelabel.h"
#include "tables/scope.h"

#define MAX_POINTS    1200
#define MAX_CELLS     60000 /* of ranks × steps */
#define MAX_SERIES    48
#define MAX_DEVICES   64
#define BUSY_BINS     600
#define SERIES_POINTS 400

/* Which points are shown: all, or of each of most / 2 groups the least and the largest. */
static size_t choose_points(const struct nl_page_point *points, size_t count, size_t most,
                            size_t *keep)
{
    size_t kept = 0, groups = most / 2 ? most / 2 : 1;
    for (size_t i = 0; count <= most && i < count; i++)
        keep[kept++] = i;
    for (size_t group = 0; count > most && group < groups; group++) {
        size_t from = group * count / groups, to = (group + 1) * count / groups;
        size_t least = from, largest = from;
        for (size_t i = from; i < to; i++) {
            least = points[i].value < points[least].value ? i : least;
            largest = points[i].value > points[largest].value ? i : largest;
        }
        keep[kept++] = least < largest ? least : largest;
        if (least != largest)
            keep[kept++] = least < largest ? largest : least;
    }
    return kept;
}

void nl_page_points(struct nl_json *json, const struct nl_page_point *points, size_t count,
                    size_t most, int64_t first_ts)
{
    size_t *keep = nl_alloc((count + 2) * sizeof *keep);
    size_t kept = choose_points(points, count, most, keep);
    nl_json_key(json, "t");
    nl_json_open(json, '[');
    for (size_t i = 0; i < kept; i++)
        nl_json_i64(json, points[keep[i]].ts - first_ts);
    nl_json_close(json, ']');
    nl_json_key(json, "v");
    nl_json_open(json, '[');
    for (size_t i = 0; i < kept; i++) {
        double value = points[keep[i]].value;
        if (value == floor(value) && fabs(value) < 9e15)
            nl_json_i64(json, (int64_t)value);
        else
            nl_json_f64(json, value);
    }
    nl_json_close(json, ']');
    nl_free(keep);
}

/* ---- steps ---- */

enum step_column { STEP_INDEX, STEP_START, STEP_LENGTH, STEP_PHASE };

/* Of every `join` steps the longest, so that no slow step is hidden. */
static void put_step_column(struct nl_json *json, const char *key,
                            const struct nl_found_step *steps, size_t count, size_t join,
                            enum step_column column, int64_t first_ts)
{
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (size_t i = 0; i < count; i += join) {
        const struct nl_found_step *step = &steps[i];
        for (size_t j = i; j < i + join && j < count; j++)
            if (steps[j].end - steps[j].start > step->end - step->start)
                step = &steps[j];
        switch (column) {
        case STEP_INDEX: nl_json_i64(json, step->index); break;
        case STEP_START: nl_json_i64(json, step->start - first_ts); break;
        case STEP_LENGTH: nl_json_i64(json, step->end - step->start); break;
        case STEP_PHASE: nl_json_i64(json, (int64_t)step->phase); break;
        }
    }
    nl_json_close(json, ']');
}

void nl_page_steps(struct nl_json *json, const struct nl_page_source *source)
{
    const struct nl_found_steps *found = nl_memo_steps(source->memo);
    int64_t first = source->trace->first_ts;
    size_t join = found->count / MAX_CELLS + 1, longest = 0;
    for (size_t i = 0; i < found->group_count; i++)
        longest = found->groups[i].count > longest ? found->groups[i].count : longest;
    if (longest / MAX_POINTS + 1 > join)
        join = longest / MAX_POINTS + 1;
    nl_json_key(json, "steps");
    nl_json_open(json, '{');
    nl_json_put_u64(json, "joined", join, true);
    nl_json_key(json, "ranks");
    nl_json_open(json, '[');
    for (size_t i = 0; i < found->group_count; i++) {
        const struct nl_step_group *group = &found->groups[i];
        struct nl_found_step *steps = nl_alloc((group->count + 1) * sizeof *steps);
        size_t count = 0;
        for (size_t j = 0; j < group->count; j++)
            if (nl_step_in_window(group, &found->items[group->first + j], source->window))
                steps[count++] = found->items[group->first + j];
        nl_json_open(json, '{');
        nl_json_put_i64(json, "rank", group->rank, group->rank != NL_NULL_I64);
        nl_json_put_text(json, "method", nl_step_method_text(group->method));
        put_step_column(json, "index", steps, count, join, STEP_INDEX, first);
        put_step_column(json, "start", steps, count, join, STEP_START, first);
        put_step_column(json, "dur", steps, count, join, STEP_LENGTH, first);
        put_step_column(json, "phase", steps, count, join, STEP_PHASE, first);
        nl_json_close(json, '}');
        nl_free(steps);
    }
    nl_json_close(json, ']');
    nl_json_close(json, '}');
}

/* ---- how busy devices are ---- */

/* ns of the set within each of the bins, which divide [start, end) evenly. */
static void fill_bins(const struct nl_intervals *set, int64_t start, int64_t end, double *bins)
{
    double width = (double)(end - start) / BUSY_BINS;
    for (size_t i = 0; i < set->count; i++) {
        double from = (double)(set->items[i].start - start) / width;
        double to = (double)(set->items[i].end - start) / width;
        from = fmax(from, 0);
        to = fmin(to, BUSY_BINS);
        for (size_t bin = (size_t)nl_whole_u64(from); bin < BUSY_BINS && (double)bin < to; bin++)
            bins[bin] += fmin(to, (double)bin + 1) - fmax(from, (double)bin);
    }
}

static void put_busy_bins(struct nl_json *json, const char *key, const struct nl_intervals *set,
                          int64_t start, int64_t end)
{
    double bins[BUSY_BINS] = {0};
    fill_bins(set, start, end, bins);
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (size_t i = 0; i < BUSY_BINS; i++)
        nl_json_i64(json, nl_whole_i64(fmin(bins[i], 1) * 1000));
    nl_json_close(json, ']');
}

static void put_device(struct nl_json *json, const struct nl_page_source *source,
                       const struct nl_device_breakdown *row, int64_t start, int64_t end)
{
    struct nl_device_sets sets;
    struct nl_intervals comm, copy, both;
    nl_intervals_init(&comm);
    nl_intervals_init(&copy);
    nl_intervals_init(&both);
    nl_device_intervals(source->trace, source->window, row->device, &sets);
    nl_intervals_subtract(&sets.comm, &sets.compute, &comm);
    nl_intervals_union(&sets.comm, &sets.compute, &both);
    nl_intervals_subtract(&sets.copy, &both, &copy);
    nl_json_open(json, '{');
    nl_json_put_i64(json, "rank", row->rank, row->rank != NL_NULL_I64);
    nl_json_put_i64(json, "device", row->ordinal, row->ordinal != NL_NULL_I64);
    put_busy_bins(json, "compute", &sets.compute, start, end);
    put_busy_bins(json, "comm", &comm, start, end);
    put_busy_bins(json, "copy", &copy, start, end);
    nl_json_close(json, '}');
    nl_intervals_release(&comm);
    nl_intervals_release(&copy);
    nl_intervals_release(&both);
    nl_device_sets_release(&sets);
}

void nl_page_busy(struct nl_json *json, const struct nl_page_source *source)
{
    size_t count = 0;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(source->memo, &count);
    const struct nl_trace *trace = source->trace;
    const struct nl_window *window = source->window;
    int64_t start = window->has_time ? window->start : trace->first_ts;
    int64_t end = window->has_time ? window->end : trace->last_ts;
    nl_json_key(json, "busy");
    nl_json_open(json, '{');
    nl_json_put_i64(json, "start_ns", start - trace->first_ts, true);
    nl_json_put_i64(json, "dur_ns", end - start, true);
    nl_json_key(json, "devices");
    nl_json_open(json, '[');
    for (size_t i = 0; end > start && i < count && i < MAX_DEVICES; i++)
        if (rows[i].wall_ns > 0 && !rows[i].starts_unknown)
            put_device(json, source, &rows[i], start, end);
    nl_json_close(json, ']');
    nl_json_close(json, '}');
}

/* ---- memory ---- */

struct pool {
    int64_t rank, device_type, device;
    uint32_t kind;
    /* Which of its numbers: what the allocator has reserved, our own running sum, or
     * (neither) what is allocated. */
    bool reserved, counted;
};

static bool same_pool(const struct nl_trace *trace, const struct pool *pool, uint32_t row)
{
    const struct nl_memory_table *memory = &trace->memory;
    uint32_t lane = memory->lane[row];
    int64_t rank = lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane);
    return rank == pool->rank && memory->device_type[row] == pool->device_type &&
           memory->device[row] == pool->device && memory->kind[row] == pool->kind;
}

static size_t find_pools(const struct nl_trace *trace, struct pool pools[MAX_SERIES])
{
    size_t count = 0, at = 0;
    for (uint32_t row = 0; row < trace->memory.rows; row++) {
        uint32_t lane = trace->memory.lane[row];
        if (count && same_pool(trace, &pools[at], row))
            continue;
        for (at = 0; at < count && !same_pool(trace, &pools[at], row); at++)
            continue;
        if (at < count || count == MAX_SERIES)
            continue;
        pools[count++] =
            (struct pool){.rank = lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane),
                          .device_type = trace->memory.device_type[row],
                          .device = trace->memory.device[row],
                          .kind = trace->memory.kind[row]};
    }
    return count;
}

static int by_time(const void *a, const void *b)
{
    const struct nl_page_point *x = a, *y = b;
    return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Points of a pool: the allocator's totals where they were recorded, else the running sum. */
static size_t pool_points(const struct nl_page_source *source, const struct pool *pool,
                          const struct nl_scope *scope, struct nl_page_point *points)
{
    const struct nl_memory_table *memory = &source->trace->memory;
    size_t count = 0;
    double sum = 0;
    for (uint32_t row = 0; row < memory->rows; row++) {
        uint64_t total =
            pool->reserved ? memory->total_reserved[row] : memory->total_allocated[row];
        if (memory->ts[row] == NL_NULL_I64 || !same_pool(source->trace, pool, row) ||
            !nl_scope_moment(scope, memory->lane[row], memory->ts[row]))
            continue;
        if (pool->counted && memory->bytes[row] != NL_NULL_I64)
            points[count++] =
                (struct nl_page_point){memory->ts[row], sum += (double)memory->bytes[row]};
        else if (!pool->counted && total != NL_NULL_U64)
            points[count++] = (struct nl_page_point){memory->ts[row], (double)total};
    }
    if (count)
        qsort(points, count, sizeof *points, by_time);
    return count;
}

static bool put_pool(struct nl_json *json, const struct nl_page_source *source,
                     const struct pool *pool, const struct nl_scope *scope,
                     struct nl_page_point *points)
{
    size_t count = pool_points(source, pool, scope, points);
    struct nl_str kind = nl_trace_name(source->trace, pool->kind);
    if (count < 2)
        return false;
    nl_json_open(json, '{');
    nl_json_put_i64(json, "rank", pool->rank, pool->rank != NL_NULL_I64);
    nl_json_put_i64(json, "device_type", pool->device_type, pool->device_type != NL_NULL_I64);
    nl_json_put_i64(json, "device", pool->device, pool->device != NL_NULL_I64);
    nl_json_key(json, "kind");
    nl_json_str(json, kind);
    nl_json_put_text(json, "what",
                     pool->reserved  ? "reserved"
                     : pool->counted ? "net"
                                     : "allocated");
    nl_page_points(json, points, count, MAX_POINTS, source->trace->first_ts);
    nl_json_close(json, '}');
    return true;
}

void nl_page_memory(struct nl_json *json, const struct nl_page_source *source)
{
    struct pool pools[MAX_SERIES];
    size_t count = find_pools(source->trace, pools);
    struct nl_page_point *points =
        nl_alloc((source->trace->memory.rows + (size_t)1) * sizeof *points);
    struct nl_scope scope;
    nl_scope_init(&scope, source->trace, source->window);
    nl_json_key(json, "memory");
    nl_json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        bool recorded = put_pool(json, source, &pools[i], &scope, points);
        struct pool other = pools[i];
        other.reserved = recorded;
        other.counted = !recorded;
        (void)put_pool(json, source, &other, &scope, points);
    }
    nl_json_close(json, ']');
    nl_scope_release(&scope);
    nl_free(points);
}

/* ---- counters ---- */

/* All values as points, series by series: those of series i end at ends[i]. */
static struct nl_page_point *points_by_series(const struct nl_trace *trace, size_t *ends)
{
    const struct nl_counter_table *counter = &trace->counter;
    uint32_t series_count = trace->series.rows;
    struct nl_page_point *points = nl_alloc((counter->rows + (size_t)1) * sizeof *points);
    for (uint32_t row = 0; row < counter->rows; row++)
        if (counter->series[row] < series_count)
            ends[counter->series[row] + 1]++;
    for (uint32_t i = 0; i < series_count; i++)
        ends[i + 1] += ends[i];
    for (uint32_t row = 0; row < counter->rows; row++) { /* ends[i] moves on to the end of i */
        uint32_t series = counter->series[row];
        if (series < series_count)
            points[ends[series]++] = (struct nl_page_point){counter->ts[row], counter->value[row]};
    }
    return points;
}

/* One series, from its points; false when it has fewer than two to show. */
static bool put_counter(struct nl_json *json, const struct nl_page_source *source,
                        const struct nl_scope *scope, uint32_t series, struct nl_page_point *points,
                        size_t count)
{
    const struct nl_trace *trace = source->trace;
    uint32_t lane = trace->series.lane[series];
    size_t kept = 0;
    struct nl_buf label;
    for (size_t i = 0; i < count; i++)
        if (isfinite(points[i].value) && points[i].ts != NL_NULL_I64 &&
            nl_scope_moment(scope, lane, points[i].ts))
            points[kept++] = points[i];
    if (kept < 2)
        return false;
    if (kept)
        qsort(points, kept, sizeof *points, by_time);
    nl_buf_init(&label, 4096);
    if (lane != NL_NULL_ROW)
        nl_lane_label(&label, trace, lane);
    nl_json_open(json, '{');
    nl_json_key(json, "name");
    nl_json_str(json, nl_trace_name(trace, trace->series.name[series]));
    nl_json_key(json, "unit");
    nl_json_str(json, nl_trace_name(trace, trace->series.unit[series]));
    nl_json_key(json, "lane");
    nl_json_str(json, (struct nl_str){label.ptr ? label.ptr : "", label.len});
    nl_page_points(json, points, kept, SERIES_POINTS, trace->first_ts);
    nl_json_close(json, '}');
    nl_buf_release(&label);
    return true;
}

void nl_page_counters(struct nl_json *json, const struct nl_page_source *source)
{
    const struct nl_trace *trace = source->trace;
    uint32_t count = trace->series.rows, shown = 0;
    size_t *ends = nl_zalloc((count + (size_t)2) * sizeof *ends);
    struct nl_page_point *points = points_by_series(trace, ends);
    struct nl_scope scope;
    nl_scope_init(&scope, trace, source->window);
    nl_json_key(json, "counters");
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < count && shown < MAX_SERIES; i++) {
        size_t from = i ? ends[i - 1] : 0;
        shown += put_counter(json, source, &scope, i, points + from, ends[i] - from);
    }
    nl_json_close(json, ']');
    nl_json_put_u64(json, "counter_series", count, true);
    nl_scope_release(&scope);
    nl_free(points);
    nl_free(ends);
}

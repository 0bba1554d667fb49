/*
 * pagetimeline — one typical step as a timeline: all slices that overlap it, on their lanes, with
 * launches linked to the work they launched. It is the step of median duration among the steady
 * ones of the first rank that has any. Without steps it is as much as fits around the middle of the
 * device work, or else of everything.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/median.h"
#include "pages/pagepart.h"
#include "tables/lanelabel.h"
#include "tables/scope.h"
#include "tables/shortname.h"

#define MAX_SLICES 30000
#define MAX_LANES  96
/* When there are too many slices, those shorter than this part of the window go first. */
#define MIN_PARTS 20000

/* The part of the trace that is shown. */
struct excerpt {
    const struct nl_trace *trace;
    struct nl_scope scope;
    int64_t start, end; /* ns, store time */
    int64_t least;      /* ns; shorter slices are left out */
    uint32_t *lanes;    /* shown, in order */
    uint32_t lane_count, lanes_left_out;
    uint64_t shown, left_out; /* slices */
    uint32_t *numbers; /* per slice of the trace: its place among those shown, or NL_NULL_ROW */
    char reason[160];  /* why this part: "step 12, the median of 40 steady ones" */
};

/* ---- which window ---- */

static int by_length(const void *a, const void *b)
{
    const struct nl_found_step *left = *(const struct nl_found_step *const *)a;
    const struct nl_found_step *right = *(const struct nl_found_step *const *)b;
    int64_t x = left->end - left->start, y = right->end - right->start;
    return x < y ? -1 : x > y ? 1 : left->start < right->start ? -1 : left->start > right->start;
}

/* The steady step of median length that starts in the scope; NULL when there is none. */
static const struct nl_found_step *typical_step(const struct nl_found_steps *found,
                                                const struct nl_window *window, int64_t *rank,
                                                size_t *of)
{
    const struct nl_found_step **steps = nl_alloc((found->count + 1) * sizeof *steps), *best = NULL;
    for (size_t group = 0; group < found->group_count && !best; group++) {
        const struct nl_step_group *at = &found->groups[group];
        size_t count = 0;
        for (size_t i = at->first; i < at->first + at->count; i++)
            if (found->items[i].phase == NL_STEP_STEADY &&
                nl_step_in_window(at, &found->items[i], window))
                steps[count++] = &found->items[i];
        qsort(steps, count, sizeof *steps, by_length);
        if (count) {
            best = steps[nl_median_lower_at(count)];
            *rank = at->rank;
            *of = count;
        }
    }
    nl_free(steps);
    return best;
}

static void choose_window(struct excerpt *excerpt, const struct nl_page_source *source)
{
    const struct nl_trace *trace = source->trace;
    const struct nl_window *window = source->window;
    const struct nl_found_steps *found = nl_memo_steps(source->memo);
    int64_t rank = NL_NULL_I64;
    size_t of = 0;
    const struct nl_found_step *step = typical_step(found, window, &rank, &of);
    excerpt->start = trace->first_ts;
    excerpt->end = trace->last_ts;
    if (step) {
        char place[40] = "";
        if (rank != NL_NULL_I64)
            snprintf(place, sizeof place, " of rank %" PRId64, rank);
        excerpt->start = step->start;
        excerpt->end = step->end;
        if (of == 1)
            snprintf(excerpt->reason, sizeof excerpt->reason,
                     "step %" PRId64 "%s, the only steady one", step->index, place);
        else
            snprintf(excerpt->reason, sizeof excerpt->reason,
                     "step %" PRId64 "%s, the median of %zu steady ones", step->index, place, of);
    } else if (window->has_time) {
        excerpt->start = window->start;
        excerpt->end = window->end;
        snprintf(excerpt->reason, sizeof excerpt->reason, "the window that was asked for");
    } else {
        snprintf(excerpt->reason, sizeof excerpt->reason, "the whole profile (it has no steps)");
    }
    if (excerpt->end <= excerpt->start)
        excerpt->end = excerpt->start + 1;
}

static bool overlaps(const struct excerpt *excerpt, uint32_t slice)
{
    int64_t ts = excerpt->trace->slice.ts[slice];
    return ts < excerpt->end && nl_slice_end(excerpt->trace, slice) >= excerpt->start;
}

/* For bounds: a slice of unknown duration counts as one of none. */
static int64_t length_of(const struct excerpt *excerpt, uint32_t slice)
{
    int64_t dur = excerpt->trace->slice.dur[slice];
    return dur > 0 ? dur : 0;
}

static uint64_t count_slices(const struct excerpt *excerpt)
{
    uint64_t count = 0;
    for (uint32_t slice = 0; slice < excerpt->trace->slice.rows; slice++)
        count += overlaps(excerpt, slice) &&
                 nl_scope_lane(&excerpt->scope, excerpt->trace->slice.lane[slice]);
    return count;
}

/* Without steps a long profile is halved around the middle of its device work until it fits. */
static void narrow(struct excerpt *excerpt, const struct nl_page_source *source)
{
    size_t count = 0;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(source->memo, &count);
    int64_t middle = excerpt->start + (excerpt->end - excerpt->start) / 2;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kernels && rows[i].wall_ns > 0) {
            middle = rows[i].start_ns + rows[i].wall_ns / 2;
            break;
        }
    if (count_slices(excerpt) <= MAX_SLICES)
        return;
    for (int64_t half = (excerpt->end - excerpt->start) / 2; half > 1000; half /= 2) {
        excerpt->start = middle - half;
        excerpt->end = middle + half;
        if (count_slices(excerpt) <= MAX_SLICES)
            break;
    }
    char length[NL_UNIT_TEXT];
    snprintf(excerpt->reason, sizeof excerpt->reason, "%s in the middle (the profile has no steps)",
             nl_format_ns(length, excerpt->end - excerpt->start));
}

/* A step with too many slices loses the shortest, which are counted. */
static void bound_lengths(struct excerpt *excerpt)
{
    excerpt->least = 0;
    for (int64_t least = (excerpt->end - excerpt->start) / MIN_PARTS + 1;; least *= 2) {
        uint64_t count = 0;
        for (uint32_t slice = 0; slice < excerpt->trace->slice.rows; slice++)
            count += overlaps(excerpt, slice) && length_of(excerpt, slice) >= excerpt->least &&
                     nl_scope_lane(&excerpt->scope, excerpt->trace->slice.lane[slice]);
        if (count <= MAX_SLICES)
            break;
        excerpt->least = least;
    }
}

/* ---- which lanes ---- */

/* Streams of a device first, then threads; sub-lanes next to their lane. */
static int lane_order(unsigned kind)
{
    switch (kind) {
    case NL_LANE_DEVICE: return 0;
    case NL_LANE_STREAM: return 1;
    case NL_LANE_GPU_ANNOTATION: return 2;
    case NL_LANE_SYNC: return 3;
    case NL_LANE_NVTX: return 4;
    case NL_LANE_ANNOTATION: return 5;
    case NL_LANE_PYTHON: return 6;
    case NL_LANE_THREAD: return 7;
    default: return 8;
    }
}

struct lane_key {
    int64_t rank, ordinal;
    int order;
    uint32_t lane;
};

static int by_place(const void *a, const void *b)
{
    const struct lane_key *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    if (x->order != y->order)
        return x->order - y->order;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static uint64_t shown_of_lane(const struct excerpt *excerpt, uint32_t lane)
{
    const struct nl_trace *trace = excerpt->trace;
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace->lane.count[lane]; i++) {
        uint32_t slice = trace->lane.first[lane] + i;
        count += overlaps(excerpt, slice) && length_of(excerpt, slice) >= excerpt->least;
    }
    return count;
}

static void choose_lanes(struct excerpt *excerpt)
{
    const struct nl_trace *trace = excerpt->trace;
    struct lane_key *keys = nl_alloc((trace->lane.rows + 1) * sizeof *keys);
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (!trace->lane.count[lane] || !nl_scope_lane(&excerpt->scope, lane) ||
            !shown_of_lane(excerpt, lane))
            continue;
        int64_t ordinal = nl_lane_ordinal(trace, lane);
        keys[count++] = (struct lane_key){nl_lane_rank(trace, lane),
                                          ordinal == NL_NULL_I64 ? INT64_MAX : ordinal,
                                          lane_order(trace->lane.kind[lane]), lane};
    }
    if (count)
        qsort(keys, count, sizeof *keys, by_place);
    excerpt->lane_count = count < MAX_LANES ? count : MAX_LANES;
    excerpt->lanes_left_out = count - excerpt->lane_count;
    excerpt->lanes = nl_alloc((excerpt->lane_count + 1) * sizeof *excerpt->lanes);
    for (uint32_t i = 0; i < excerpt->lane_count; i++)
        excerpt->lanes[i] = keys[i].lane;
    nl_free(keys);
}

/* ---- names ---- */

/* The names shown, each with the kind of the slices that have it. */
struct names {
    uint64_t *keys; /* kind << 32 | name id of the trace */
    uint32_t count;
    size_t cap;
    struct nl_idmap numbers;
};

static unsigned kind_code(const struct nl_trace *trace, uint32_t slice)
{
    unsigned kind = trace->slice.kind[slice];
    uint32_t row = trace->slice.detail[slice];
    if (kind == NL_KIND_KERNEL && row < trace->kernel.rows)
        return NL_PAGE_CLASS + trace->kernel.class[row];
    return kind == NL_KIND_MEMCPY   ? NL_PAGE_CLASS + NL_CLASS_COPY
           : kind == NL_KIND_MEMSET ? NL_PAGE_CLASS + NL_CLASS_MEMSET
                                    : kind;
}

static uint32_t number_name(struct names *names, uint64_t key)
{
    uint32_t number = nl_idmap_get(&names->numbers, key);
    if (number != NL_NO_ROW)
        return number;
    nl_grow(&names->keys, &names->cap, (size_t)names->count + 1);
    names->keys[names->count] = key;
    nl_idmap_put(&names->numbers, key, names->count);
    return names->count++;
}

/* ---- writing ---- */

static void put_label(struct nl_json *json, const struct nl_trace *trace, uint32_t lane)
{
    struct nl_buf text;
    nl_buf_init(&text, 4096);
    nl_lane_label(&text, trace, lane);
    nl_json_put_text(json, "label", text.ptr);
    nl_buf_release(&text);
}

enum column { COLUMN_START, COLUMN_LENGTH, COLUMN_NAME, COLUMN_DEPTH, COLUMN_LINK };

static int64_t value_of(struct excerpt *excerpt, struct names *names, uint32_t slice,
                        enum column column, int64_t *last)
{
    const struct nl_slice_table *table = &excerpt->trace->slice;
    uint32_t link = table->link[slice];
    int64_t start = table->ts[slice] - excerpt->start, before = *last;
    switch (column) {
    case COLUMN_START: *last = start; return start - before;
    case COLUMN_LENGTH: return table->dur[slice] == NL_NULL_I64 ? -1 : table->dur[slice];
    case COLUMN_NAME:
        return number_name(names,
                           (uint64_t)kind_code(excerpt->trace, slice) << 32 | table->name[slice]);
    case COLUMN_DEPTH: return table->depth[slice];
    case COLUMN_LINK:
        return link == NL_NULL_ROW || excerpt->numbers[link] == NL_NULL_ROW
                   ? -1
                   : (int64_t)excerpt->numbers[link];
    }
    return 0;
}

static void put_column(struct nl_json *json, const char *key, struct excerpt *excerpt,
                       struct names *names, uint32_t lane, enum column column)
{
    const struct nl_trace *trace = excerpt->trace;
    int64_t last = 0;
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < trace->lane.count[lane]; i++) {
        uint32_t slice = trace->lane.first[lane] + i;
        if (excerpt->numbers[slice] != NL_NULL_ROW)
            nl_json_i64(json, value_of(excerpt, names, slice, column, &last));
    }
    nl_json_close(json, ']');
}

/* Numbers the slices of the lanes in the order in which they are written. */
static void number_slices(struct excerpt *excerpt)
{
    const struct nl_trace *trace = excerpt->trace;
    excerpt->numbers = nl_no_rows(trace->slice.rows + 1u);
    for (uint32_t i = 0; i < excerpt->lane_count; i++)
        for (uint32_t j = 0; j < trace->lane.count[excerpt->lanes[i]]; j++) {
            uint32_t slice = trace->lane.first[excerpt->lanes[i]] + j;
            if (!overlaps(excerpt, slice))
                continue;
            if (length_of(excerpt, slice) < excerpt->least)
                excerpt->left_out++;
            else
                excerpt->numbers[slice] = (uint32_t)excerpt->shown++;
        }
}

static void put_lane(struct nl_json *json, struct excerpt *excerpt, struct names *names,
                     uint32_t lane)
{
    const struct nl_trace *trace = excerpt->trace;
    uint32_t process = trace->lane.process[lane];
    bool host = trace->lane.device[lane] == NL_NULL_ROW;
    nl_json_open(json, '{');
    put_label(json, trace, lane);
    nl_json_put_text(json, "kind", nl_enum_text(NL_ENUM_lanekind, trace->lane.kind[lane]));
    nl_json_put_i64(json, "rank", nl_lane_rank(trace, lane),
                    nl_lane_rank(trace, lane) != NL_NULL_I64);
    nl_json_put_i64(json, "device", nl_lane_ordinal(trace, lane),
                    nl_lane_ordinal(trace, lane) != NL_NULL_I64);
    nl_json_put_i64(json, "pid", process == NL_NULL_ROW ? 0 : trace->process.pid[process],
                    process != NL_NULL_ROW && trace->process.pid[process] != NL_NULL_I64);
    nl_json_key(json, "host");
    nl_json_bool(json, host);
    put_column(json, "t", excerpt, names, lane, COLUMN_START);
    put_column(json, "d", excerpt, names, lane, COLUMN_LENGTH);
    put_column(json, "n", excerpt, names, lane, COLUMN_NAME);
    if (trace->lane.depth[lane] > 1)
        put_column(json, "y", excerpt, names, lane, COLUMN_DEPTH);
    put_column(json, "l", excerpt, names, lane, COLUMN_LINK);
    nl_json_close(json, '}');
}

static void put_slice_names(struct nl_json *json, const struct nl_trace *trace,
                            const struct names *names)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 16);
    nl_json_key(json, "names");
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < names->count; i++) {
        nl_buf_clear(&text);
        nl_elide_name(&text, nl_trace_name(trace, (uint32_t)names->keys[i]), NL_MAX_PAGE_NAME);
        nl_json_str(json, (struct nl_str){text.ptr ? text.ptr : "", text.len});
    }
    nl_json_close(json, ']');
    nl_json_key(json, "kinds");
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < names->count; i++)
        nl_json_u64(json, names->keys[i] >> 32);
    nl_json_close(json, ']');
    nl_buf_release(&text);
}

void nl_page_timeline(struct nl_json *json, const struct nl_page_source *source)
{
    struct excerpt excerpt = {.trace = source->trace};
    struct nl_window place = *source->window;
    struct names names = {0};
    place.has_time = false;
    nl_json_key(json, "timeline");
    if (!source->trace->slice.rows) {
        nl_json_null(json);
        return;
    }
    nl_scope_init(&excerpt.scope, source->trace, &place);
    choose_window(&excerpt, source);
    if (excerpt.start == source->trace->first_ts && excerpt.end == source->trace->last_ts)
        narrow(&excerpt, source);
    bound_lengths(&excerpt);
    choose_lanes(&excerpt);
    number_slices(&excerpt);
    nl_json_open(json, '{');
    nl_json_put_i64(json, "start_ns", excerpt.start - source->trace->first_ts, true);
    nl_json_put_i64(json, "dur_ns", excerpt.end - excerpt.start, true);
    nl_json_put_text(json, "reason", excerpt.reason);
    nl_json_put_u64(json, "slices", excerpt.shown, true);
    nl_json_put_u64(json, "left_out", excerpt.left_out, true);
    nl_json_put_i64(json, "least_ns", excerpt.least, true);
    nl_json_put_u64(json, "lanes_left_out", excerpt.lanes_left_out, true);
    nl_json_key(json, "lanes");
    nl_json_open(json, '[');
    for (uint32_t i = 0; i < excerpt.lane_count; i++)
        put_lane(json, &excerpt, &names, excerpt.lanes[i]);
    nl_json_close(json, ']');
    put_slice_names(json, source->trace, &names);
    nl_json_close(json, '}');
    nl_free(names.keys);
    nl_idmap_release(&names.numbers);
    nl_free(excerpt.numbers);
    nl_free(excerpt.lanes);
    nl_scope_release(&excerpt.scope);
}

/*
 * Parts of time that no device spent: self times of ranges on threads, layers of compiled models,
 * and functions of CPU profiles, as the analyses of those have them.
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "tables/lookup.h"
#include "tables/scope.h"
#include "base/mem.h"
#include "base/units.h"
#include "compare/diffsums.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "tables/analyses.h"

#define MAX_NAME ((size_t)4096) /* of an operation; the rest of a longer one is cut */

/* ---- ranges on threads ---- */

struct host {
    struct diff_side *side;
    struct diff_parts *parts;
    struct nl_scope scope;
    uint32_t *by_name; /* part + 1 */
    int64_t *self;     /* per range of the tree */
    int64_t *kept;     /* the same of what other programs took */
    uint32_t *types;   /* per slice: kind of a model's node, such as Conv; NULL = there are none */
};

static uint32_t *node_types(const struct nl_trace *trace)
{
    if (!trace->node.rows)
        return NULL;
    uint32_t *types = nl_zalloc((trace->slice.rows + (size_t)1) * sizeof *types);
    for (uint32_t row = 0; row < trace->node.rows; row++)
        if (trace->node.slice[row] != NL_NULL_ROW)
            types[trace->node.slice[row]] = trace->node.type[row];
    return types;
}

static int64_t kept_in(const struct host *host, uint32_t slice)
{
    const struct nl_trace *trace = host->side->trace;
    return nl_preempt_in(host->side->preempt, trace->lane.thread[trace->slice.lane[slice]],
                         trace->slice.ts[slice], nl_slice_end(trace, slice));
}

static void take_from_parent(int64_t *values, const struct nl_rangetree *tree, uint32_t range,
                             int64_t value)
{
    values[range] = diff_sum(values[range], value);
    if (tree->parents[range] != NL_NULL_ROW)
        values[tree->parents[range]] = diff_sum(values[tree->parents[range]], -value);
}

/* Length without what ranges of the same kind inside it cover, and without what other programs
 * took; never below 0. */
static void find_self_times(struct host *host, const struct nl_rangetree *tree)
{
    const struct nl_slice_table *slice = &host->side->trace->slice;
    host->self = nl_zalloc((tree->count + (size_t)1) * sizeof *host->self);
    host->kept = nl_zalloc((tree->count + (size_t)1) * sizeof *host->kept);
    for (uint32_t i = 0; i < tree->count; i++) {
        int64_t kept = host->side->preempt ? kept_in(host, tree->slices[i]) : 0;
        take_from_parent(host->self, tree, i, diff_sum(slice->dur[tree->slices[i]], -kept));
        take_from_parent(host->kept, tree, i, kept);
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        host->self[i] = host->self[i] > 0 ? host->self[i] : 0;
        host->kept[i] = host->kept[i] > 0 ? host->kept[i] : 0;
    }
}

/* Whether a range counts, and the step that it begins in. */
static bool find_span(struct host *host, uint32_t slice, size_t *span)
{
    const struct nl_trace *trace = host->side->trace;
    *span = SIZE_MAX;
    if (!host->side->by_step)
        return nl_scope_length(&host->scope, slice) >= 0;
    const struct diff_device *rank =
        diff_device_of_rank(host->side, nl_lane_rank(trace, trace->slice.lane[slice]));
    if (rank)
        *span = diff_span_at(host->side, rank, trace->slice.ts[slice]);
    return *span != SIZE_MAX;
}

static void add_to(struct host *host, struct diff_part *part, size_t span, int64_t self,
                   int64_t kept)
{
    part->count++;
    part->sum = diff_sum(part->sum, self);
    host->side->kept_ns = diff_sum(host->side->kept_ns, kept);
    if (span == SIZE_MAX)
        return;
    struct diff_span *step = &host->side->spans[span];
    step->sum = diff_sum(step->sum, self);
    part->blocks[step->block] = diff_sum(part->blocks[step->block], self);
}

static void add_range(struct host *host, uint32_t slice, int64_t self, int64_t kept)
{
    const struct nl_trace *trace = host->side->trace;
    uint32_t name = trace->slice.name[slice];
    size_t span;
    if (!find_span(host, slice, &span))
        return;
    if (!host->by_name[name]) {
        diff_part_add(host->parts, DIFF_HOST, nl_trace_name(trace, name))->owner =
            host->types ? nl_trace_name(trace, host->types[slice]) : (struct nl_str){"", 0};
        host->by_name[name] = (uint32_t)host->parts->count;
    }
    add_to(host, &host->parts->items[host->by_name[name] - 1], span, self, kept);
}

/* "nccl-tests in-place, 4.000 GiB": operations take as long as their messages
 * are, so each size is a part. */
static void put_operation(struct nl_buf *out, const struct nl_trace *trace, uint32_t row)
{
    struct nl_str name = nl_trace_name(trace, trace->slice.name[trace->collective.slice[row]]);
    char size[NL_UNIT_TEXT];
    nl_buf_clear(out);
    nl_buf_add(out, name.ptr, nl_utf8_cut(name.ptr, name.len, MAX_NAME));
    if (trace->collective.bytes[row] != NL_NULL_U64)
        nl_buf_format(out, ", %s", nl_format_bytes(size, trace->collective.bytes[row]));
}

/* Communication that is on no thread: of benchmarks, and as the library itself recorded it. */
static void add_operations(struct host *host)
{
    const struct nl_trace *trace = host->side->trace;
    struct nl_dict names;
    struct nl_buf name;
    uint32_t *parts = nl_zalloc((trace->collective.rows + (size_t)2) * sizeof *parts);
    nl_dict_init(&names);
    nl_buf_init(&name, MAX_NAME + NL_UNIT_TEXT + 2);
    for (uint32_t row = 0; row < trace->collective.rows; row++) {
        uint32_t slice = trace->collective.slice[row];
        size_t span;
        if (slice == NL_NULL_ROW || trace->slice.kind[slice] != NL_KIND_COLLECTIVE ||
            trace->slice.flags[slice] & NL_SLICE_CLAMPED || trace->slice.dur[slice] <= 0 ||
            !find_span(host, slice, &span))
            continue;
        put_operation(&name, trace, row);
        uint32_t id = nl_dict_add(&names, (struct nl_str){name.ptr, name.len});
        if (!parts[id]) {
            diff_part_add(host->parts, DIFF_HOST,
                          nl_str(nl_arena_text(&host->parts->arena, name.ptr, name.len)));
            parts[id] = (uint32_t)host->parts->count;
        }
        add_to(host, &host->parts->items[parts[id] - 1], span, trace->slice.dur[slice], 0);
    }
    nl_buf_release(&name);
    nl_dict_release(&names);
    nl_free(parts);
}

void diff_parts_host(struct diff_parts *parts, struct diff_side *side)
{
    struct nl_rangetree tree;
    struct host host = {.side = side, .parts = parts};
    struct nl_window window = side->window;
    window.has_device = false; /* says nothing about the CPU */
    nl_scope_init(&host.scope, side->trace, &window);
    nl_rangetree_init(&tree, side->trace, side->host_kind);
    host.by_name = nl_zalloc((side->trace->names.count + (size_t)1) * sizeof *host.by_name);
    host.types = node_types(side->trace);
    find_self_times(&host, &tree);
    for (size_t i = 0; i < side->span_count; i++)
        side->spans[i].sum = 0;
    side->kept_ns = 0;
    for (uint32_t i = 0; i < tree.count; i++)
        add_range(&host, tree.slices[i], host.self[i], host.kept[i]);
    if (!tree.count && side->host_kind == NL_KIND_COLLECTIVE)
        add_operations(&host);
    nl_free(host.kept);
    nl_free(host.types);
    nl_free(host.self);
    nl_free(host.by_name);
    nl_rangetree_release(&tree);
    nl_scope_release(&host.scope);
}

/* ---- analyses ---- */

/* The analysis of a side, if it has rows with a value. */
static bool ask(struct diff_side *side, const struct nl_analysis *analysis, const char *value)
{
    struct nl_err err = {0};
    struct nl_result *result = NULL;
    if (!nl_analysis_lacks(analysis, side->trace))
        result = nl_analysis_run(analysis, side->trace, &side->options, NULL, &err);
    if (side->functions)
        nl_result_free(side->functions);
    side->functions = result;
    for (size_t row = 0; result && row < result->rows; row++)
        if (nl_lookup_i64(result, row, value) != NL_NULL_I64)
            return true;
    return false;
}

bool diff_layers_allow(struct diff_side *side)
{
    return ask(side, &nl_analysis_model_layers, "total_ns");
}

/* Whether another row says the same of an event in the same unit. */
static bool has_kind(const struct nl_result *result, struct nl_str event, struct nl_str unit,
                     size_t *row)
{
    for (*row = 0; *row < result->rows; ++*row)
        if (nl_str_eq(nl_lookup_text(result, *row, "event"), event) &&
            nl_str_eq(nl_lookup_text(result, *row, "unit"), unit))
            return true;
    return false;
}

/* Where all sampled it: the sum of the places it has in each; SIZE_MAX where one did not. */
static size_t places_of(struct diff_side *const *captures, size_t count, struct nl_str event,
                        struct nl_str unit)
{
    size_t sum = 0, place;
    for (size_t i = 0; i < count; i++) {
        if (!has_kind(captures[i]->functions, event, unit, &place))
            return SIZE_MAX;
        sum += place;
    }
    return sum;
}

/* What all sampled: of several events the one that stands first in all, of memory the bytes before
 * the objects. The texts are the first capture's. */
static bool find_event(struct diff_side *const *captures, size_t count)
{
    const struct nl_result *first = captures[0]->functions;
    struct nl_str event = {0}, unit = {0};
    size_t best = SIZE_MAX;
    for (size_t row = 0; row < first->rows; row++) {
        struct nl_str own = nl_lookup_text(first, row, "event"),
                      its = nl_lookup_text(first, row, "unit");
        size_t sum = places_of(captures, count, own, its);
        bool bytes = nl_str_is(its, "bytes"), had = nl_str_is(unit, "bytes");
        bool later = sum > best || (sum == best && nl_str_order(own, event) >= 0);
        if (sum == SIZE_MAX || (bytes == had ? later : had))
            continue;
        best = sum;
        event = own;
        unit = its;
    }
    for (size_t i = 0; i < count; i++) {
        captures[i]->event = event;
        captures[i]->weight = unit;
    }
    return best != SIZE_MAX;
}

static bool ask_all(struct diff_side *const *captures, size_t count,
                    const struct nl_analysis *analysis, const char *value)
{
    for (size_t i = 0; i < count; i++)
        if (!ask(captures[i], analysis, value))
            return false;
    return true;
}

bool diff_functions_allow(struct diff_side *const *captures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        captures[i]->weight = nl_str("ns");
        captures[i]->event = nl_str("");
    }
    return ask_all(captures, count, &nl_analysis_call_sums, "self_ns") ||
           (ask_all(captures, count, &nl_analysis_cpu_samples, "self_weight") &&
            find_event(captures, count));
}

static void add_function(struct diff_parts *parts, const struct diff_side *side, size_t row)
{
    const struct nl_result *result = side->functions;
    bool samples = nl_lookup_column(result, "self_weight") >= 0;
    struct nl_str name = nl_lookup_text(result, row, samples ? "function" : "name");
    struct nl_str place = nl_lookup_text(result, row, "place");
    int64_t self = nl_lookup_i64(result, row, samples ? "self_weight" : "self_ns");
    if (self == NL_NULL_I64 || self < 0 ||
        (samples && (!nl_str_eq(nl_lookup_text(result, row, "event"), side->event) ||
                     !nl_str_eq(nl_lookup_text(result, row, "unit"), side->weight))))
        return;
    struct nl_str whole = name;
    if (place.len) {
        whole = nl_str(nl_arena_format(&parts->arena, "%.*s (%.*s)", (int)name.len, name.ptr,
                                       (int)place.len, place.ptr));
    }
    struct diff_part *part = diff_part_add(parts, DIFF_HOST, whole);
    part->folded = name; /* the file may be elsewhere */
    part->sum = self;
    part->count = samples ? NL_NULL_U64 : (uint64_t)nl_lookup_i64(result, row, "count");
    if (!samples && nl_lookup_i64(result, row, "count") == NL_NULL_I64)
        part->count = NL_NULL_U64;
}

/* Sums of the GPU and of the calls that wait for it must not be added. */
static bool is_of_device(const struct nl_result *result)
{
    for (size_t row = 0; row < result->rows; row++)
        if (nl_str_is(nl_lookup_text(result, row, "place"), "GPU activities"))
            return true;
    return false;
}

static void add_functions(struct diff_parts *parts, struct diff_side *side)
{
    bool device = is_of_device(side->functions);
    for (size_t row = 0; row < side->functions->rows; row++)
        if (!device || nl_str_is(nl_lookup_text(side->functions, row, "place"), "GPU activities"))
            add_function(parts, side, row);
}

static void add_layers(struct diff_parts *parts, struct diff_side *side)
{
    const struct nl_result *result = side->functions;
    int64_t executions = NL_NULL_I64;
    for (size_t row = 0; row < result->rows; row++) {
        int64_t total = nl_lookup_i64(result, row, "total_ns"),
                count = nl_lookup_i64(result, row, "count");
        if (total == NL_NULL_I64 || total < 0)
            continue;
        struct diff_part *part =
            diff_part_add(parts, DIFF_HOST, nl_lookup_text(result, row, "layer"));
        part->owner = nl_lookup_text(result, row, "type");
        part->sum = total;
        part->count = count < 0 ? NL_NULL_U64 : (uint64_t)count;
        bool first = parts->count == 1;
        executions = first || executions == count ? count : 0;
    }
    if (executions > 0) /* of the whole model, the same for every layer */
        side->units = (uint64_t)executions;
}

void diff_parts_result(struct diff_parts *parts, struct diff_side *side)
{
    side->units = 1;
    if (side->unit == DIFF_BY_LAYER)
        add_layers(parts, side);
    else
        add_functions(parts, side);
}

/* Ranges that stand for iterations, and how sure — see stepranges.h. */
#include "timeline/stepranges.h"

#include <stdlib.h>

#include "base/mem.h"
#include "timeline/stepname.h"

#define MIN_NUMBERED    2
#define MIN_UNNUMBERED  3
#define MAX_OVERLAPPING 0.1 /* share of ranges that begin inside another */

#define RULE_UNSEEN 0
#define RULE_NONE   1
#define RULE_FIRST  2

static int by_place(const void *left, const void *right)
{
    const struct nl_step_range *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rule != b->rule)
        return a->rule < b->rule ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

/* What was found in a name that came before: its rule, and its number. */
struct known {
    uint8_t *rules;   /* per name: RULE_UNSEEN, RULE_NONE, or RULE_FIRST + the rule */
    int64_t *numbers; /* per name; NULL until one has a rule */
};

/* The rule of a name, or -1. */
static int rule_of(struct known *known, const struct nl_trace *trace, uint32_t name,
                   int64_t *number)
{
    if (known->rules[name] == RULE_UNSEEN) {
        int rule = nl_step_rule_of(nl_trace_name(trace, name), number);
        known->rules[name] = (uint8_t)(rule < 0 ? RULE_NONE : RULE_FIRST + rule);
        if (rule >= 0 && !known->numbers)
            known->numbers = nl_zalloc(trace->names.count * sizeof *known->numbers);
        if (rule >= 0)
            known->numbers[name] = *number;
    }
    if (known->rules[name] == RULE_NONE)
        return -1;
    *number = known->numbers[name];
    return known->rules[name] - RULE_FIRST;
}

static void take_range(struct nl_step_ranges *ranges, const struct nl_trace *trace,
                       struct known *known, uint32_t slice)
{
    uint32_t name = trace->slice.name[slice], lane = trace->slice.lane[slice];
    int64_t number;
    if (known->rules[name] == RULE_NONE || trace->slice.dur[slice] == NL_NULL_I64 ||
        trace->slice.dur[slice] == 0)
        return;
    int rule = rule_of(known, trace, name, &number);
    if (rule < 0)
        return;
    nl_grow(&ranges->items, &ranges->cap, ranges->count + 1);
    ranges->items[ranges->count++] = (struct nl_step_range){.rank = nl_lane_rank(trace, lane),
                                                            .start = trace->slice.ts[slice],
                                                            .end = nl_slice_end(trace, slice),
                                                            .number = number,
                                                            .slice = slice,
                                                            .thread = trace->lane.thread[lane],
                                                            .rule = rule};
}

/* NVTX ranges and annotations; in traces without any, which say no kinds, all slices of threads. */
static void collect_ranges(struct nl_step_ranges *ranges, const struct nl_trace *trace)
{
    struct known known = {.rules = nl_zalloc(trace->names.count)};
    for (uint32_t row = 0; row < trace->nvtx.rows; row++)
        if (trace->nvtx.slice[row] != NL_NULL_ROW)
            take_range(ranges, trace, &known, trace->nvtx.slice[row]);
    for (uint32_t row = 0; row < trace->slice.rows && !trace->nvtx.rows; row++)
        if (trace->slice.kind[row] == NL_KIND_GENERIC)
            take_range(ranges, trace, &known, row);
    nl_free(known.rules);
    nl_free(known.numbers);
}

/* First start and last end of the rank's kernels, else of the whole profile. */
static void extent_of(const struct nl_trace *trace, int64_t rank, int64_t *start, int64_t *end)
{
    *start = INT64_MAX;
    *end = INT64_MIN;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t first = trace->lane.first[lane], count = trace->lane.count[lane];
        if (trace->lane.kind[lane] != NL_LANE_STREAM || !count || nl_lane_rank(trace, lane) != rank)
            continue;
        for (uint32_t row = first; row < first + count; row++) {
            if (trace->slice.kind[row] != NL_KIND_KERNEL)
                continue;
            *start = trace->slice.ts[row] < *start ? trace->slice.ts[row] : *start;
            *end = nl_slice_end(trace, row) > *end ? nl_slice_end(trace, row) : *end;
        }
    }
    if (*start >= *end) {
        *start = trace->first_ts;
        *end = trace->last_ts;
    }
}

/* Part of [start, end) from the first to the last of the ranges. */
static double coverage(const struct nl_step_range *items, size_t count, int64_t start, int64_t end)
{
    int64_t from = items[0].start > start ? items[0].start : start;
    int64_t to = items[count - 1].end < end ? items[count - 1].end : end;
    return end > start && to > from ? (double)(to - from) / (double)(end - start) : 0;
}

/* Numbers that do not grow make it less sure, as does much device work outside. */
static double judge_ranges(const struct nl_trace *trace, const struct nl_step_range *items,
                           size_t count)
{
    size_t overlapping = 0, backwards = 0;
    bool numbered = items[0].number != NL_NULL_I64;
    if (count < (numbered ? MIN_NUMBERED : MIN_UNNUMBERED))
        return 0;
    for (size_t i = 1; i < count; i++) {
        overlapping += items[i].start < items[i - 1].end;
        backwards += numbered && items[i].number <= items[i - 1].number;
    }
    if ((double)overlapping > MAX_OVERLAPPING * (double)count)
        return 0;
    int64_t start, end;
    extent_of(trace, items[0].rank, &start, &end);
    double confidence = nl_step_rules[items[0].rule].confidence;
    double covered = coverage(items, count, start, end);
    if (backwards)
        confidence *= 0.8;
    return covered < 0.5 ? confidence * (0.5 + covered) : confidence;
}

void nl_step_ranges_init(struct nl_step_ranges *ranges, const struct nl_trace *trace)
{
    *ranges = (struct nl_step_ranges){0};
    collect_ranges(ranges, trace);
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, by_place);
    for (size_t first = 0, next; first < ranges->count; first = next) {
        const struct nl_step_range *a = &ranges->items[first], *b;
        for (next = first + 1; next < ranges->count; next++) {
            b = &ranges->items[next];
            if (b->rank != a->rank || b->rule != a->rule || b->thread != a->thread)
                break;
        }
        nl_grow(&ranges->candidates, &ranges->candidate_cap, ranges->candidate_count + 1);
        ranges->candidates[ranges->candidate_count++] =
            (struct nl_step_candidate){.rank = a->rank,
                                       .rule = a->rule,
                                       .confidence = judge_ranges(trace, a, next - first),
                                       .first = first,
                                       .count = next - first};
    }
}

void nl_step_ranges_release(struct nl_step_ranges *ranges)
{
    nl_free(ranges->items);
    nl_free(ranges->candidates);
    *ranges = (struct nl_step_ranges){0};
}

const struct nl_step_candidate *nl_step_ranges_best(const struct nl_step_ranges *ranges,
                                                    int64_t rank)
{
    const struct nl_step_candidate *best = NULL;
    for (size_t i = 0; i < ranges->candidate_count; i++) {
        const struct nl_step_candidate *candidate = &ranges->candidates[i];
        if (candidate->rank == rank && candidate->confidence > 0 &&
            (!best || candidate->confidence > best->confidence))
            best = candidate;
    }
    return best;
}

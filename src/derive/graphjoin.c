/*
 * The join of graph replays to the capture of their graph.
 *
 * While a graph is captured, its kernels are launched but do not run: operators, modules and Python
 * functions are there, times are not. Of replays it is the other way round: one call launches all
 * kernels. A replay is joined to a capture when both have the same names of kernels in the same
 * order, and no other capture that fits would say anything else. Where only modules or Python
 * functions differ (graphs of equal layers), the replays get the operators alone. A replay whose
 * kernels ran at the same time, or whose graph was captured from several streams, keeps no order:
 * there the kernels whose name occurs once are joined.
 *
 * What a capture says becomes slices without a length (capturedrows.c), so its time never counts.
 */
#include "derive/graphjoin.h"

#include <stdio.h>
#include <stdlib.h>

#include "derive/capturedrows.h"
#include "derive/graphfind.h"

struct join {
    struct nl_trace *trace;
    struct nl_graph_finder finder;
    struct nl_captured_rows rows;
    struct { /* kernels of replays */
        uint64_t all, given, operators, unknown, several, unordered;
    } count;
    uint64_t replays, in_part; /* in_part: without their last kernels */
};

/* ---- Replays. ---- */

static int by_launch(const void *left, const void *right)
{
    const struct nl_replayed *a = left, *b = right;
    if (a->launch != b->launch)
        return a->launch < b->launch ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
}

static struct nl_replayed *list_replayed(const struct nl_trace *trace, size_t *count)
{
    enum { NOT_ASKED, NO, YES };
    struct nl_replayed *items = NULL;
    size_t cap = 0;
    uint8_t *graphs = nl_zalloc(trace->names.count + (size_t)1);
    *count = 0;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        uint32_t launch = slice == NL_NULL_ROW ? NL_NULL_ROW : trace->slice.link[slice];
        if (launch == NL_NULL_ROW || trace->slice.kind[launch] != NL_KIND_API)
            continue;
        uint8_t *graph = &graphs[trace->slice.name[launch]];
        if (*graph == NOT_ASKED)
            *graph = nl_str_contains(nl_trace_name(trace, trace->slice.name[launch]), "GraphLaunch")
                         ? YES
                         : NO;
        if (*graph == NO)
            continue;
        nl_grow(&items, &cap, *count + 1);
        items[(*count)++] = (struct nl_replayed){launch, row, trace->slice.ts[slice]};
    }
    nl_free(graphs);
    if (*count)
        qsort(items, *count, sizeof *items, by_launch);
    return items;
}

static struct nl_replay replay_of(const struct nl_trace *trace, const struct nl_replayed *kernels,
                                  size_t count)
{
    struct nl_replay replay = {.kernels = kernels, .count = count, .serial = true};
    uint32_t before = NL_NULL_ROW;
    replay.process = nl_slice_process(trace, kernels[0].launch);
    for (size_t i = 0; i < count; i++) {
        uint32_t slice = trace->kernel.slice[kernels[i].kernel];
        uint32_t name = trace->slice.name[slice];
        replay.in_order = nl_capture_next(replay.in_order, name);
        replay.as_set += nl_hash_number(name);
        if (before != NL_NULL_ROW)
            replay.serial &= trace->slice.lane[before] == trace->slice.lane[slice] &&
                             nl_slice_end(trace, before) <= trace->slice.ts[slice] &&
                             trace->slice.ts[before] < trace->slice.ts[slice];
        before = slice;
    }
    return replay;
}

/* ---- What it gives. ---- */

static void give(struct join *join, const struct nl_graph_captures *side, uint32_t call,
                 uint32_t kernel, uint32_t process, bool operators)
{
    nl_chain_find(&join->finder.chain, side->trace, call);
    uint32_t row = nl_captured_rows_put(&join->rows, &join->finder.chain, process, operators);
    join->count.given++;
    if (row == NL_NO_ROW)
        return;
    join->trace->kernel.captured[kernel] = row; /* final when all are known */
    join->count.operators++;
}

static void give_in_order(struct join *join, const struct nl_replay *replay,
                          const struct nl_graph_captures *side, const struct nl_capture *capture,
                          bool operators)
{
    join->in_part += replay->count < capture->count;
    for (uint32_t i = 0; i < replay->count; i++)
        give(join, side, side->launches[capture->first + i].slice, replay->kernels[i].kernel,
             replay->process, operators);
}

/* The names that occur once. */
static void give_by_name(struct join *join, const struct nl_replay *replay,
                         const struct nl_graph_captures *side, const struct nl_capture *capture,
                         bool operators)
{
    const struct nl_graph_finder *finder = &join->finder;
    nl_graph_sort_names(&join->finder, replay, side, capture);
    for (uint32_t i = 0; i < capture->count; i++) {
        uint32_t name = finder->left[i].name;
        bool once = (!i || finder->left[i - 1].name != name) &&
                    (i + 1 == capture->count || finder->left[i + 1].name != name);
        if (!once) {
            join->count.unordered++;
            continue;
        }
        give(join, side, side->launches[capture->first + finder->right[i].at].slice,
             replay->kernels[finder->left[i].at].kernel, replay->process, operators);
    }
}

static void join_replay(struct join *join, const struct nl_replay *replay,
                        const struct nl_graph_found *found)
{
    uint64_t before = join->count.given;
    join->count.all += replay->count;
    if (!found->capture)
        *(found->several ? &join->count.several : &join->count.unknown) += replay->count;
    else if (replay->serial && !found->capture->forked)
        give_in_order(join, replay, found->side, found->capture, found->operators);
    else
        give_by_name(join, replay, found->side, found->capture, found->operators);
    join->replays += join->count.given > before;
}

/* The replay that begins at `first`. */
static struct nl_replay next_replay(const struct join *join, const struct nl_replayed *items,
                                    size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && items[end].launch == items[first].launch)
        end++;
    return replay_of(join->trace, items + first, end - first);
}

static void join_replays(struct join *join)
{
    size_t count, replays = 0;
    struct nl_replayed *items = list_replayed(join->trace, &count);
    uint32_t *asked = nl_alloc((count + 1) * sizeof *asked);
    for (size_t first = 0; first < count;) {
        struct nl_replay replay = next_replay(join, items, first, count);
        asked[replays++] = nl_graph_ask(&join->finder, &replay);
        first += replay.count;
    }
    nl_graph_asked_all(&join->finder);
    replays = 0;
    for (size_t first = 0; first < count;) {
        struct nl_replay replay = next_replay(join, items, first, count);
        struct nl_graph_found found = nl_graph_find(&join->finder, asked[replays++], &replay);
        join_replay(join, &replay, &found);
        first += replay.count;
    }
    nl_free(asked);
    nl_free(items);
}

/* ---- Coverage. ---- */

static uint64_t count_unusable(const struct join *join)
{
    uint64_t count = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t c = 0; c < join->finder.sides[s].count; c++)
            count += !join->finder.sides[s].items[c].usable;
    return count;
}

static void report_coverage(struct nl_builder *b, const struct join *join)
{
    char detail[200], part[100] = "";
    if (join->in_part)
        (void)snprintf(part, sizeof part, "; the last kernels of %llu were not recorded",
                       (unsigned long long)join->in_part);
    (void)snprintf(
        detail, sizeof detail,
        "in %llu replay%s with the kernels of one capture in its order; %llu of them have "
        "an operator, module or Python function%s",
        (unsigned long long)join->replays, join->replays == 1 ? "" : "s",
        (unsigned long long)join->count.operators, part);
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } rows[] = {
        {"graph replays: kernels joined to their launch in the capture", join->count.given, detail},
        {"graph replays: kernels without their capture", join->count.unknown,
         "no capture here has the same kernels in the same order"},
        {"graph replays: kernels that several captures fit", join->count.several,
         "captures differ in operators or shapes, one cannot be joined, or such a graph was "
         "launched "
         "before the capture: none is given"},
        {"graph replays: kernels whose place in the capture is not certain", join->count.unordered,
         "they ran on several streams, and their name occurs more than once"},
        {"graph captures that cannot be joined", count_unusable(join),
         "launches that do not name their kernels, captures that overlap or whose begin or end is "
         "missing, or calls that set nodes of a graph"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(b, NL_NULL_ROW, rows[i].item, (int64_t)rows[i].count,
                                rows[i].detail);
}

bool nl_join_graphs(struct nl_finish *finish, struct nl_err *err)
{
    struct join join = {.trace = finish->trace};
    nl_graph_finder_begin(&join.finder, finish->trace, finish->b->report);
    if (join.finder.sides[0].count || join.finder.sides[1].count) {
        join_replays(&join);
        report_coverage(finish->b, &join);
    }
    bool done = nl_captured_rows_finish(&join.rows, finish, err);
    nl_graph_finder_release(&join.finder);
    return done;
}

bool nl_has_captures(const struct nl_trace *trace)
{
    struct nl_graph_captures captures;
    nl_graph_captures_find(&captures, trace, trace);
    bool any = captures.count > 0;
    nl_graph_captures_release(&captures);
    return any;
}

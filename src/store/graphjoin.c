/*
 * The join of graph replays to the capture of their graph.
 *
 * While a graph is captured, its kernels are launched but do not run: operators, modules and Python
 * functions are there, times are not. Of replays it is the other way round: one call launches all
 * kernels. A replay is joined to a capture when both have the same names of kernels in the same order,
 * and no other capture that fits would say anything else. Where only modules or Python functions differ
 * (graphs of equal layers), the replays get the operators alone. A replay whose kernels ran at the same
 * time, or whose graph was captured from several streams, keeps no order: there the kernels whose name
 * occurs once are joined.
 *
 * What a capture says becomes slices without a length (capturedrows.c), so its time never counts.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "store/capturedrows.h"
#include "store/graphcapture.h"

struct named {
    uint32_t name, at;
};

/* A kernel that a graph's launch has launched. */
struct replayed {
    uint32_t launch, kernel;
    int64_t ts;
};

struct replay {
    const struct replayed *kernels;
    size_t count;
    uint64_t in_order, as_set;
    uint32_t process;
    bool serial; /* one after the other on one lane */
};

struct join {
    struct nl_trace *trace;
    struct nl_graph_captures sides[2]; /* of the profile itself, of the joined file */
    struct nl_captured_rows rows;
    struct nl_chain chain;
    struct named *left, *right; /* room: names of a replay and of a capture */
    size_t left_cap, right_cap;
    struct { /* kernels of replays */
        uint64_t all, given, operators, unknown, several, unordered;
    } count;
    uint64_t replays;
};

/* ---- Replays. ---- */

static int by_launch(const void *left, const void *right)
{
    const struct replayed *a = left, *b = right;
    if (a->launch != b->launch)
        return a->launch < b->launch ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
}

static struct replayed *list_replayed(const struct nl_trace *trace, size_t *count)
{
    enum { NOT_ASKED, NO, YES };
    struct replayed *items = NULL;
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
        items[(*count)++] = (struct replayed){launch, row, trace->slice.ts[slice]};
    }
    nl_free(graphs);
    if (*count)
        qsort(items, *count, sizeof *items, by_launch);
    return items;
}

static struct replay replay_of(const struct nl_trace *trace, const struct replayed *kernels,
                               size_t count)
{
    struct replay replay = {.kernels = kernels, .count = count, .serial = true};
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

static uint32_t name_of(const struct join *join, const struct replay *replay, size_t i)
{
    return join->trace->slice.name[join->trace->kernel.slice[replay->kernels[i].kernel]];
}

/* ---- Which capture. ---- */

static int by_name(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Names of both by name, so that equal sets are equal lists. */
static void sort_names(struct join *join, const struct replay *replay,
                       const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    nl_grow(&join->left, &join->left_cap, replay->count + 1);
    nl_grow(&join->right, &join->right_cap, (size_t)capture->count + 1);
    for (uint32_t i = 0; i < replay->count; i++)
        join->left[i] = (struct named){name_of(join, replay, i), i};
    for (uint32_t i = 0; i < capture->count; i++)
        join->right[i] = (struct named){side->launches[capture->first + i].name, i};
    qsort(join->left, replay->count, sizeof *join->left, by_name);
    qsort(join->right, capture->count, sizeof *join->right, by_name);
}

static bool same_names(struct join *join, const struct replay *replay,
                       const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    bool ordered = replay->serial && !capture->forked;
    if (ordered ? replay->in_order != capture->in_order : replay->as_set != capture->as_set)
        return false;
    if (!ordered)
        sort_names(join, replay, side, capture);
    for (uint32_t i = 0; i < capture->count; i++)
        if (ordered ? name_of(join, replay, i) != side->launches[capture->first + i].name
                    : join->left[i].name != join->right[i].name)
            return false;
    return true;
}

static bool same_rank(const struct join *join, const struct nl_graph_captures *side,
                      uint32_t process, uint32_t of)
{
    int64_t a = of == NL_NULL_ROW ? NL_NULL_I64 : join->trace->process.rank[of];
    int64_t b = process == NL_NULL_ROW ? NL_NULL_I64 : side->trace->process.rank[process];
    if (a != NL_NULL_I64 && b != NL_NULL_I64)
        return a == b;
    return join->trace->process.rows <= 1 && side->trace->process.rows <= 1;
}

static bool same_process(const struct join *join, const struct replay *replay,
                         const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    return side == &join->sides[0] ? capture->process == replay->process
                                   : same_rank(join, side, capture->process, replay->process);
}

/* A capture of the process whose kernels are not all known, or not all its own: the replay may be of it. */
static bool may_be_unusable(const struct join *join, const struct replay *replay)
{
    for (size_t s = 0; s < 2; s++)
        for (size_t c = 0; c < join->sides[s].count; c++)
            if (!join->sides[s].items[c].usable &&
                same_process(join, replay, &join->sides[s], &join->sides[s].items[c]))
                return true;
    return false;
}

static bool fits(struct join *join, const struct replay *replay,
                 const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    return capture->usable && capture->count == replay->count &&
           same_process(join, replay, side, capture) && same_names(join, replay, side, capture);
}

/* Whether the replay was launched before the capture had ended. */
static bool is_before(const struct join *join, const struct replay *replay,
                      const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    return side == &join->sides[0] &&
           capture->end > join->trace->slice.ts[replay->kernels[0].launch];
}

/* Of the same kernels, but launched before: later replays may be of that older graph, too. */
static void doubt(struct join *join, const struct replay *replay)
{
    struct nl_graph_captures *side = &join->sides[0];
    for (size_t c = 0; c < side->count; c++)
        if (!side->items[c].doubted && is_before(join, replay, side, &side->items[c]))
            side->items[c].doubted = fits(join, replay, side, &side->items[c]);
}

/* What a capture says of its kernels, as one number: of the operators alone, or of all ranges. Kept. */
static uint64_t saying(struct join *join, const struct nl_graph_captures *side,
                       struct nl_capture *capture, bool operators)
{
    for (uint32_t i = 0; i < capture->count && !capture->said[operators]; i++) {
        nl_chain_find(&join->chain, side->trace, side->launches[capture->first + i].slice);
        capture->says[operators] =
            nl_hash_pair(capture->says[operators], nl_chain_hash(&join->chain, operators));
    }
    capture->said[operators] = true;
    return capture->says[operators];
}

/* The capture that the replay is of, NULL none; *operators: others that fit differ in all but these. */
static const struct nl_capture *find_capture(struct join *join, const struct replay *replay,
                                             const struct nl_graph_captures **of, bool *operators,
                                             bool *several)
{
    struct nl_capture *found = NULL;
    *operators = *several = false;
    for (size_t s = 0; s < 2; s++) {
        const struct nl_graph_captures *side = &join->sides[s];
        for (size_t c = 0; c < side->count; c++) {
            struct nl_capture *capture = &side->items[c];
            if (is_before(join, replay, side, capture) || !fits(join, replay, side, capture))
                continue;
            *several |= capture->doubted;
            if (!found) {
                found = capture;
                *of = side;
                continue;
            }
            if (!*operators)
                *operators = saying(join, *of, found, false) != saying(join, side, capture, false);
            if (*operators)
                *several |= saying(join, *of, found, true) != saying(join, side, capture, true);
        }
    }
    *several |= found && may_be_unusable(join, replay);
    return *several ? NULL : found;
}

/* ---- What it gives. ---- */

static void give(struct join *join, const struct nl_graph_captures *side, uint32_t call,
                 uint32_t kernel, uint32_t process, bool operators)
{
    nl_chain_find(&join->chain, side->trace, call);
    uint32_t row = nl_captured_rows_put(&join->rows, &join->chain, process, operators);
    join->count.given++;
    if (row == NL_NO_ROW)
        return;
    join->trace->kernel.captured[kernel] = row; /* final when all are known */
    join->count.operators++;
}

static void give_in_order(struct join *join, const struct replay *replay,
                          const struct nl_graph_captures *side, const struct nl_capture *capture,
                          bool operators)
{
    for (uint32_t i = 0; i < capture->count; i++)
        give(join, side, side->launches[capture->first + i].slice, replay->kernels[i].kernel,
             replay->process, operators);
}

/* The names that occur once; join->left and right are sorted. */
static void give_by_name(struct join *join, const struct replay *replay,
                         const struct nl_graph_captures *side, const struct nl_capture *capture,
                         bool operators)
{
    sort_names(join, replay, side, capture);
    for (uint32_t i = 0; i < capture->count; i++) {
        uint32_t name = join->left[i].name;
        bool once = (!i || join->left[i - 1].name != name) &&
                    (i + 1 == capture->count || join->left[i + 1].name != name);
        if (!once) {
            join->count.unordered++;
            continue;
        }
        give(join, side, side->launches[capture->first + join->right[i].at].slice,
             replay->kernels[join->left[i].at].kernel, replay->process, operators);
    }
}

static void join_replay(struct join *join, const struct replay *replay)
{
    const struct nl_graph_captures *side = NULL;
    bool operators, several;
    const struct nl_capture *capture = find_capture(join, replay, &side, &operators, &several);
    join->count.all += replay->count;
    if (!capture) {
        *(several ? &join->count.several : &join->count.unknown) += replay->count;
        return;
    }
    uint64_t before = join->count.given;
    if (replay->serial && !capture->forked)
        give_in_order(join, replay, side, capture, operators);
    else
        give_by_name(join, replay, side, capture, operators);
    join->replays += join->count.given > before;
}

static void each_replay(struct join *join, const struct replayed *items, size_t count,
                        void (*ask)(struct join *join, const struct replay *replay))
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && items[end].launch == items[first].launch;)
            end++;
        struct replay replay = replay_of(join->trace, items + first, end - first);
        ask(join, &replay);
    }
}

static void join_replays(struct join *join)
{
    size_t count;
    struct replayed *items = list_replayed(join->trace, &count);
    each_replay(join, items, count, doubt);
    each_replay(join, items, count, join_replay);
    nl_free(items);
}

/* ---- Coverage. ---- */

static uint64_t count_unusable(const struct join *join)
{
    uint64_t count = 0;
    for (size_t s = 0; s < 2; s++)
        for (size_t c = 0; c < join->sides[s].count; c++)
            count += !join->sides[s].items[c].usable;
    return count;
}

static void cover(struct nl_builder *b, const struct join *join)
{
    char detail[200];
    (void)snprintf(
        detail, sizeof detail,
        "in %llu replay%s with the kernels of one capture in its order; %llu of them have "
        "an operator, module or Python function",
        (unsigned long long)join->replays, join->replays == 1 ? "" : "s",
        (unsigned long long)join->count.operators);
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
    nl_graph_captures_find(&join.sides[0], finish->trace, finish->trace);
    if (finish->b->report)
        nl_graph_captures_find(&join.sides[1], finish->b->report, finish->trace);
    if (join.sides[0].count || join.sides[1].count) {
        join_replays(&join);
        cover(finish->b, &join);
    }
    bool done = nl_captured_rows_finish(&join.rows, finish, err);
    nl_graph_captures_release(&join.sides[0]);
    nl_graph_captures_release(&join.sides[1]);
    nl_chain_release(&join.chain);
    nl_free(join.left);
    nl_free(join.right);
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

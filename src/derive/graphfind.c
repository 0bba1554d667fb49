/* See graphfind.h. Hashes choose what is compared; what fits was compared name by name. */
#include "derive/graphfind.h"

#include <stdlib.h>

#include "base/search.h"
#include "derive/capturedrows.h"

/* How the names of a capture are looked up: a replay that kept its order needs that of a
 * capture from one stream. */
enum lookup { IN_ORDER, SET_OF_FORKED, SET_OF_OTHERS, FIRST_ONES };

/* ROCm's profilers do not record the last kernel of some graphs. A replay that is a capture
 * but for its last kernels is of it, where it is long enough to be like no other one by
 * chance, and little is missing. */
#define FIRST_NAMES 20   /* kernels that are looked up */
#define MAX_MISSING 0.02 /* of the capture's kernels; one always */

/* A capture in by_names; those of equal hashes are a list. */
struct nl_graph_entry {
    uint64_t hash;
    struct nl_capture *capture;
    uint32_t next, side;
};

/* A capture that fits, among those of one question: sorted by end, which is
 * INT64_MIN for the joined file's. */
struct nl_graph_candidate {
    struct nl_capture *capture;
    int64_t end;
    uint32_t side, order;
    uint32_t first; /* of those up to here: which comes first in order */
    bool ranges_differ, operators_differ, doubted; /* among those up to here */
};

struct nl_graph_asked {
    struct nl_replay replay; /* the first of them */
    int64_t earliest;        /* when the first was launched */
    size_t first, count;     /* its candidates */
    bool sorted;
};

static int by_name(const void *left, const void *right)
{
    const struct nl_named *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static uint32_t kernel_name(const struct nl_graph_finder *finder, const struct nl_replay *replay,
                            size_t i)
{
    return finder->trace->slice.name[finder->trace->kernel.slice[replay->kernels[i].kernel]];
}

static int64_t launched(const struct nl_graph_finder *finder, const struct nl_replay *replay)
{
    return finder->trace->slice.ts[replay->kernels[0].launch];
}

/* Its names by name. */
static void sort_replay(const struct nl_graph_finder *finder, const struct nl_replay *replay,
                        struct nl_named **names, size_t *cap)
{
    nl_grow(names, cap, replay->count + 1);
    for (uint32_t i = 0; i < replay->count; i++)
        (*names)[i] = (struct nl_named){kernel_name(finder, replay, i), i};
    qsort(*names, replay->count, sizeof **names, by_name);
}

void nl_graph_sort_names(struct nl_graph_finder *finder, const struct nl_replay *replay,
                         const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    sort_replay(finder, replay, &finder->left, &finder->left_cap);
    nl_grow(&finder->right, &finder->right_cap, (size_t)capture->count + 1);
    for (uint32_t i = 0; i < capture->count; i++)
        finder->right[i] = (struct nl_named){side->launches[capture->first + i].name, i};
    qsort(finder->right, capture->count, sizeof *finder->right, by_name);
}

static bool same_sorted(const struct nl_graph_finder *finder, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (finder->left[i].name != finder->right[i].name)
            return false;
    return true;
}

static bool same_names(struct nl_graph_finder *finder, const struct nl_replay *replay,
                       const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    bool ordered = replay->serial && !capture->forked;
    if (ordered ? replay->in_order != capture->in_order : replay->as_set != capture->as_set)
        return false;
    if (!ordered) {
        nl_graph_sort_names(finder, replay, side, capture);
        return same_sorted(finder, capture->count);
    }
    for (uint32_t i = 0; i < capture->count; i++)
        if (kernel_name(finder, replay, i) != side->launches[capture->first + i].name)
            return false;
    return true;
}

/* Whether the replay is what the capture begins with, and hardly less. */
static bool same_beginning(const struct nl_graph_finder *finder, const struct nl_replay *replay,
                           const struct nl_graph_captures *side, const struct nl_capture *capture)
{
    if (capture->count <= replay->count)
        return false;
    double missing = (double)(capture->count - replay->count);
    if (missing > 1 && missing > MAX_MISSING * (double)capture->count)
        return false;
    for (uint32_t i = 0; i < replay->count; i++)
        if (kernel_name(finder, replay, i) != side->launches[capture->first + i].name)
            return false;
    return true;
}

static int64_t rank_of(const struct nl_trace *trace, uint32_t process)
{
    return process == NL_NULL_ROW ? NL_NULL_I64 : trace->process.rank[process];
}

static bool same_rank(const struct nl_graph_finder *finder, uint32_t of, uint32_t process)
{
    int64_t a = rank_of(finder->trace, of), b = rank_of(finder->sides[1].trace, process);
    if (a != NL_NULL_I64 && b != NL_NULL_I64)
        return a == b;
    return finder->one_process;
}

static bool same_process(const struct nl_graph_finder *finder, uint32_t of, size_t side,
                         const struct nl_capture *capture)
{
    return side == 0 ? capture->process == of : same_rank(finder, of, capture->process);
}

static bool capture_fits(struct nl_graph_finder *finder, const struct nl_replay *replay,
                         const struct nl_graph_entry *entry, bool in_part)
{
    const struct nl_graph_captures *side = &finder->sides[entry->side];
    if (!same_process(finder, replay->process, entry->side, entry->capture))
        return false;
    if (in_part)
        return same_beginning(finder, replay, side, entry->capture);
    return entry->capture->count == replay->count &&
           same_names(finder, replay, side, entry->capture);
}

/* ---- Captures by their names. ---- */

/* What is equal for a replay and a capture that same_process() says yes to. */
static uint64_t process_part(const struct nl_graph_finder *finder, size_t side,
                             const struct nl_trace *trace, uint32_t process)
{
    if (side == 0)
        return process;
    return finder->one_process ? 0 : (uint64_t)rank_of(trace, process);
}

static uint64_t names_hash(size_t side, enum lookup lookup, uint64_t process, uint64_t names)
{
    return nl_hash_pair(nl_hash_pair(2 * (uint64_t)lookup + side, process), names);
}

static uint32_t list_of(const struct nl_graph_finder *finder, uint64_t hash)
{
    return NL_LOOKUP(&finder->by_names, hash, i, finder->entries[i].hash == hash);
}

static void add_entry(struct nl_graph_finder *finder, uint64_t hash, size_t side,
                      struct nl_capture *capture)
{
    uint32_t head = list_of(finder, hash), row = (uint32_t)finder->entry_count++;
    nl_grow(&finder->entries, &finder->entry_cap, finder->entry_count);
    struct nl_graph_entry *entry = &finder->entries[row];
    *entry = (struct nl_graph_entry){hash, capture, NL_NO_ROW, (uint32_t)side};
    if (head == NL_NO_ROW) {
        nl_lookup_add(&finder->by_names, hash, row);
        return;
    }
    entry->next = finder->entries[head].next;
    finder->entries[head].next = row;
}

static uint64_t first_of_capture(const struct nl_graph_captures *captures,
                                 const struct nl_capture *capture)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < FIRST_NAMES; i++)
        hash = nl_capture_next(hash, captures->launches[capture->first + i].name);
    return hash;
}

static uint64_t first_of_replay(const struct nl_graph_finder *finder,
                                const struct nl_replay *replay)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < FIRST_NAMES; i++)
        hash = nl_capture_next(hash, kernel_name(finder, replay, i));
    return hash;
}

static void list_captures(struct nl_graph_finder *finder, size_t side)
{
    const struct nl_graph_captures *captures = &finder->sides[side];
    for (size_t i = 0; i < captures->count; i++) {
        struct nl_capture *capture = &captures->items[i];
        uint64_t part = process_part(finder, side, captures->trace, capture->process);
        if (!capture->usable || part == (uint64_t)NL_NULL_I64)
            continue;
        add_entry(finder,
                  names_hash(side, capture->forked ? SET_OF_FORKED : SET_OF_OTHERS, part,
                             capture->as_set),
                  side, capture);
        if (!capture->forked)
            add_entry(finder, names_hash(side, IN_ORDER, part, capture->in_order), side, capture);
        if (!capture->forked && capture->count > FIRST_NAMES)
            add_entry(finder,
                      names_hash(side, FIRST_ONES, part, first_of_capture(captures, capture)), side,
                      capture);
    }
}

/* Processes with a capture whose kernels are not all known, or not all its
 * own: a replay may be of it. */
static void list_uncertain(struct nl_graph_finder *finder)
{
    struct nl_idmap ranks = {0};
    size_t processes = finder->trace->process.rows;
    finder->uncertain = nl_zalloc(processes + 1);
    for (size_t i = 0; i < finder->sides[0].count; i++) {
        const struct nl_capture *capture = &finder->sides[0].items[i];
        if (!capture->usable)
            finder->uncertain[capture->process == NL_NULL_ROW ? processes : capture->process] = 1;
    }
    for (size_t i = 0; i < finder->sides[1].count; i++) {
        const struct nl_capture *capture = &finder->sides[1].items[i];
        if (capture->usable)
            continue;
        if (!finder->one_process)
            nl_idmap_put(&ranks, (uint64_t)rank_of(finder->sides[1].trace, capture->process), 0);
        for (size_t p = 0; finder->one_process && p <= processes; p++)
            finder->uncertain[p] |=
                same_rank(finder, p == processes ? NL_NULL_ROW : (uint32_t)p, capture->process);
    }
    for (size_t p = 0; ranks.count + ranks.small_count && p < processes; p++) {
        int64_t rank = finder->trace->process.rank[p];
        finder->uncertain[p] |=
            rank != NL_NULL_I64 && nl_idmap_get(&ranks, (uint64_t)rank) != NL_NO_ROW;
    }
    nl_idmap_release(&ranks);
}

void nl_graph_finder_begin(struct nl_graph_finder *finder, const struct nl_trace *trace,
                           const struct nl_trace *report)
{
    *finder = (struct nl_graph_finder){.trace = trace,
                                       .one_process = trace->process.rows <= 1 &&
                                                      (!report || report->process.rows <= 1)};
    nl_graph_captures_find(&finder->sides[0], trace, trace);
    if (report)
        nl_graph_captures_find(&finder->sides[1], report, trace);
    for (size_t side = 0; side < 2; side++)
        list_captures(finder, side);
    list_uncertain(finder);
}

void nl_graph_finder_release(struct nl_graph_finder *finder)
{
    nl_graph_captures_release(&finder->sides[0]);
    nl_graph_captures_release(&finder->sides[1]);
    nl_chain_release(&finder->chain);
    nl_lookup_release(&finder->by_names);
    nl_lookup_release(&finder->by_replay);
    nl_free(finder->left);
    nl_free(finder->right);
    nl_free(finder->entries);
    nl_free(finder->asked);
    nl_free(finder->candidates);
    nl_free(finder->uncertain);
}

/* ---- Questions. ---- */

/* Of replays that kept no order, the set of kernels is asked about. */
static bool same_question(struct nl_graph_finder *finder, const struct nl_replay *a,
                          const struct nl_replay *b)
{
    if (a->count != b->count || a->process != b->process || a->serial != b->serial)
        return false;
    if (!a->serial) {
        sort_replay(finder, a, &finder->left, &finder->left_cap);
        sort_replay(finder, b, &finder->right, &finder->right_cap);
        return same_sorted(finder, a->count);
    }
    for (size_t i = 0; i < a->count; i++)
        if (kernel_name(finder, a, i) != kernel_name(finder, b, i))
            return false;
    return true;
}

static void take_list(struct nl_graph_finder *finder, const struct nl_replay *replay, uint64_t hash,
                      bool in_part)
{
    for (uint32_t row = list_of(finder, hash); row != NL_NO_ROW; row = finder->entries[row].next) {
        const struct nl_graph_entry *entry = &finder->entries[row];
        if (!capture_fits(finder, replay, entry, in_part))
            continue;
        const struct nl_graph_captures *side = &finder->sides[entry->side];
        uint32_t order = (uint32_t)(entry->capture - side->items);
        nl_grow(&finder->candidates, &finder->candidate_cap, finder->candidate_count + 1);
        finder->candidates[finder->candidate_count++] = (struct nl_graph_candidate){
            .capture = entry->capture,
            .end = entry->side ? INT64_MIN : entry->capture->end,
            .side = entry->side,
            .order = entry->side ? order + (uint32_t)finder->sides[0].count : order};
    }
}

static void take_candidates(struct nl_graph_finder *finder, struct nl_graph_asked *asked)
{
    const struct nl_replay *replay = &asked->replay;
    asked->first = finder->candidate_count;
    for (size_t side = 0; side < 2; side++) {
        uint64_t part = process_part(finder, side, finder->trace, replay->process);
        uint64_t others = replay->serial ? names_hash(side, IN_ORDER, part, replay->in_order)
                                         : names_hash(side, SET_OF_OTHERS, part, replay->as_set);
        take_list(finder, replay, others, false);
        take_list(finder, replay, names_hash(side, SET_OF_FORKED, part, replay->as_set), false);
    }
    bool in_part =
        finder->candidate_count == asked->first && replay->serial && replay->count >= FIRST_NAMES;
    for (size_t side = 0; in_part && side < 2; side++) {
        uint64_t part = process_part(finder, side, finder->trace, replay->process);
        take_list(finder, replay,
                  names_hash(side, FIRST_ONES, part, first_of_replay(finder, replay)), true);
    }
    asked->count = finder->candidate_count - asked->first;
}

uint32_t nl_graph_ask(struct nl_graph_finder *finder, const struct nl_replay *replay)
{
    int64_t ts = launched(finder, replay);
    uint64_t hash = nl_hash_pair(nl_hash_pair(replay->process, replay->serial),
                                 replay->serial ? replay->in_order : replay->as_set);
    uint32_t row = NL_LOOKUP(&finder->by_replay, hash, i,
                             same_question(finder, &finder->asked[i].replay, replay));
    if (row != NL_NO_ROW) {
        if (ts < finder->asked[row].earliest)
            finder->asked[row].earliest = ts;
        return row;
    }
    row = (uint32_t)finder->asked_count++;
    nl_grow(&finder->asked, &finder->asked_cap, finder->asked_count);
    finder->asked[row] = (struct nl_graph_asked){.replay = *replay, .earliest = ts};
    nl_lookup_add(&finder->by_replay, hash, row);
    take_candidates(finder, &finder->asked[row]);
    return row;
}

void nl_graph_asked_all(struct nl_graph_finder *finder)
{
    for (size_t i = 0; i < finder->asked_count; i++) {
        const struct nl_graph_asked *asked = &finder->asked[i];
        for (size_t c = asked->first; c < asked->first + asked->count; c++)
            if (finder->candidates[c].end > asked->earliest)
                finder->candidates[c].capture->doubted = true;
    }
}

/* ---- Answers. ---- */

/* What a capture says of its kernels, as one number: of the operators
 * alone, or of all ranges. Kept. */
static uint64_t saying(struct nl_graph_finder *finder, const struct nl_graph_candidate *of,
                       bool operators)
{
    const struct nl_graph_captures *side = &finder->sides[of->side];
    struct nl_capture *capture = of->capture;
    for (uint32_t i = 0; i < capture->count && !capture->said[operators]; i++) {
        nl_chain_find(&finder->chain, side->trace, side->launches[capture->first + i].slice);
        capture->says[operators] =
            nl_hash_pair(capture->says[operators], nl_chain_hash(&finder->chain, operators));
    }
    capture->said[operators] = true;
    return capture->says[operators];
}

static int by_end(const void *left, const void *right)
{
    const struct nl_graph_candidate *a = left, *b = right;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Says of each candidate what is known of it and all before it. */
static void sort_candidates(struct nl_graph_finder *finder, struct nl_graph_asked *asked)
{
    struct nl_graph_candidate *items = finder->candidates + asked->first;
    qsort(items, asked->count, sizeof *items, by_end);
    for (uint32_t i = 0; i < asked->count; i++) {
        struct nl_graph_candidate *one = &items[i];
        const struct nl_graph_candidate *before = i ? one - 1 : one;
        one->first = i && items[before->first].order < one->order ? before->first : i;
        one->doubted = (i && before->doubted) || one->capture->doubted;
        one->ranges_differ = i && (before->ranges_differ ||
                                   saying(finder, one, false) != saying(finder, items, false));
        one->operators_differ =
            one->ranges_differ &&
            (before->operators_differ || saying(finder, one, true) != saying(finder, items, true));
    }
    asked->sorted = true;
}

struct nl_graph_found nl_graph_find(struct nl_graph_finder *finder, uint32_t row,
                                    const struct nl_replay *replay)
{
    struct nl_graph_asked *asked = &finder->asked[row];
    int64_t ts = launched(finder, replay);
    if (!asked->count)
        return (struct nl_graph_found){0};
    if (!asked->sorted)
        sort_candidates(finder, asked);
    const struct nl_graph_candidate *items = finder->candidates + asked->first;
    size_t ended = NL_FIRST(i, (size_t)0, asked->count, items[i].end > ts);
    if (!ended)
        return (struct nl_graph_found){0};
    const struct nl_graph_candidate *last = &items[ended - 1], *first = &items[last->first];
    size_t process = replay->process == NL_NULL_ROW ? finder->trace->process.rows : replay->process;
    struct nl_graph_found found = {.side = &finder->sides[first->side],
                                   .capture = first->capture,
                                   .operators = last->ranges_differ,
                                   .several = last->operators_differ || last->doubted ||
                                              finder->uncertain[process]};
    if (found.several)
        found.capture = NULL;
    return found;
}

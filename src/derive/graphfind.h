/*
 * graphfind — the capture that a replay of a graph is of. Not for other rooms.
 *
 * Captures are looked up by the kernels' names; replays of the same kernels in one process are one
 * question (`asked`), whose answers differ only in which captures had ended by then. So thousands
 * of equal captures and of their replays cost what they hold, not one times the other.
 *
 *     nl_graph_finder_begin(&finder, trace, report);
 *     for (each replay) asked[i] = nl_graph_ask(&finder, &replay);
 *     nl_graph_asked_all(&finder);
 *     for (each replay) found = nl_graph_find(&finder, asked[i], &replay);
 */
#ifndef NL_GRAPHFIND_H
#define NL_GRAPHFIND_H

#include "base/map.h"
#include "derive/graphcapture.h"

/* A kernel that a graph's launch has launched. */
struct nl_replayed {
    uint32_t launch, kernel;
    int64_t ts;
};

struct nl_replay {
    const struct nl_replayed *kernels;
    size_t count;
    uint64_t in_order, as_set; /* as of captures */
    uint32_t process;
    bool serial; /* one after the other on one lane */
};

struct nl_named {
    uint32_t name, at;
};

struct nl_graph_finder {
    const struct nl_trace *trace;
    struct nl_graph_captures sides[2]; /* of the profile itself, of the joined file */
    bool one_process;                  /* both have one at most, so ranks may be unknown */
    struct nl_chain chain;
    struct nl_named *left,
        *right; /* names of a replay and of a capture, sorted: nl_graph_sort_names */
    size_t left_cap, right_cap;
    struct nl_lookup by_names; /* of entries */
    struct nl_graph_entry *entries;
    size_t entry_count, entry_cap;
    struct nl_lookup by_replay; /* of asked */
    struct nl_graph_asked *asked;
    size_t asked_count, asked_cap;
    struct nl_graph_candidate *candidates;
    size_t candidate_count, candidate_cap;
    /* by process of replays, the last for none: whether a capture there cannot be joined */
    uint8_t *uncertain;
};

struct nl_graph_found {
    const struct nl_graph_captures *side;
    const struct nl_capture *capture; /* NULL: none, or several */
    bool operators;                   /* others that fit differ in all but operators */
    bool several;
};

/* `report`: the joined file, or NULL. */
void nl_graph_finder_begin(struct nl_graph_finder *finder, const struct nl_trace *trace,
                           const struct nl_trace *report);
void nl_graph_finder_release(struct nl_graph_finder *finder);

/* All replays are asked about first: where the kernels of a capture ran before it, later replays
 * may be of that older graph. */
uint32_t nl_graph_ask(struct nl_graph_finder *finder, const struct nl_replay *replay);
void nl_graph_asked_all(struct nl_graph_finder *finder);
struct nl_graph_found nl_graph_find(struct nl_graph_finder *finder, uint32_t asked,
                                    const struct nl_replay *replay);

/* Names of both by name, so that equal sets are equal lists. */
void nl_graph_sort_names(struct nl_graph_finder *finder, const struct nl_replay *replay,
                         const struct nl_graph_captures *side, const struct nl_capture *capture);

#endif

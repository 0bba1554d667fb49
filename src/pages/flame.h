/*
 * flame — stacks with weights as one tree: what a flame graph is drawn from.
 *
 * A node is a name below a node; node 0 is the root. `self` is the weight of stacks that end in a
 * node, and after nl_flame_finish `total` that of all stacks through it (no less than the sum of
 * its children's). Names are folded (tables/fold.h), so that "ProfilerStep#7" and "#8" are one.
 * Sources are a table: what there is a stack of in a profile, by name.
 *
 *     struct nl_flame flame;
 *     nl_flame_init(&flame, nl_flame_source("device"));
 *     nl_flame_add(&flame, trace, window, false);        // and once more with `base` for a comparison
 *     nl_flame_finish(&flame);
 */
#ifndef NL_FLAME_H
#define NL_FLAME_H

#include <stdio.h>

#include "base/json.h"
#include "base/map.h"
#include "store/dict.h"
#include "tables/analyze.h"

struct nl_flame;

struct nl_flame_source {
    const char *name;  /* "device": --by */
    const char *title; /* "GPU time by range, module, operator and kernel" */
    const char *doc;
    enum nl_meaning meaning; /* of its weights */
    bool (*has)(const struct nl_trace *trace);
    void (*build)(struct nl_flame *flame, const struct nl_trace *trace,
                  const struct nl_window *window); /* never NULL */
};

/* In the order of a report; ends with a NULL name. */
extern const struct nl_flame_source nl_flame_sources[];

/* NULL when there is none of that name. */
const struct nl_flame_source *nl_flame_source(const char *name);

struct nl_flame_node {
    uint32_t parent, name;         /* numbers in nodes, and in names */
    uint64_t count;                /* stacks that end here */
    int64_t self, total;           /* in the flame's meaning: ns, bytes, samples, … */
    int64_t base_self, base_total; /* the same of the profile that this is compared with */
    unsigned char kind;            /* enum nl_kind of what it stands for; 0 = a frame of a stack */
    unsigned char class;           /* of device work: enum nl_class; 0 = no such work */
};

struct nl_flame {
    const struct nl_flame_source *source;
    enum nl_meaning meaning; /* of weights: the source's, unless the profile names another unit */
    struct nl_flame_node *nodes;
    size_t cap;
    uint32_t count;
    struct nl_dict names;
    struct nl_lookup children; /* nodes by (parent, name) */
    bool base;                 /* weights go to base_self */
    bool compares;             /* it holds a base */
};

void nl_flame_init(struct nl_flame *flame, const struct nl_flame_source *source);
void nl_flame_release(struct nl_flame *flame);

/* Adds the stacks of a profile within a window (NULL = all of it); with `base`, as those that the
 * others are compared with. */
void nl_flame_add(struct nl_flame *flame, const struct nl_trace *trace,
                  const struct nl_window *window, bool base);

/* Sums totals. Nothing is added afterwards. */
void nl_flame_finish(struct nl_flame *flame);

/* For sources: the node called `name` below `parent`, and weight for it. */
uint32_t nl_flame_below(struct nl_flame *flame, uint32_t parent, struct nl_str name);
void nl_flame_weigh(struct nl_flame *flame, uint32_t node, int64_t weight);

/* What a node is drawn by: the larger of both sides of a comparison. */
static inline int64_t nl_flame_weight(const struct nl_flame_node *node)
{
    return node->total > node->base_total ? node->total : node->base_total;
}

/* A node's name on one line, safe to show. */
void nl_flame_text(struct nl_buf *out, const struct nl_flame *flame, uint32_t node);

/* Children of every node in order of weight, the largest first: `first[node]` and `next[node]` lead
 * through them (0 = no more). Both have flame->count places; nl_free them. */
void nl_flame_order(const struct nl_flame *flame, uint32_t **first, uint32_t **next);

/* One object for pages: {"name", "title", "meaning", "total", "left_out", "names": […],
 * "nodes": {…}}. Nodes under 1/4000 of the whole, and those beyond the largest 10,000,
 * are left out and counted. */
void nl_flame_json(struct nl_json *json, const struct nl_flame *flame);

/* "outer;inner weight" a line, as flamegraph.pl, speedscope and inferno read;
 * with a base "base weight". */
void nl_flame_folded(FILE *out, const struct nl_flame *flame);

/* A picture without scripts: an icicle, outermost frames on top, names on hover. */
void nl_flame_svg(FILE *out, const struct nl_flame *flame, const char *heading);

#endif

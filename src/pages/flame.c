/*
 * flame — see flame.h: the tree. A node is made before those below it, so one walk backwards sums
 * totals; children are found through a table of (parent, name) pairs.
 */
#include "pages/flame.h"

#include "base/mem.h"
#include "base/sum.h"
#include "view/celltext.h"

#define FIRST_SLOTS  1024
#define MAX_NODES    2000000 /* then further names become one: growth from input has a ceiling */
#define MAX_TEXT     400
#define DROPPED_NAME "(further frames)"

void nl_flame_init(struct nl_flame *flame, const struct nl_flame_source *source)
{
    *flame = (struct nl_flame){.source = source, .meaning = source->meaning, .count = 1};
    nl_grow(&flame->nodes, &flame->cap, (size_t)64);
    flame->nodes[0] = (struct nl_flame_node){0};
    nl_dict_init(&flame->names);
}

void nl_flame_release(struct nl_flame *flame)
{
    nl_dict_release(&flame->names);
    nl_free(flame->nodes);
    nl_lookup_release(&flame->children);
}

uint32_t nl_flame_below(struct nl_flame *flame, uint32_t parent, struct nl_str text)
{
    bool full = flame->count >= MAX_NODES;
    uint32_t name = nl_dict_add(&flame->names, full ? nl_str(DROPPED_NAME) : text);
    uint64_t hash = nl_hash_number((uint64_t)parent << 32 | name);
    uint32_t found = NL_LOOKUP(&flame->children, hash, i,
                               flame->nodes[i].parent == parent && flame->nodes[i].name == name);
    if (found != NL_NO_ROW)
        return found;
    if (full && parent && flame->nodes[parent].name == name)
        return parent;
    nl_grow(&flame->nodes, &flame->cap, (size_t)flame->count + 1);
    flame->nodes[flame->count] = (struct nl_flame_node){.parent = parent, .name = name};
    nl_lookup_add(&flame->children, hash, flame->count);
    return flame->count++;
}

void nl_flame_weigh(struct nl_flame *flame, uint32_t node, int64_t weight)
{
    struct nl_flame_node *at = &flame->nodes[node];
    if (flame->base) {
        nl_sum_add(&at->base_self, weight);
    } else {
        nl_sum_add(&at->self, weight);
        at->count++;
    }
}

void nl_flame_add(struct nl_flame *flame, const struct nl_trace *trace,
                  const struct nl_window *window, bool base)
{
    static const struct nl_window everything = {0};
    flame->base = base;
    flame->compares |= base;
    flame->source->build(flame, trace, window ? window : &everything);
    flame->base = false;
}

void nl_flame_finish(struct nl_flame *flame)
{
    for (uint32_t id = flame->count; id-- > 0;) {
        struct nl_flame_node *node = &flame->nodes[id], *parent = &flame->nodes[node->parent];
        node->self = node->self > 0 ? node->self : 0;
        node->base_self = node->base_self > 0 ? node->base_self : 0;
        nl_sum_add(&node->total, node->self);
        nl_sum_add(&node->base_total, node->base_self);
        if (id) {
            nl_sum_add(&parent->total, node->total);
            nl_sum_add(&parent->base_total, node->base_total);
        }
    }
}

void nl_flame_text(struct nl_buf *out, const struct nl_flame *flame, uint32_t node)
{
    struct nl_str text = nl_dict_text(&flame->names, flame->nodes[node].name);
    struct nl_buf safe;
    nl_buf_init(&safe, (size_t)1 << 20);
    nl_celltext_safe(&safe, text.len ? text : nl_str("(no name)"));
    nl_celltext_elide(out, (struct nl_str){safe.ptr, safe.len}, MAX_TEXT);
    nl_buf_release(&safe);
}

/* Stable merge of two lists linked through next[]. */
static uint32_t merge(const struct nl_flame *flame, uint32_t *next, uint32_t a, uint32_t b)
{
    uint32_t head = 0, *tail = &head;
    while (a && b) {
        uint32_t *least =
            nl_flame_weight(&flame->nodes[b]) > nl_flame_weight(&flame->nodes[a]) ? &b : &a;
        *tail = *least;
        tail = &next[*least];
        *least = next[*least];
    }
    *tail = a ? a : b;
    return head;
}

static uint32_t sort_list(const struct nl_flame *flame, uint32_t *next, uint32_t list)
{
    uint32_t bins[32] = {0}; /* bins[i]: a sorted list of 2^i nodes */
    while (list) {
        uint32_t one = list;
        list = next[one];
        next[one] = 0;
        size_t bin = 0;
        for (; bin < 31 && bins[bin]; bin++) {
            one = merge(flame, next, bins[bin], one);
            bins[bin] = 0;
        }
        bins[bin] = one;
    }
    uint32_t all = 0;
    for (size_t bin = 0; bin < 32; bin++)
        if (bins[bin])
            all = all ? merge(flame, next, bins[bin], all) : bins[bin];
    return all;
}

void nl_flame_order(const struct nl_flame *flame, uint32_t **first, uint32_t **next)
{
    *first = nl_zalloc(flame->count * sizeof **first);
    *next = nl_zalloc(flame->count * sizeof **next);
    for (uint32_t id = flame->count; id-- > 1;) {
        uint32_t parent = flame->nodes[id].parent;
        (*next)[id] = (*first)[parent];
        (*first)[parent] = id;
    }
    for (uint32_t id = 0; id < flame->count; id++)
        (*first)[id] = sort_list(flame, *next, (*first)[id]);
}

const struct nl_flame_source *nl_flame_source(const char *name)
{
    for (const struct nl_flame_source *source = nl_flame_sources; source->name; source++)
        if (!strcmp(source->name, name))
            return source;
    return NULL;
}

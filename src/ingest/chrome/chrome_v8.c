/*
 * V8's CPU profiles in traces of Chrome and Node.js: a "Profile" event on the sampled thread,
 * then "ProfileChunk" events with new nodes of the call tree, the node of each sample, and
 * the µs between them; before Chrome 58 one "CpuProfile" event with all of it. Chunks refer
 * to nodes of earlier ones.
 */
#include <stdlib.h>

#include "base/units.h"
#include "ingest/chrome/chrome_v8.h"
#include "parse/jsonpull.h"

struct node {
    int64_t parent; /* id, NL_NULL_I64 = none */
    bool described; /* not only named as another's parent or child */
    bool staged, walked;
    uint32_t name, file, line, row;
};

/* One profile while its chunks are read. */
struct v8 {
    struct chrome_stacks *stacks;
    struct gpurows_map ids; /* node id → number in `nodes` */
    struct node *nodes;
    size_t count, cap;
    bool started;
    int64_t now;
    uint32_t lane, unit;
    uint64_t bad, unmatched, early;
};

/* Parts of a chunk, as text. */
struct parts {
    struct nl_str nodes, samples, deltas;
    int64_t start, tree_start; /* ns, NL_NULL_I64 = absent */
};

static struct node *node_of(struct v8 *v8, int64_t id)
{
    bool made;
    uint64_t number = *gpurows_map_put(&v8->ids, (uint64_t)id, v8->count, &made);
    if (made) {
        nl_grow(&v8->nodes, &v8->cap, v8->count + 1);
        v8->nodes[v8->count++] = (struct node){.parent = NL_NULL_I64};
    }
    return &v8->nodes[number];
}

/* ---- Nodes. ---- */

/* {"functionName": .., "url": .., "lineNumber": from 0, -1 = unknown} */
static void read_frame(struct v8 *v8, struct jsonpull *reader, struct node *node)
{
    struct cpuprofile *profile = &v8->stacks->profile;
    int64_t line;
    while (jsonpull_member(reader)) {
        bool name = nl_str_is(reader->text, "functionName"), file = nl_str_is(reader->text, "url");
        bool number = nl_str_is(reader->text, "lineNumber");
        enum jsonpull_type type = jsonpull_next(reader);
        if (name && type == JSONPULL_STRING)
            node->name =
                cpuprofile_name(profile, reader->text.len ? reader->text : nl_str("(anonymous)"));
        else if (file && type == JSONPULL_STRING)
            node->file = cpuprofile_name(profile, reader->text);
        else if (number && jsonpull_i64(reader, &line) && line >= 0 && line < NL_NULL_U32 - 1)
            node->line = (uint32_t)line + 1;
        else
            jsonpull_skip(reader);
    }
}

/* Old profiles name the children of a node instead of its parent. */
static void read_children(struct v8 *v8, struct jsonpull *reader, int64_t id)
{
    int64_t child;
    while (jsonpull_item(reader)) {
        if (reader->type == JSONPULL_NUMBER && jsonpull_i64(reader, &child))
            node_of(v8, child)->parent = id;
        else
            jsonpull_skip(reader);
    }
}

/* The members of a node; *children is its list of them as text. */
static int64_t read_members(struct v8 *v8, struct jsonpull *reader, struct node *node,
                            struct nl_str *children)
{
    int64_t id = NL_NULL_I64;
    while (jsonpull_member(reader)) {
        bool is_id = nl_str_is(reader->text, "id"), parent = nl_str_is(reader->text, "parent");
        bool frame = nl_str_is(reader->text, "callFrame");
        if (nl_str_is(reader->text, "children")) {
            if (!jsonpull_raw(reader, children))
                return id;
            continue;
        }
        enum jsonpull_type type = jsonpull_next(reader);
        if (frame && type == JSONPULL_OBJECT)
            read_frame(v8, reader, node);
        else if (!((is_id && jsonpull_i64(reader, &id)) ||
                   (parent && jsonpull_i64(reader, &node->parent))))
            jsonpull_skip(reader);
    }
    return id;
}

static void read_node(struct v8 *v8, struct nl_str text)
{
    struct jsonpull reader;
    struct node node = {.parent = NL_NULL_I64, .described = true, .line = NL_NULL_U32};
    struct nl_str children = {"", 0};
    int64_t id = NL_NULL_I64;
    jsonpull_memory(&reader, text.ptr, text.len, 0);
    if (jsonpull_next(&reader) == JSONPULL_OBJECT)
        id = read_members(v8, &reader, &node, &children);
    jsonpull_release(&reader);
    if (id == NL_NULL_I64) {
        v8->bad++;
        return;
    }
    struct node *known = node_of(v8, id);
    if (node.parent == NL_NULL_I64)
        node.parent = known->parent;
    if (!known->staged)
        *known = node;
    jsonpull_memory(&reader, children.ptr, children.len, 0);
    if (children.len && jsonpull_next(&reader) == JSONPULL_ARRAY)
        read_children(v8, &reader, id);
    jsonpull_release(&reader);
}

static void read_nodes(struct v8 *v8, struct nl_str text)
{
    struct jsonpull reader;
    struct nl_str node;
    jsonpull_memory(&reader, text.ptr, text.len, 0);
    if (text.len && jsonpull_next(&reader) == JSONPULL_ARRAY)
        while (!cpuprofile_stopped(&v8->stacks->profile) && jsonpull_item(&reader) &&
               jsonpull_raw(&reader, &node))
            read_node(v8, node);
    jsonpull_release(&reader);
}

/* Row of a node, with those that called it. */
static uint32_t stack_of(struct v8 *v8, int64_t id)
{
    struct node *path[CHROME_MAX_FRAMES];
    size_t depth = 0;
    uint32_t row = NL_NULL_ROW;
    while (id != NL_NULL_I64) {
        const uint64_t *number = gpurows_map_find(&v8->ids, (uint64_t)id);
        if (!number || !v8->nodes[*number].described) {
            v8->stacks->unresolved++;
            break;
        }
        struct node *node = &v8->nodes[*number];
        if (node->staged) {
            row = node->row;
            break;
        }
        if (depth == CHROME_MAX_FRAMES || node->walked) {
            v8->stacks->deep++;
            break;
        }
        node->walked = true;
        path[depth++] = node;
        id = node->parent;
    }
    while (depth-- > 0) {
        struct nl_stack_row frame = nl_stack_row();
        frame.name = path[depth]->name;
        frame.file = path[depth]->file;
        frame.line = path[depth]->line;
        row = cpuprofile_frame(&v8->stacks->profile, row, &frame);
        path[depth]->row = row;
        path[depth]->staged = true;
    }
    return row;
}

/* ---- Samples. ---- */

/* A list of numbers as text, taken apart item by item: the longest lists by far. */
struct list {
    const char *at, *end;
};

static struct list list_of(struct nl_str text)
{
    const char *open = text.len ? memchr(text.ptr, '[', text.len) : NULL;
    return open ? (struct list){open + 1, text.ptr + text.len} : (struct list){NULL, NULL};
}

static bool next_item(struct list *list, struct nl_str *item)
{
    const char *p = list->at;
    while (p < list->end && (*p == ',' || (unsigned char)*p <= ' '))
        p++;
    item->ptr = p;
    while (p < list->end && *p != ',' && *p != ']' && (unsigned char)*p > ' ')
        p++;
    item->len = (size_t)(p - item->ptr);
    list->at = p;
    return item->len > 0;
}

/* Most deltas are whole µs of few digits. */
static bool read_delta(struct nl_str item, int64_t *ns)
{
    int64_t us;
    if (item.len > 9 || !nl_parse_i64(item, &us))
        return jsonpull_is_number(item) && nl_decimal_shifted(item, 3, ns);
    *ns = us * 1000;
    return true;
}

/* Two lists side by side: the node, and the µs since the sample before. */
static void stage_samples(struct v8 *v8, const struct parts *parts)
{
    struct cpuprofile *profile = &v8->stacks->profile;
    struct list samples = list_of(parts->samples), deltas = list_of(parts->deltas);
    struct nl_str sample, delta;
    struct nl_sample_row row = nl_sample_row();
    bool timed = true;
    row.lane = v8->lane;
    row.weight = 1;
    row.unit = v8->unit;
    while (!cpuprofile_stopped(profile) && next_item(&samples, &sample)) {
        int64_t id, ns;
        bool known = nl_parse_i64(sample, &id);
        timed = timed && next_item(&deltas, &delta);
        if (!timed || !read_delta(delta, &ns) || v8->now == NL_NULL_I64 ||
            __builtin_add_overflow(v8->now, ns, &v8->now) || !known) {
            v8->unmatched++;
            continue;
        }
        row.ts = v8->now;
        row.stack = stack_of(v8, id);
        cpuprofile_sample(profile, &row);
    }
}

/* ---- Chunks. ---- */

/* Members of args, of args.data and of args.data.cpuProfile (`tree`), which
 * have no name in common. */
static void read_parts(struct jsonpull *reader, struct parts *parts, bool tree)
{
    while (jsonpull_member(reader)) {
        struct nl_str key = reader->text;
        struct nl_str *list = nl_str_is(key, "nodes")        ? &parts->nodes
                              : nl_str_is(key, "samples")    ? &parts->samples
                              : nl_str_is(key, "timeDeltas") ? &parts->deltas
                                                             : NULL;
        bool inner = nl_str_is(key, "cpuProfile"), data = nl_str_is(key, "data");
        bool start = nl_str_is(key, "startTime");
        if (list) {
            struct nl_str rest = {reader->at, (size_t)(reader->end - reader->at)};
            if (!jsonpull_raw(reader, list)) {
                *list = rest; /* what is there of it */
                return;
            }
            continue;
        }
        enum jsonpull_type type = jsonpull_next(reader);
        if ((inner || data) && !tree && type == JSONPULL_OBJECT)
            read_parts(reader, parts, inner);
        else if (!start || !jsonpull_ns(reader, 3, tree ? &parts->tree_start : &parts->start))
            jsonpull_skip(reader);
    }
}

static void read_chunk(struct v8 *v8, const struct chrome_chunk *chunk)
{
    struct parts parts = {.start = NL_NULL_I64, .tree_start = NL_NULL_I64};
    struct jsonpull reader;
    jsonpull_memory(&reader, chunk->text, chunk->len, 0);
    if (jsonpull_next(&reader) == JSONPULL_OBJECT)
        read_parts(&reader, &parts, false);
    v8->bad += reader.problem != NULL;
    jsonpull_release(&reader);
    if (!v8->started) {
        v8->started = true;
        v8->lane = chunk->lane;
        v8->now = chunk->ts;
        v8->early += !chunk->start && parts.tree_start == NL_NULL_I64;
    }
    if (chunk->start && parts.start != NL_NULL_I64 && parts.start != 0)
        v8->now = parts.start;
    else if (parts.tree_start != NL_NULL_I64)
        v8->now = parts.tree_start;
    read_nodes(v8, parts.nodes);
    stage_samples(v8, &parts);
}

static int by_profile(const void *x, const void *y)
{
    const struct chrome_chunk *a = x, *b = y;
    if (a->profile != b->profile)
        return a->profile < b->profile ? -1 : 1;
    if (a->start != b->start)
        return a->start ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

void chrome_v8_finish(struct chrome_stacks *stacks)
{
    struct v8 v8 = {.stacks = stacks};
    if (!stacks->chunk_count)
        return;
    v8.unit = cpuprofile_name(&stacks->profile, nl_str("samples"));
    qsort(stacks->chunks, stacks->chunk_count, sizeof *stacks->chunks, by_profile);
    for (size_t i = 0; i < stacks->chunk_count; i++) {
        if (i && stacks->chunks[i].profile != stacks->chunks[i - 1].profile) {
            gpurows_map_release(&v8.ids);
            v8.count = 0;
            v8.started = false;
        }
        read_chunk(&v8, &stacks->chunks[i]);
    }
    gpurows_map_release(&v8.ids);
    nl_free(v8.nodes);
    cpuprofile_cover(&stacks->profile, "skipped: damaged part of a V8 profile", v8.bad, "");
    cpuprofile_cover(&stacks->profile, "skipped: sample of a V8 profile without a time",
                     v8.unmatched, "its lists differ in length");
    cpuprofile_cover(&stacks->profile, "V8 profile without its start", v8.early,
                     "its first sample is taken to be at the time of its first event");
}

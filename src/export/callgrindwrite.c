/*
 * callgrind's profile format: what each function costs itself, and with what it calls. Made of one
 * kind of stacks, as folded is. Format: https://valgrind.org/docs/manual/cl-format.html
 */
#include "base/chars.h"
#include "export/jsonbytes.h"
#include "base/map.h"
#include "base/sum.h"
#include "export/stackfold.h"

struct call {
    uint32_t caller, callee; /* frames */
    uint64_t count;
    int64_t cost; /* with what it calls */
};

struct costs {
    int64_t *self;      /* per frame */
    struct call *calls; /* per (caller, callee) */
    uint32_t count;
    size_t cap;
    struct nl_lookup by_pair;
};

static void add_call(struct costs *costs, uint32_t caller, uint32_t callee, uint64_t count,
                     int64_t cost)
{
    uint64_t hash = nl_hash_number((uint64_t)caller << 32 | callee);
    uint32_t row = NL_LOOKUP(&costs->by_pair, hash, i,
                             costs->calls[i].caller == caller && costs->calls[i].callee == callee);
    if (row == NL_NO_ROW) {
        nl_grow(&costs->calls, &costs->cap, (size_t)costs->count + 1);
        costs->calls[costs->count] = (struct call){caller, callee, 0, 0};
        nl_lookup_add(&costs->by_pair, hash, row = costs->count++);
    }
    costs->calls[row].count += count;
    nl_sum_add(&costs->calls[row].cost, cost);
}

/* Sums of a tree, whose parents stand before their children. */
static void sum_tree_costs(struct costs *costs, const struct nl_stacktree *tree, uint32_t frames)
{
    int64_t *total = nl_zalloc((tree->count + (size_t)1) * sizeof *total);
    uint64_t *count = nl_zalloc((tree->count + (size_t)1) * sizeof *count);
    costs->self = nl_zalloc((frames + (size_t)1) * sizeof *costs->self);
    for (uint32_t node = tree->count; node-- > 1;) {
        const struct nl_stacknode *item = &tree->nodes[node];
        nl_sum_add(&total[node], item->self);
        count[node] += item->count;
        nl_sum_add(&total[item->parent], total[node]);
        count[item->parent] += count[node];
        nl_sum_add(&costs->self[item->frame], item->self);
        if (item->parent)
            add_call(costs, tree->nodes[item->parent].frame, item->frame, count[node], total[node]);
    }
    nl_free(total);
    nl_free(count);
}

/* "(3) name" the first time, "(3)" after it. */
static void put_name(struct bytes *out, const char *what, const struct nl_stackfold *fold,
                     uint32_t frame, uint8_t *told)
{
    json_raw(out, what);
    bytes_u8(out, '(');
    json_u64(out, frame + (uint64_t)1);
    bytes_u8(out, ')');
    if (!told[frame]) {
        told[frame] = 1;
        bytes_u8(out, ' ');
        size_t start = out->len;
        bytes_utf8(out, fold->frames[frame].name);
        for (size_t i = start; i < out->len; i++)
            if (out->at[i] < 0x20)
                out->at[i] = ' ';
    }
    bytes_u8(out, '\n');
}

static void put_line(struct bytes *out, int64_t cost)
{
    json_raw(out, "0 ");
    json_i64(out, cost);
    bytes_u8(out, '\n');
}

/* Calls in order of their caller: chained lists by caller. */
static void write_costs(const struct nl_stackfold *fold, const struct costs *costs, FILE *file)
{
    struct bytes out = {0};
    uint8_t *told = nl_zalloc(fold->frame_count + (size_t)1);
    uint32_t *first = nl_zalloc((fold->frame_count + (size_t)1) * sizeof *first);
    uint32_t *next = nl_zalloc((costs->count + (size_t)1) * sizeof *next);
    for (uint32_t i = costs->count; i-- > 0;) {
        next[i] = first[costs->calls[i].caller];
        first[costs->calls[i].caller] = i + 1;
    }
    for (uint32_t frame = 0; frame < fold->frame_count; frame++) {
        if (!costs->self[frame] && !first[frame])
            continue;
        bytes_clear(&out);
        put_name(&out, "fn=", fold, frame, told);
        if (costs->self[frame])
            put_line(&out, costs->self[frame]);
        for (uint32_t at = first[frame]; at; at = next[at - 1]) {
            const struct call *call = &costs->calls[at - 1];
            put_name(&out, "cfn=", fold, call->callee, told);
            json_raw(&out, "calls=");
            json_u64(&out, call->count);
            json_raw(&out, " 0\n");
            put_line(&out, call->cost);
        }
        bytes_u8(&out, '\n');
        fwrite(out.at, 1, out.len, file);
    }
    nl_free(told);
    nl_free(first);
    nl_free(next);
    bytes_release(&out);
}

/* Words of an event's name: it is one word there. */
static void put_event(FILE *out, struct nl_str event)
{
    fputs("# callgrind format\nversion: 1\ncreator: neurolens " NL_VERSION
          "\npositions: line\nevents: ",
          out);
    for (size_t i = 0; i < event.len; i++) {
        char c = event.ptr[i];
        bool plain = nl_is_alnum(c);
        fputc(plain ? c : '_', out);
    }
    fputs("\n\n", out);
}

bool nl_export_callgrind(struct nl_export *export, struct nl_err *err)
{
    struct nl_stackfold fold;
    struct costs costs = {0};
    nl_stackfold_make(&fold, export, true);
    const struct nl_stacktree *tree = nl_stackfold_choose(&fold, export, err);
    if (tree) {
        sum_tree_costs(&costs, tree, fold.frame_count);
        put_event(export->out, tree->event);
        write_costs(&fold, &costs, export->out);
    }
    nl_free(costs.self);
    nl_free(costs.calls);
    nl_lookup_release(&costs.by_pair);
    nl_stackfold_release(&fold);
    return tree != NULL && nl_export_goes_on(export, err);
}

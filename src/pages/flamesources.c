/* flamesources — where stacks come from: device work, threads, samples, waits,
 * allocations; a row each. */
#include "base/mem.h"
#include "pages/flame.h"
#include "timeline/fold.h"
#include "tables/lanelabel.h"
#include "tables/memo.h"
#include "tables/scope.h"
#include "tables/shortname.h"

#define MAX_DEPTH 256

static struct nl_str folded(struct nl_fold *fold, uint32_t name)
{
    uint32_t id = nl_fold_id(fold, name);
    struct nl_str text = nl_dict_text(&fold->texts, id);
    return text.len ? text : nl_str("(no name)");
}

/* The node that stands for a lane. */
static uint32_t below_lane(struct nl_flame *flame, const struct nl_trace *trace, uint32_t lane)
{
    struct nl_buf label;
    nl_buf_init(&label, 4096);
    nl_lane_label(&label, trace, lane);
    uint32_t node = nl_flame_below(flame, 0, (struct nl_str){label.ptr, label.len});
    nl_buf_release(&label);
    return node;
}

static void set_kind(struct nl_flame *flame, uint32_t node, unsigned kind, unsigned class)
{
    flame->nodes[node].kind = (unsigned char)kind;
    flame->nodes[node].class = (unsigned char)class;
}

/* ---- device work ---- */

/* Ranges around a launch, of all kinds, outermost first. */
struct chain {
    uint32_t slices[MAX_DEPTH];
    size_t count;
};

static void add_chain(struct chain *chain, const struct nl_memo_ranges *ranges, uint32_t work)
{
    uint32_t at = ranges->owner ? ranges->owner[work] : NL_NULL_ROW;
    for (; at != NL_NULL_ROW && chain->count < MAX_DEPTH; at = ranges->tree.parents[at])
        chain->slices[chain->count++] = ranges->tree.slices[at];
}

/* By start, longer ones first: ranges of one thread nest in time, whatever their kind. */
static void sort_chain(struct chain *chain, const struct nl_slice_table *slice)
{
    for (size_t i = 1; i < chain->count; i++)
        for (size_t j = i; j; j--) {
            uint32_t a = chain->slices[j - 1], b = chain->slices[j];
            bool swap = slice->ts[b] < slice->ts[a] ||
                        (slice->ts[b] == slice->ts[a] && slice->dur[b] > slice->dur[a]);
            if (!swap)
                break;
            chain->slices[j - 1] = b;
            chain->slices[j] = a;
        }
}

static unsigned class_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t row = trace->slice.detail[slice];
    switch (trace->slice.kind[slice]) {
    case NL_KIND_KERNEL:
        return row < trace->kernel.rows ? trace->kernel.class[row] : NL_CLASS_COMPUTE;
    case NL_KIND_MEMCPY: return NL_CLASS_COPY;
    case NL_KIND_MEMSET: return NL_CLASS_MEMSET;
    default: return NL_CLASS_COMPUTE;
    }
}

static void build_device(struct nl_flame *flame, const struct nl_trace *trace,
                         const struct nl_window *window)
{
    static const enum nl_kind kinds[] = {NL_KIND_NVTX, NL_KIND_LAYER, NL_KIND_OP};
    const struct nl_memo_ranges *ranges[3];
    struct nl_memo *memo = nl_memo_new(trace, window);
    const struct nl_owners *owners = nl_memo_owners(memo);
    struct nl_scope scope;
    struct nl_fold fold;
    size_t owned = 0;
    nl_scope_init(&scope, trace, window);
    nl_fold_init(&fold, trace, NL_FOLD_INSTANCES);
    for (size_t i = 0; i < 3; i++) {
        ranges[i] = nl_memo_ranges(memo, kinds[i]);
        owned += ranges[i]->tree.count;
    }
    for (uint32_t work = 0; work < owners->count; work++) {
        struct chain chain = {.count = 0};
        uint32_t slice = owners->work[work], node = 0;
        int64_t start, end;
        if (!nl_scope_slice(&scope, slice, &start, &end))
            continue;
        for (size_t i = 0; i < 3; i++)
            add_chain(&chain, ranges[i], work);
        sort_chain(&chain, &trace->slice);
        for (size_t i = 0; i < chain.count; i++) {
            node = nl_flame_below(flame, node, folded(&fold, trace->slice.name[chain.slices[i]]));
            set_kind(flame, node, trace->slice.kind[chain.slices[i]], 0);
        }
        if (!chain.count && owned)
            node = nl_flame_below(flame, 0,
                                  nl_str(owners->launch[work] == NL_NULL_ROW
                                             ? "(launch not in the profile)"
                                             : "(launched outside any range)"));
        node = nl_flame_below(flame, node,
                              nl_short_kernel(nl_trace_name(trace, trace->slice.name[slice])));
        set_kind(flame, node, trace->slice.kind[slice], class_of(trace, slice));
        nl_flame_weigh(flame, node, end - start);
    }
    nl_fold_release(&fold);
    nl_scope_release(&scope);
    nl_memo_free(memo);
}

/* ---- what threads did ---- */

static bool has_host(const struct nl_trace *trace)
{
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.count[lane] && nl_lane_shows_threads(trace, lane))
            return true;
    return false;
}

/* Slices of a lane are stored parents first, so each finds its parent's node. Weights go to a slice
 * and are taken from its parent: what remains is self time, also where a window cuts both. */
static void add_lane(struct nl_flame *flame, const struct nl_scope *scope, struct nl_fold *fold,
                     uint32_t lane, uint32_t *nodes)
{
    const struct nl_trace *trace = scope->trace;
    uint32_t first = trace->lane.first[lane], last = first + trace->lane.count[lane];
    uint32_t root = below_lane(flame, trace, lane);
    for (uint32_t slice = first; slice < last; slice++) {
        uint32_t parent = trace->slice.parent[slice];
        bool inside = parent != NL_NULL_ROW && parent >= first && parent < slice;
        uint32_t above = inside ? nodes[parent - first] : root;
        int64_t start, end;
        nodes[slice - first] = above;
        if (!nl_scope_slice(scope, slice, &start, &end) || end <= start)
            continue;
        uint32_t node = nl_flame_below(flame, above, folded(fold, trace->slice.name[slice]));
        nodes[slice - first] = node;
        set_kind(flame, node, trace->slice.kind[slice], 0);
        nl_flame_weigh(flame, node, end - start);
        if (!inside)
            continue;
        if (flame->base)
            flame->nodes[above].base_self -= end - start;
        else
            flame->nodes[above].self -= end - start;
    }
}

static void build_host(struct nl_flame *flame, const struct nl_trace *trace,
                       const struct nl_window *window)
{
    struct nl_scope scope;
    struct nl_fold fold;
    nl_scope_init(&scope, trace, window);
    nl_fold_init(&fold, trace, NL_FOLD_INSTANCES);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (!nl_lane_shows_threads(trace, lane) || !trace->lane.count[lane] ||
            !nl_scope_lane(&scope, lane))
            continue;
        uint32_t *nodes = nl_alloc((size_t)trace->lane.count[lane] * sizeof *nodes);
        add_lane(flame, &scope, &fold, lane, nodes);
        nl_free(nodes);
    }
    nl_fold_release(&fold);
    nl_scope_release(&scope);
}

/* ---- recorded stacks ---- */

/* The node of a stack below `root`. */
static uint32_t node_of_stack(struct nl_flame *flame, const struct nl_trace *trace, uint32_t stack,
                              uint32_t root)
{
    uint32_t rows[MAX_DEPTH], node = root;
    size_t count = 0;
    for (; stack != NL_NULL_ROW && count < MAX_DEPTH; stack = trace->stack.parent[stack])
        rows[count++] = stack;
    while (count--) {
        struct nl_str name = nl_trace_name(trace, trace->stack.name[rows[count]]);
        node = nl_flame_below(flame, node, name.len ? name : nl_str("(unknown)"));
    }
    return node;
}

static bool has_samples(const struct nl_trace *trace)
{
    return trace->sample.rows && trace->stack.rows;
}

/* Of samples with different weights the unit that most of them have. */
static uint32_t common_unit(const struct nl_trace *trace)
{
    uint32_t best = NL_NO_NAME, most = 0;
    for (uint32_t row = 0; row < trace->sample.rows && row < 4096; row++) {
        uint32_t unit = trace->sample.unit[row], count = 0;
        if (unit == best && most)
            continue;
        for (uint32_t other = 0; other < trace->sample.rows; other++)
            count += trace->sample.unit[other] == unit;
        if (count > most) {
            most = count;
            best = unit;
        }
        if (most > trace->sample.rows / 2)
            break;
    }
    return best;
}

static void build_samples(struct nl_flame *flame, const struct nl_trace *trace,
                          const struct nl_window *window)
{
    struct nl_scope scope;
    uint32_t unit = common_unit(trace), lanes = 0, seen = NL_NULL_ROW;
    struct nl_str unit_text = nl_trace_name(trace, unit);
    nl_scope_init(&scope, trace, window);
    flame->meaning = nl_str_is(unit_text, "ns")      ? NL_MEANS_NS
                     : nl_str_is(unit_text, "bytes") ? NL_MEANS_BYTES
                                                     : NL_MEANS_COUNT;
    for (uint32_t row = 0; row < trace->sample.rows; row++) {
        lanes += trace->sample.lane[row] != seen;
        seen = trace->sample.lane[row];
    }
    for (uint32_t row = 0; row < trace->sample.rows; row++) {
        uint32_t lane = trace->sample.lane[row], root = 0;
        int64_t ts = trace->sample.ts[row], weight = trace->sample.weight[row];
        bool timed = ts != NL_NULL_I64;
        if (trace->sample.unit[row] != unit || trace->sample.stack[row] == NL_NULL_ROW ||
            (timed && !nl_scope_moment(&scope, lane, ts)))
            continue;
        if (lanes > 1 && lane != NL_NULL_ROW)
            root = below_lane(flame, trace, lane);
        nl_flame_weigh(flame, node_of_stack(flame, trace, trace->sample.stack[row], root),
                       weight == NL_NULL_I64 ? 1 : weight);
    }
    nl_scope_release(&scope);
}

static bool has_waits(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->slicestack.rows; row++)
        if (trace->slice.kind[trace->slicestack.slice[row]] == NL_KIND_SCHED)
            return true;
    return false;
}

static void build_waits(struct nl_flame *flame, const struct nl_trace *trace,
                        const struct nl_window *window)
{
    struct nl_scope scope;
    nl_scope_init(&scope, trace, window);
    for (uint32_t row = 0; row < trace->slicestack.rows; row++) {
        uint32_t slice = trace->slicestack.slice[row];
        int64_t start, end;
        if (trace->slice.kind[slice] != NL_KIND_SCHED ||
            !nl_scope_slice(&scope, slice, &start, &end))
            continue;
        nl_flame_weigh(flame, node_of_stack(flame, trace, trace->slicestack.stack[row], 0),
                       end - start);
    }
    nl_scope_release(&scope);
}

static bool has_allocations(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->memory.rows; row++)
        if (trace->memory.stack[row] != NL_NULL_ROW && trace->memory.bytes[row] > 0)
            return true;
    return false;
}

static void build_allocations(struct nl_flame *flame, const struct nl_trace *trace,
                              const struct nl_window *window)
{
    struct nl_scope scope;
    nl_scope_init(&scope, trace, window);
    for (uint32_t row = 0; row < trace->memory.rows; row++) {
        uint32_t stack = trace->memory.stack[row];
        if (stack == NL_NULL_ROW || trace->memory.bytes[row] <= 0 ||
            !nl_scope_moment(&scope, trace->memory.lane[row], trace->memory.ts[row]))
            continue;
        nl_flame_weigh(flame, node_of_stack(flame, trace, stack, 0), trace->memory.bytes[row]);
    }
    nl_scope_release(&scope);
}

const struct nl_flame_source nl_flame_sources[] = {
    {"device", "GPU time by range, module, operator and kernel",
     "time of kernels and copies below what launched them", NL_MEANS_NS, nl_has_device_work,
     build_device},
    {"samples", "CPU samples by call stack", "samples of Python and native code", NL_MEANS_COUNT,
     has_samples, build_samples},
    {"host", "CPU time of threads by range, operator and call",
     "what threads did, as nested ranges and calls", NL_MEANS_NS, has_host, build_host},
    {"waiting", "Time that threads waited, by call stack", "off-CPU time", NL_MEANS_NS, has_waits,
     build_waits},
    {"memory", "Bytes allocated, by call stack", "allocations, freed or not", NL_MEANS_BYTES,
     has_allocations, build_allocations},
    {NULL, NULL, NULL, NL_MEANS_NUMBER, NULL, NULL},
};

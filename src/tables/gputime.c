/*
 * gputime — by name, in one walk over the work in order of device and start.
 */
#include "tables/gputime.h"

#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/nestedtime.h"
#include "base/mem.h"
#include "base/sum.h"

void nl_gputime_init(struct nl_gputime *gpu, const struct nl_trace *trace,
                     const struct nl_analyze_options *options, enum nl_kind kind)
{
    struct nl_window host = nl_analyze_host_window(options);
    *gpu = (struct nl_gputime){.trace = trace};
    nl_scope_init(&gpu->device, trace, &options->window);
    nl_scope_init(&gpu->host, trace, &host);
    const struct nl_memo_ranges *ranges = nl_memo_ranges(options->memo, kind);
    gpu->owners = nl_memo_owners(options->memo);
    gpu->tree = &ranges->tree;
    gpu->owner = ranges->owner;
}

void nl_gputime_release(struct nl_gputime *gpu)
{
    nl_scope_release(&gpu->host);
    nl_scope_release(&gpu->device);
}

enum nl_unowned nl_gputime_unowned(const struct nl_gputime *gpu, uint32_t work)
{
    return gpu->owners->launch[work] == NL_NULL_ROW ? NL_NOT_LAUNCHED : NL_OUTSIDE;
}

const char *nl_gputime_unowned_name(enum nl_unowned which)
{
    return which == NL_OUTSIDE ? "[launched outside any]" : "[launch not recorded]";
}

/* ---- By name. ---- */

struct tally {
    uint64_t count, works;
    int64_t cpu_ns, self_ns, gpu_ns, total_ns, union_ns;
    uint32_t name;
};

struct tallies {
    struct nl_gputime gpu;
    struct nl_fold fold;
    struct tally *items; /* per folded name */
    size_t count, cap;
    struct tally unowned[NL_UNOWNED];
    uint32_t *ids; /* per range of the tree: folded name */
};

/* Lengths without ranges of the same kind inside. */
static int64_t *same_kind_times(const struct tallies *tallies)
{
    const struct nl_rangetree *tree = tallies->gpu.tree;
    int64_t *self = nl_alloc(((size_t)tree->count + 1) * sizeof *self);
    for (uint32_t range = 0; range < tree->count; range++) {
        int64_t length = self[range] = tallies->gpu.trace->slice.dur[tree->slices[range]];
        if (tree->parents[range] != NL_NULL_ROW)
            self[tree->parents[range]] -= length;
    }
    return self;
}

/* The tally of a folded name. */
static struct tally *item_of(struct tallies *tallies, uint32_t id)
{
    nl_grow(&tallies->items, &tallies->cap, (size_t)id + 1);
    while (tallies->count <= id)
        tallies->items[tallies->count++] = (struct tally){0};
    return &tallies->items[id];
}

/* Self time of an operator excludes everything inside it on its lane; of other ranges without
 * ranges of the same kind. */
static void tally_ranges(struct tallies *tallies, struct nl_memo *memo, enum nl_kind kind)
{
    const struct nl_rangetree *tree = tallies->gpu.tree;
    const int64_t *all = kind == NL_KIND_OP ? nl_memo_self_times(memo) : NULL;
    int64_t *same_kind = all ? NULL : same_kind_times(tallies);
    tallies->ids = nl_alloc(((size_t)tree->count + 1) * sizeof *tallies->ids);
    for (uint32_t range = 0; range < tree->count; range++) {
        uint32_t slice = tree->slices[range];
        uint32_t id = nl_fold_id(&tallies->fold, tallies->gpu.trace->slice.name[slice]);
        struct tally *item = item_of(tallies, id);
        int64_t length = nl_scope_length(&tallies->gpu.host, slice);
        int64_t self = all ? all[slice] : same_kind[range];
        tallies->ids[range] = id;
        if (length < 0)
            continue;
        item->count++;
        nl_sum_add(&item->cpu_ns, length);
        nl_sum_add(&item->self_ns, self > 0 ? self : 0);
    }
    nl_free(same_kind);
}

/* Work in order of device, then start. */
static struct nl_keyed *order_work(const struct nl_gputime *gpu)
{
    uint32_t count = gpu->owners->count;
    struct nl_keyed *order = nl_alloc((2 * (size_t)count + 1) * sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (struct nl_keyed){nl_sort_key(gpu->trace->slice.ts[gpu->owners->work[i]]), i};
    nl_sort_keyed(order, order + count, count);
    for (uint32_t i = 0; i < count; i++)
        order[i].key = nl_slice_device(gpu->trace, gpu->owners->work[order[i].row]);
    nl_sort_keyed(order, order + count, count);
    return order;
}

/* Work outside any range, as if launched in a separate one. */
struct outside {
    int64_t reach; /* up to where `device` is covered */
    uint32_t device;
};

static void tally_outside(struct tally *item, struct outside *outside, uint32_t device,
                          int64_t start, int64_t end)
{
    if (!item->works || outside->device != device)
        *outside = (struct outside){INT64_MIN, device};
    nl_sum_add(&item->total_ns, end - start);
    if (end > outside->reach) {
        nl_sum_add(&item->union_ns, end - (start > outside->reach ? start : outside->reach));
        outside->reach = end;
    }
}

static void tally_device(struct tallies *tallies)
{
    const struct nl_gputime *gpu = &tallies->gpu;
    struct nl_keyed *order = order_work(gpu);
    struct outside outside[NL_UNOWNED] = {{0}};
    struct nl_nestedtime nested;
    nl_nestedtime_init(&nested, gpu->tree, tallies->ids, tallies->count);
    for (uint32_t i = 0; i < gpu->owners->count; i++) {
        uint32_t work = order[i].row, slice = gpu->owners->work[work], range = gpu->owner[work];
        uint32_t device = (uint32_t)order[i].key;
        int64_t start = gpu->trace->slice.ts[slice], length = nl_scope_length(&gpu->device, slice);
        if (length < 0)
            continue;
        struct tally *item = range == NL_NULL_ROW ? &tallies->unowned[nl_gputime_unowned(gpu, work)]
                                                  : &tallies->items[tallies->ids[range]];
        nl_nestedtime_add(&nested, range, device, start, start + length);
        if (range == NL_NULL_ROW)
            tally_outside(item, &outside[nl_gputime_unowned(gpu, work)], device, start,
                          start + length);
        item->works++;
        nl_sum_add(&item->gpu_ns, length);
    }
    nl_nestedtime_finish(&nested);
    for (size_t id = 0; id < tallies->count; id++) {
        tallies->items[id].total_ns = nested.names[id].total_ns;
        tallies->items[id].union_ns = nested.names[id].union_ns;
    }
    nl_nestedtime_release(&nested);
    nl_free(order);
}

#define COLUMNS(C)                                                                                 \
    C(name, NULL, TEXT)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(cpu_ns, "CPU total", NS)                                                                     \
    C(cpu_self_ns, "CPU self", NS)                                                                 \
    C(gpu_ops, "GPU ops", COUNT)                                                                   \
    C(gpu_ns, "GPU self", NS)                                                                      \
    C(share, NULL, SHARE)                                                                          \
    C(gpu_total_ns, "GPU total", NS)                                                               \
    C(gpu_union_ns, "GPU union", NS)
NL_COLUMNS(COLUMNS);

static int by_gpu(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->gpu_ns != b->gpu_ns)
        return a->gpu_ns > b->gpu_ns ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return a->cpu_ns > b->cpu_ns ? -1 : a->cpu_ns < b->cpu_ns;
}

static void gputime_add_row(struct nl_result *result, const struct tally *item, struct nl_cell name,
                            bool ranges, int64_t whole)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_name] = name;
    if (ranges) {
        cells[AT_count] = nl_cell_count(item->count);
        cells[AT_cpu_ns] = nl_cell_i64(item->cpu_ns);
        cells[AT_cpu_self_ns] = nl_cell_i64(item->self_ns);
    }
    cells[AT_gpu_ops] = nl_cell_count(item->works);
    cells[AT_gpu_ns] = nl_cell_i64(item->gpu_ns);
    cells[AT_share] = nl_cell_share(item->gpu_ns, whole);
    cells[AT_gpu_total_ns] = nl_cell_i64(item->total_ns);
    cells[AT_gpu_union_ns] = nl_cell_i64(item->union_ns);
}

/* Work without a range stands last. */
static struct nl_result *make_table(struct tallies *tallies)
{
    struct nl_result *result = NL_ANSWER_NEW("gpu_by_name", NULL, columns);
    int64_t whole = 0;
    for (size_t id = 0; id < tallies->count; id++) {
        tallies->items[id].name = (uint32_t)id;
        nl_sum_add(&whole, tallies->items[id].gpu_ns);
    }
    for (unsigned i = 0; i < NL_UNOWNED; i++)
        nl_sum_add(&whole, tallies->unowned[i].gpu_ns);
    if (tallies->count)
        qsort(tallies->items, tallies->count, sizeof *tallies->items, by_gpu);
    for (size_t i = 0; i < tallies->count; i++) {
        const struct tally *item = &tallies->items[i];
        if (item->count || item->works || item->total_ns)
            gputime_add_row(result, item, nl_cell_folded(&tallies->fold, result, item->name), true,
                            whole);
    }
    nl_result_settle(result, "gpu_ns");
    for (unsigned i = 0; i < NL_UNOWNED; i++)
        if (tallies->unowned[i].works)
            gputime_add_row(result, &tallies->unowned[i],
                            nl_cell_static(nl_gputime_unowned_name((enum nl_unowned)i)), false,
                            whole);
    result->note = nl_fold_note(&tallies->fold, &result->arena);
    return result;
}

struct nl_result *nl_gputime_by_name(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, enum nl_kind kind)
{
    struct tallies tallies = {.count = 0};
    if (!nl_rangetree_any(trace, kind) || !nl_has_device_work(trace))
        return NL_ANSWER_NEW("gpu_by_name", NULL, columns);
    nl_gputime_init(&tallies.gpu, trace, options, kind);
    nl_fold_init(&tallies.fold, trace, options->fold ? NL_FOLD_EYES : NL_FOLD_NOTHING);
    tally_ranges(&tallies, options->memo, kind);
    tally_device(&tallies);
    struct nl_result *result = make_table(&tallies);
    nl_free(tallies.items);
    nl_free(tallies.ids);
    nl_fold_release(&tallies.fold);
    nl_gputime_release(&tallies.gpu);
    return result;
}

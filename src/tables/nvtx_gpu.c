/*
 * nvtx_gpu — ranges projected onto the device, as `nsys stats` nvtx_gpu_proj_sum does: an instance
 * of a range reaches from the first start to the last end of the device work that was launched by
 * calls inside it, on its own thread.
 */
#include "tables/resultcells.h"
#include "tables/gputime.h"
#include "tables/groups.h"
#include "base/mem.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(name, "range", TEXT)                                                                         \
    C(domain, NULL, TEXT)                                                                          \
    C(style, NULL, TEXT)                                                                           \
    C(instances, NULL, COUNT)                                                                      \
    C(projected_ns, "projected", NS)                                                               \
    C(range_ns, "on the CPU", NS)                                                                  \
    C(mean_ns, "mean", NS)                                                                         \
    C(median_ns, "median", NS)                                                                     \
    C(min_ns, "min", NS)                                                                           \
    C(max_ns, "max", NS)                                                                           \
    C(stddev_ns, "stddev", NS)                                                                     \
    C(gpu_ops, "GPU ops", COUNT)                                                                   \
    C(gpu_ops_mean, "per range", NUMBER)                                                           \
    C(level_mean, "level", NUMBER)                                                                 \
    C(children_mean, "children", NUMBER)
NL_COLUMNS(COLUMNS);

/* Of a range with device work; works and children are numbers of them. */
struct projected {
    int64_t start, end;
    uint32_t works, children;
};

/* Few of the ranges of a long profile have device work themselves. */
struct projection {
    uint32_t *place; /* per range: its item + 1, 0 none */
    struct projected *items;
    size_t count, cap;
};

static struct projected *find_projected(const struct projection *made, uint32_t range)
{
    uint32_t place = made->place[range];
    return place ? &made->items[place - 1] : NULL;
}

static struct projected *extend(struct projection *made, uint32_t range, int64_t start, int64_t end)
{
    struct projected *item = find_projected(made, range);
    if (!item) {
        nl_grow(&made->items, &made->cap, made->count + 1);
        item = &made->items[made->count++];
        *item = (struct projected){.start = start, .end = end};
        made->place[range] = (uint32_t)made->count;
    }
    item->start = start < item->start ? start : item->start;
    item->end = end > item->end ? end : item->end;
    item->works++;
    return item;
}

/* Ranges still to be looked at: `range` and those around it, up to `stop`. */
struct climb {
    uint32_t range, stop;
};

struct climbs {
    struct climb *items;
    size_t count, cap;
};

static void push(struct climbs *climbs, uint32_t range, uint32_t stop)
{
    nl_grow(&climbs->items, &climbs->cap, climbs->count + 1);
    climbs->items[climbs->count++] = (struct climb){range, stop};
}

/* Gives work in [start, end) to all ranges that contain the whole call: the innermost, those around
 * it, and those that one of these crosses. The latter are between the range before in order of
 * start and the parent of the one that crosses, and end before that one does. */
static void spread(const struct nl_rangetree *tree, struct projection *made, struct climbs *climbs,
                   int64_t call_end, int64_t start, int64_t end)
{
    while (climbs->count) {
        struct climb climb = climbs->items[--climbs->count];
        for (uint32_t range = climb.range; range != climb.stop; range = tree->parents[range]) {
            if (nl_rangetree_end(tree, range) < call_end)
                continue;
            (void)extend(made, range, start, end);
            uint32_t thread =
                tree->trace->lane.thread[tree->trace->slice.lane[tree->slices[range]]];
            if (tree->crossed && range > tree->thread_first[thread])
                push(climbs, range - 1, tree->parents[range]);
        }
    }
}

/* The same where no range crosses another: those around one that holds the call hold it, too, so
 * the work goes to the innermost, and from all ranges to their parents afterwards. */
static void give_innermost(const struct nl_rangetree *tree, struct projection *made, uint32_t range,
                           int64_t call_end, int64_t start, int64_t end)
{
    while (range != NL_NULL_ROW && nl_rangetree_end(tree, range) < call_end)
        range = tree->parents[range];
    if (range != NL_NULL_ROW)
        (void)extend(made, range, start, end);
}

static void give_parents(const struct nl_rangetree *tree, struct projection *made)
{
    for (uint32_t range = tree->count; range-- > 0;) {
        uint32_t parent = tree->parents[range];
        const struct projected *item = find_projected(made, range);
        if (!item || parent == NL_NULL_ROW)
            continue;
        struct projected inner = *item;
        extend(made, parent, inner.start, inner.end)->works += inner.works - 1;
    }
}

static void project(const struct nl_gputime *gpu, struct projection *made)
{
    const struct nl_rangetree *tree = gpu->tree;
    struct climbs climbs = {0};
    *made = (struct projection){0};
    made->place = nl_ztable(((size_t)tree->count + 1) * sizeof *made->place);
    /* Innermost ranges are no more than the work: not copied while there are more and more. */
    nl_grow(&made->items, &made->cap,
            tree->count < gpu->owners->count ? tree->count : gpu->owners->count);
    for (uint32_t work = 0; work < gpu->owners->count; work++) {
        uint32_t slice = gpu->owners->work[work], launch = gpu->owners->launch[work];
        if (gpu->owner[work] == NL_NULL_ROW || launch == NL_NULL_ROW ||
            !nl_scope_lane(&gpu->device, gpu->trace->slice.lane[slice]))
            continue;
        int64_t call_end = nl_slice_end(gpu->trace, launch);
        int64_t start = gpu->trace->slice.ts[slice], end = nl_slice_end(gpu->trace, slice);
        if (!tree->crossed) {
            give_innermost(tree, made, gpu->owner[work], call_end, start, end);
            continue;
        }
        push(&climbs, gpu->owner[work], NL_NULL_ROW);
        spread(tree, made, &climbs, call_end, start, end);
    }
    nl_free(climbs.items);
    if (!tree->crossed)
        give_parents(tree, made);
    for (uint32_t range = 0; range < tree->count; range++) {
        uint32_t parent = tree->parents[range];
        if (made->place[range] && parent != NL_NULL_ROW && made->place[parent])
            find_projected(made, parent)->children++;
    }
}

static void release_projection(struct projection *made)
{
    nl_free(made->place);
    nl_free(made->items);
}

/* Levels of all ranges; parents come first. */
static uint32_t *levels_of(const struct nl_rangetree *tree)
{
    uint32_t *levels = nl_alloc(((size_t)tree->count + 1) * sizeof *levels);
    for (uint32_t range = 0; range < tree->count; range++) {
        uint32_t parent = tree->parents[range];
        levels[range] = parent == NL_NULL_ROW ? 0 : levels[parent] + 1;
    }
    return levels;
}

enum sums { RANGE_NS, WORKS, LEVELS, CHILDREN };

static void group_ranges(const struct nl_gputime *gpu, const struct projection *made,
                         struct nl_fold *fold, struct nl_groups *groups)
{
    const struct nl_nvtx_table *nvtx = &gpu->trace->nvtx;
    uint32_t *levels = levels_of(gpu->tree);
    nl_groups_expect(groups, made->count);
    for (uint32_t range = 0; range < gpu->tree->count; range++) {
        const struct projected *item = find_projected(made, range);
        if (!item)
            continue;
        uint32_t slice = gpu->tree->slices[range], row = gpu->trace->slice.detail[slice];
        int64_t length = nl_scope_length(&gpu->host, slice);
        if (length < 0)
            continue;
        uint32_t domain = row == NL_NULL_U32 ? NL_NO_NAME : nvtx->domain[row];
        uint64_t name = nl_fold_id(fold, gpu->trace->slice.name[slice]);
        struct nl_group *group =
            nl_groups_add(groups, name << 32 | domain, row == NL_NULL_U32 ? 0 : nvtx->style[row],
                          item->end - item->start);
        nl_sum_add(&group->sums[RANGE_NS], length);
        group->sums[WORKS] += item->works;
        group->sums[LEVELS] += levels[range];
        group->sums[CHILDREN] += item->children;
    }
    nl_free(levels);
    nl_groups_finish(groups);
}

static void nvtx_gpu_add_row(struct nl_result *result, const struct nl_gputime *gpu,
                             const struct nl_fold *fold, const struct nl_group *group)
{
    struct nl_cell *cells = nl_result_row(result);
    double count = (double)group->stats.count;
    cells[AT_name] = nl_cell_folded(fold, result, (uint32_t)(group->a >> 32));
    cells[AT_domain] = nl_cell_name(result, gpu->trace, (uint32_t)group->a);
    cells[AT_style] = nl_cell_enum(NL_ENUM_rangestyle, (unsigned)group->b);
    cells[AT_instances] = nl_cell_count(group->stats.count);
    cells[AT_projected_ns] = nl_cell_i64(group->stats.total_ns);
    cells[AT_range_ns] = nl_cell_i64(group->sums[RANGE_NS]);
    cells[AT_mean_ns] = nl_cell_f64(group->stats.mean_ns);
    cells[AT_median_ns] = nl_cell_f64(group->stats.median_ns);
    cells[AT_min_ns] = nl_cell_i64(group->stats.min_ns);
    cells[AT_max_ns] = nl_cell_i64(group->stats.max_ns);
    cells[AT_stddev_ns] = nl_cell_f64(group->stats.stddev_ns);
    cells[AT_gpu_ops] = nl_cell_i64(group->sums[WORKS]);
    cells[AT_gpu_ops_mean] = nl_cell_f64((double)group->sums[WORKS] / count);
    cells[AT_level_mean] = nl_cell_f64((double)group->sums[LEVELS] / count);
    cells[AT_children_mean] = nl_cell_f64((double)group->sums[CHILDREN] / count);
}

static struct nl_result *nvtx_gpu_run(const struct nl_trace *trace,
                                      const struct nl_analyze_options *options, struct nl_job *job,
                                      struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("nvtx_gpu", NULL, columns);
    struct nl_gputime gpu;
    struct projection made;
    struct nl_fold fold;
    struct nl_groups groups;
    if (!nl_rangetree_any(trace, NL_KIND_NVTX))
        return result;
    nl_gputime_init(&gpu, trace, options, NL_KIND_NVTX);
    nl_fold_init(&fold, trace, options->fold ? NL_FOLD_EYES : NL_FOLD_NOTHING);
    nl_groups_init(&groups);
    project(&gpu, &made);
    group_ranges(&gpu, &made, &fold, &groups);
    for (size_t i = 0; i < groups.count; i++)
        nvtx_gpu_add_row(result, &gpu, &fold, &groups.items[i]);
    nl_result_settle(result, "projected_ns");
    result->note = nl_fold_note(&fold, &result->arena);
    nl_groups_release(&groups);
    nl_fold_release(&fold);
    release_projection(&made);
    nl_gputime_release(&gpu);
    return result;
}

const struct nl_analysis nl_analysis_nvtx_gpu = {
    .name = "nvtx_gpu",
    .key = "nvtx_gpu",
    .title = "User ranges on the device",
    .needs = {{NL_T_nvtx, NULL}, {NL_T_api, "correlation"}},
    .need_count = 2,
    .run = nvtx_gpu_run,
    .doc = "Per text, domain and style of the ranges that launched device work. The projection of "
           "an instance reaches from the first start to the last end of the work launched by calls "
           "inside it: its statistics, time on the CPU, work, nesting level, and directly nested "
           "ranges that also launched work (nvtx_gpu_proj_sum of `nsys stats`).",
};

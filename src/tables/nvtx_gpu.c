/*
 * nvtx_gpu — ranges projected onto the device, as `nsys stats` nvtx_gpu_proj_sum does: an instance
 * of a range reaches from the first start to the last end of the device work that was launched by
 * calls lying inside it, on its own thread.
 */
#include "tables/answer.h"
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

struct projection {
    int64_t *start, *end; /* of the device work, where works > 0 */
    uint32_t *works, *children;
};

static void extend(struct projection *made, uint32_t range, int64_t start, int64_t end)
{
    if (!made->works[range]++) {
        made->start[range] = start;
        made->end[range] = end;
        return;
    }
    if (start < made->start[range])
        made->start[range] = start;
    if (end > made->end[range])
        made->end[range] = end;
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

/* Gives work in [start, end) to all ranges that the call lies in whole: the innermost, those around
 * it, and those that one of these crosses. The latter lie between the range before in order of start
 * and the parent of the one that crosses, and end before that one does. */
static void spread(const struct nl_rangetree *tree, struct projection *made, struct climbs *climbs,
                   int64_t call_end, int64_t start, int64_t end)
{
    while (climbs->count) {
        struct climb climb = climbs->items[--climbs->count];
        for (uint32_t range = climb.range; range != climb.stop; range = tree->parents[range]) {
            if (nl_rangetree_end(tree, range) < call_end)
                continue;
            extend(made, range, start, end);
            uint32_t thread =
                tree->trace->lane.thread[tree->trace->slice.lane[tree->slices[range]]];
            if (tree->crossed && range > tree->thread_first[thread])
                push(climbs, range - 1, tree->parents[range]);
        }
    }
}

/* The same where no range crosses another: those around one that holds the call hold it, too, so the
 * work goes to the innermost, and from all ranges to their parents afterwards. */
static void give_innermost(const struct nl_rangetree *tree, struct projection *made, uint32_t range,
                           int64_t call_end, int64_t start, int64_t end)
{
    while (range != NL_NULL_ROW && nl_rangetree_end(tree, range) < call_end)
        range = tree->parents[range];
    if (range != NL_NULL_ROW)
        extend(made, range, start, end);
}

static void give_parents(const struct nl_rangetree *tree, struct projection *made)
{
    for (uint32_t range = tree->count; range-- > 0;) {
        uint32_t parent = tree->parents[range], works = made->works[range];
        if (!works || parent == NL_NULL_ROW)
            continue;
        extend(made, parent, made->start[range], made->end[range]);
        made->works[parent] += works - 1;
    }
}

static void project(const struct nl_gputime *gpu, struct projection *made)
{
    const struct nl_rangetree *tree = gpu->tree;
    struct climbs climbs = {0};
    size_t count = (size_t)tree->count + 1;
    made->start = nl_zalloc(count * sizeof *made->start); /* only what is touched takes memory */
    made->end = nl_zalloc(count * sizeof *made->end);
    made->works = nl_zalloc(count * sizeof *made->works);
    made->children = nl_zalloc(count * sizeof *made->children);
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
    for (uint32_t range = 0; range < tree->count; range++)
        if (made->works[range] && tree->parents[range] != NL_NULL_ROW)
            made->children[tree->parents[range]]++;
}

static void release(struct projection *made)
{
    nl_free(made->start);
    nl_free(made->end);
    nl_free(made->works);
    nl_free(made->children);
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
    for (uint32_t range = 0; range < gpu->tree->count; range++) {
        uint32_t slice = gpu->tree->slices[range], row = gpu->trace->slice.detail[slice];
        int64_t length = nl_scope_length(&gpu->host, slice);
        if (!made->works[range] || length < 0)
            continue;
        uint32_t domain = row == NL_NULL_U32 ? NL_NO_NAME : nvtx->domain[row];
        uint64_t name = nl_fold_id(fold, gpu->trace->slice.name[slice]);
        struct nl_group *group =
            nl_groups_add(groups, name << 32 | domain, row == NL_NULL_U32 ? 0 : nvtx->style[row],
                          made->end[range] - made->start[range]);
        nl_sum_add(&group->sums[RANGE_NS], length);
        group->sums[WORKS] += made->works[range];
        group->sums[LEVELS] += levels[range];
        group->sums[CHILDREN] += made->children[range];
    }
    nl_free(levels);
    nl_groups_finish(groups);
}

static void nvtx_gpu_add_row(struct nl_result *result, const struct nl_gputime *gpu,
                             const struct nl_fold *fold, const struct nl_group *group)
{
    struct nl_cell *cells = nl_result_row(result);
    double count = (double)group->stats.count;
    cells[AT_name] = nl_fold_cell(fold, result, (uint32_t)(group->a >> 32));
    cells[AT_domain] = nl_answer_name(result, gpu->trace, (uint32_t)group->a);
    cells[AT_style] = nl_answer_enum(NL_ENUM_rangestyle, (unsigned)group->b);
    cells[AT_instances] = nl_answer_count(group->stats.count);
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
    nl_answer_settle(result, "projected_ns");
    result->note = nl_fold_note(&fold, result);
    nl_groups_release(&groups);
    nl_fold_release(&fold);
    release(&made);
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
    .doc = "Per text, domain and style of the ranges that launched device work: an instance's "
           "projection reaches from the first start to the last end of the work launched by calls "
           "inside it; statistics of it, time on the CPU, work, nesting level and ranges directly "
           "inside that launched work too (`nsys stats` nvtx_gpu_proj_sum).",
};

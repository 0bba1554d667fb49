/* selftime — see selftime.h. */
#include "tables/selftime.h"

#include <stdlib.h>
#include <string.h>

#include "tables/resultcells.h"
#include "tables/leftout.h"
#include "tables/memo.h"
#include "tables/scope.h"
#include "base/mem.h"
#include "base/sum.h"
#include "timeline/groupstats.h"

/* Self time per slice of the trace when only slices of the same kind are children. */
static int64_t *same_kind_times(const struct nl_trace *trace, const struct nl_nest *nest)
{
    const struct nl_slice_table *slice = &trace->slice;
    int64_t *self = nl_zalloc(((size_t)slice->rows + 1) * sizeof *self);
    for (uint32_t row = 0; row < nest->rows; row++)
        self[nest->slices[row]] = slice->dur[nest->slices[row]];
    for (uint32_t row = 0; row < nest->rows; row++) {
        uint32_t child = nest->slices[row], above = slice->parent[child];
        while (above != NL_NULL_ROW && slice->kind[above] != slice->kind[child])
            above = slice->parent[above];
        bool known = above != NL_NULL_ROW && slice->dur[child] != NL_NULL_I64 &&
                     slice->dur[above] != NL_NULL_I64;
        if (known && self[above] >= slice->dur[child])
            self[above] -= slice->dur[child];
    }
    return self;
}

static int by_self(const void *left, const void *right)
{
    const struct nl_group *a = left, *b = right;
    if (a->sums[0] != b->sums[0])
        return a->sums[0] > b->sums[0] ? -1 : 1;
    if (a->stats.total_ns != b->stats.total_ns)
        return a->stats.total_ns > b->stats.total_ns ? -1 : 1;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    return a->b < b->b ? -1 : a->b > b->b;
}

void nl_groups_by_self(struct nl_groups *groups)
{
    if (groups->count)
        qsort(groups->items, groups->count, sizeof *groups->items, by_self);
}

#define SELF_PLACE(name, head, meaning) SELF_##name,
enum { NL_SELF_LIST(SELF_PLACE) SELF_COUNT };

void nl_self_cells(struct nl_cell *cells, const struct nl_group *group, int64_t whole_self)
{
    struct nl_cell stats[NL_STATS_COUNT];
    nl_cells_stats(stats, &group->stats, 0);
    cells[SELF_count] = stats[NL_STATS_count];
    cells[SELF_total_ns] = stats[NL_STATS_total_ns];
    cells[SELF_self_ns] = nl_cell_i64(group->sums[0]);
    cells[SELF_share] = nl_cell_share(group->sums[0], whole_self);
    memcpy(cells + SELF_min_ns, stats + NL_STATS_min_ns,
           (NL_STATS_COUNT - NL_STATS_min_ns) * sizeof *cells);
}

#define COLUMNS(C)                                                                                 \
    C(name, NULL, TEXT)                                                                            \
    NL_SELF_LIST(C)                                                                                \
    C(bound, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static void put_bound(struct nl_cell *cells, enum nl_left bound)
{
    cells[AT_bound] = nl_cell_static(nl_left_text(bound));
    if (bound != NL_LEFT_NONE)
        cells[AT_share] = (struct nl_cell){0};
}

/* Self time per name of the slices that count; `whole` is that of names under
 * which a thread works. */
static int64_t *sum_by_name(const struct nl_trace *trace, const struct nl_slice_list *list,
                            const int64_t *self, const uint8_t *no_work, int64_t *whole)
{
    int64_t *sums = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *sums);
    *whole = 0;
    for (uint32_t row = 0; row < list->rows; row++) {
        uint32_t slice = list->slices[row];
        if (!nl_slice_listed(list, &trace->slice, slice))
            continue;
        nl_sum_add(&sums[trace->slice.name[slice]], self[slice]);
        if (!no_work[trace->slice.name[slice]])
            nl_sum_add(whole, self[slice]);
    }
    return sums;
}

/* The same as groups in the order of the answer; nl_free them. */
static struct nl_group *group_by_name(const struct nl_trace *trace,
                                      const struct nl_slice_list *list, const int64_t *sums,
                                      size_t *count)
{
    struct nl_group_stats *stats = nl_list_stats(trace, list, count);
    struct nl_group *groups = nl_alloc((*count + 1) * sizeof *groups);
    for (size_t i = 0; i < *count; i++)
        groups[i] =
            (struct nl_group){.a = stats[i].name, .stats = stats[i], .sums = {sums[stats[i].name]}};
    if (*count)
        qsort(groups, *count, sizeof *groups, by_self);
    nl_free(stats);
    return groups;
}

struct nl_result *nl_self_answer(const struct nl_trace *trace,
                                 const struct nl_analyze_options *options,
                                 const struct nl_nest *nest)
{
    size_t width = AT_bound + (nest->bounds != NULL);
    struct nl_result *result = nl_result_new("self", NULL, columns, width);
    if (!nest->rows)
        return result;
    struct nl_scope scope;
    int64_t *own_kind = nest->same_kind ? same_kind_times(trace, nest) : NULL, whole;
    const int64_t *self = own_kind ? own_kind : nl_memo_self_times(options->memo);
    nl_scope_init(&scope, trace, &options->window);
    const struct nl_slice_list list = {nest->slices, nest->rows,  scope.start,
                                       scope.end,    scope.lanes, scope.everything};
    const uint8_t *no_work = nl_memo_no_work(options->memo);
    int64_t *sums = sum_by_name(trace, &list, self, no_work, &whole);
    size_t count;
    struct nl_group *groups = group_by_name(trace, &list, sums, &count);
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_name] = nl_cell_name(result, trace, (uint32_t)groups[i].a);
        nl_self_cells(cells + AT_count, &groups[i], no_work[groups[i].a] ? 0 : whole);
        if (nest->bounds)
            put_bound(cells, nest->bounds[groups[i].a]);
    }
    nl_result_settle(result, "self_ns");
    nl_free(groups);
    nl_free(sums);
    nl_free(own_kind);
    nl_scope_release(&scope);
    return result;
}

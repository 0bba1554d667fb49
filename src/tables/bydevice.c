/* Grouping of device work, see bydevice.h. */
#include "tables/bydevice.h"

#include "tables/places.h"
#include "tables/scope.h"
#include "base/sum.h"

enum { SUM_BYTES, SUM_TIMED_NS, SUM_SIZED };

static void group_rows(struct nl_groups *groups, const struct nl_scope *scope,
                       const struct nl_places *places, const struct nl_by_device *grouping)
{
    const struct nl_trace *trace = scope->trace;
    for (uint32_t row = 0; row < grouping->rows; row++) {
        uint32_t slice = grouping->slice[row];
        int64_t length = nl_scope_length(scope, slice);
        if (length < 0)
            continue;
        struct nl_group *group =
            nl_groups_add(groups, grouping->key(trace, row),
                          places->lane_place[trace->slice.lane[slice]], length);
        if (!grouping->bytes || grouping->bytes[row] == NL_NULL_U64)
            continue;
        nl_sum_add_u64(&group->sums[SUM_BYTES], grouping->bytes[row]);
        nl_sum_add(&group->sums[SUM_TIMED_NS], length);
        group->sums[SUM_SIZED]++;
    }
}

struct nl_result *nl_by_device(const struct nl_trace *trace,
                               const struct nl_analyze_options *options,
                               const struct nl_by_device *grouping)
{
    struct nl_scope scope;
    struct nl_places places;
    struct nl_groups groups;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    nl_groups_init(&groups);
    group_rows(&groups, &scope, &places, grouping);
    nl_groups_finish(&groups);
    struct nl_result *result =
        nl_result_new(grouping->name, NULL, grouping->columns, grouping->column_count);
    int64_t whole = nl_groups_total(&groups);
    for (size_t i = 0; i < groups.count; i++) {
        const struct nl_group *group = &groups.items[i];
        struct nl_cell *cells = nl_result_row(result);
        if (group->b != NL_NULL_ROW) {
            cells[NL_BY_DEVICE_RANK] = nl_cell_i64(places.items[group->b].rank);
            cells[NL_BY_DEVICE_DEVICE] = nl_cell_i64(places.items[group->b].ordinal);
        }
        grouping->cells(cells, group, whole);
    }
    nl_groups_release(&groups);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

struct nl_cell nl_by_device_bytes(const struct nl_group *group)
{
    return nl_cell_i64(group->sums[SUM_SIZED] ? group->sums[SUM_BYTES] : NL_NULL_I64);
}

struct nl_cell nl_by_device_bandwidth(const struct nl_group *group)
{
    if (group->sums[SUM_TIMED_NS] <= 0)
        return nl_cell_i64(NL_NULL_I64);
    return nl_cell_f64((double)group->sums[SUM_BYTES] * 1e9 / (double)group->sums[SUM_TIMED_NS]);
}

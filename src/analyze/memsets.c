/*
 * memsets — memory fills by kind of memory, rank and device.
 */
#include "analyze/answer.h"
#include "analyze/groups.h"
#include "analyze/places.h"
#include "analyze/scope.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"memory", NULL, NL_MEANS_TEXT},
    {"bytes", NULL, NL_MEANS_BYTES},
    {"bandwidth_bytes_per_s", "bandwidth", NL_MEANS_RATE},
    NL_STATS_COLUMNS,
};

enum { SUM_BYTES, SUM_TIMED_NS, SUM_SIZED };

static void collect(struct nl_groups *groups, const struct nl_scope *scope,
                    const struct nl_places *places)
{
    const struct nl_trace *trace = scope->trace;
    for (uint32_t row = 0; row < trace->memset.rows; row++) {
        uint32_t slice = trace->memset.slice[row];
        int64_t length = nl_scope_length(scope, slice);
        if (length < 0)
            continue;
        struct nl_group *group =
            nl_groups_add(groups, trace->memset.memory[row],
                          places->lane_place[trace->slice.lane[slice]], length);
        if (trace->memset.bytes[row] == NL_NULL_U64)
            continue;
        group->sums[SUM_BYTES] += (int64_t)trace->memset.bytes[row];
        group->sums[SUM_TIMED_NS] += length;
        group->sums[SUM_SIZED]++;
    }
}

static void add_row(struct nl_result *result, const struct nl_places *places,
                    const struct nl_group *group, int64_t whole)
{
    bool placed = group->b != NL_NULL_ROW;
    const struct nl_place *place = placed ? &places->items[group->b] : NULL;
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(placed ? place->rank : NL_NULL_I64);
    cells[1] = nl_cell_i64(placed ? place->ordinal : NL_NULL_I64);
    cells[2] = nl_answer_enum(NL_ENUM_memory, (unsigned)group->a);
    cells[3] = nl_cell_i64(group->sums[SUM_SIZED] ? group->sums[SUM_BYTES] : NL_NULL_I64);
    if (group->sums[SUM_TIMED_NS] > 0)
        cells[4] =
            nl_cell_f64((double)group->sums[SUM_BYTES] * 1e9 / (double)group->sums[SUM_TIMED_NS]);
    nl_answer_stats(&cells[5], &group->stats, whole);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    struct nl_groups groups;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    nl_groups_init(&groups);
    collect(&groups, &scope, &places);
    nl_groups_finish(&groups);
    struct nl_result *result = NL_ANSWER_NEW("memsets", NULL, columns);
    int64_t whole = nl_groups_total(&groups);
    for (size_t i = 0; i < groups.count; i++)
        add_row(result, &places, &groups.items[i], whole);
    nl_groups_release(&groups);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_memsets = {
    .name = "memsets",
    .key = "memsets",
    .title = "Memory fills",
    .needs = {{NL_T_memset, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank, device and kind of memory: bytes set, bandwidth, and statistics of time.",
};

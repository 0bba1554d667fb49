/*
 * syncs — waits of the CPU or of a stream that the profiler recorded as such, by kind.
 */
#include "analyze/answer.h"
#include "analyze/groups.h"
#include "analyze/places.h"
#include "analyze/scope.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"kind", NULL, NL_MEANS_TEXT},
    NL_STATS_COLUMNS,
};

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
    for (uint32_t row = 0; row < trace->sync.rows; row++) {
        uint32_t slice = trace->sync.slice[row];
        int64_t length = nl_scope_length(&scope, slice);
        if (length >= 0)
            nl_groups_add(&groups, trace->sync.kind[row],
                          places.lane_place[trace->slice.lane[slice]], length);
    }
    nl_groups_finish(&groups);
    struct nl_result *result = NL_ANSWER_NEW("syncs", NULL, columns);
    int64_t whole = nl_groups_total(&groups);
    for (size_t i = 0; i < groups.count; i++) {
        const struct nl_group *group = &groups.items[i];
        bool placed = group->b != NL_NULL_ROW;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_i64(placed ? places.items[group->b].rank : NL_NULL_I64);
        cells[1] = nl_cell_i64(placed ? places.items[group->b].ordinal : NL_NULL_I64);
        cells[2] = nl_answer_enum(NL_ENUM_synckind, (unsigned)group->a);
        nl_answer_stats(&cells[3], &group->stats, whole);
    }
    nl_groups_release(&groups);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_syncs = {
    .name = "syncs",
    .key = "syncs",
    .title = "Recorded waits",
    .needs = {{NL_T_sync, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank, device and kind of synchronisation (event, stream wait event, stream, "
           "context): statistics of its recorded length. Waiting for a busy device costs nothing "
           "by itself.",
};

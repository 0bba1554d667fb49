/*
 * events — how much of what a profile holds: slices by kind, and the tables that are not slices.
 */
#include "tables/answer.h"
#include "tables/scope.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(kind, NULL, TEXT)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)
NL_COLUMNS(COLUMNS);

static const enum nl_table_id others[] = {NL_T_collective, NL_T_counter, NL_T_memory,
                                          NL_T_flow,       NL_T_sample,  NL_T_call,
                                          NL_T_node,       NL_T_metric,  NL_T_step};

struct tally {
    uint64_t count;
    int64_t total;
};

/* Without a window every slice counts. */
static void collect_all(struct tally tallies[NL_KIND_COUNT], const struct nl_slice_table *slice)
{
    for (uint32_t row = 0; row < slice->rows; row++) {
        struct tally *tally = &tallies[slice->kind[row] < NL_KIND_COUNT ? slice->kind[row] : 0];
        tally->count++;
        if (slice->dur[row] != NL_NULL_I64)
            nl_sum_add(&tally->total, slice->dur[row]);
    }
}

static void collect(struct tally tallies[NL_KIND_COUNT], const struct nl_scope *scope)
{
    const struct nl_slice_table *slice = &scope->trace->slice;
    if (scope->everything) {
        collect_all(tallies, slice);
        return;
    }
    for (uint32_t row = 0; row < slice->rows; row++) {
        struct tally *tally = &tallies[slice->kind[row] < NL_KIND_COUNT ? slice->kind[row] : 0];
        if (slice->dur[row] == NL_NULL_I64) {
            tally->count += nl_scope_moment(scope, slice->lane[row], slice->ts[row]);
            continue;
        }
        int64_t length = nl_scope_length(scope, row);
        tally->count += length >= 0;
        nl_sum_add(&tally->total, length >= 0 ? length : 0);
    }
}

static struct nl_result *events_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct tally tallies[NL_KIND_COUNT] = {{0, 0}};
    nl_scope_init(&scope, trace, &options->window);
    collect(tallies, &scope);
    struct nl_result *result = NL_ANSWER_NEW("events", NULL, columns);
    for (unsigned kind = 0; kind < NL_KIND_COUNT; kind++) {
        if (!tallies[kind].count)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_kind] = kind ? nl_answer_enum(NL_ENUM_kind, kind) : nl_answer_static("unknown");
        cells[AT_count] = nl_answer_count(tallies[kind].count);
        cells[AT_total_ns] = nl_cell_i64(tallies[kind].total);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint32_t rows = nl_trace_rows(trace, others[i]);
        if (!rows)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_kind] = nl_answer_static(nl_tables[others[i]].sql);
        cells[AT_count] = nl_answer_count(rows);
    }
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_events = {
    .name = "events",
    .key = "events",
    .title = "Events by kind",
    .run = events_run,
    .doc = "Slices by kind with the sum of their lengths, then rows of the tables that hold no "
           "slices (collectives, and nodes of operators, describe slices counted above).",
};

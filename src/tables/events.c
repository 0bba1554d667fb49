/*
 * events — how much of what a profile holds: slices by kind, and the tables that are not slices.
 */
#include <string.h>

#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "base/wide.h"

#define COLUMNS(C)                                                                                 \
    C(kind, NULL, TEXT)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)
NL_COLUMNS(COLUMNS);

static const enum nl_table_id others[] = {NL_T_collective, NL_T_counter, NL_T_memory,
                                          NL_T_flow,       NL_T_sample,  NL_T_call,
                                          NL_T_node,       NL_T_metric,  NL_T_step};

/* RUN lengths below 2^SHORT_BITS add up to less than 2^63. */
enum { RUN = 2048, SHORT_BITS = 52 };

struct tally {
    uint64_t count;
    int64_t total;
};

NL_WIDE static uint64_t sum_of(const int64_t *dur, uint32_t count, uint64_t *bits)
{
    uint64_t sum = 0, any = 0;
    for (uint32_t i = 0; i < count; i++) {
        any |= (uint64_t)dur[i];
        sum += (uint64_t)dur[i];
    }
    *bits = any;
    return sum;
}

/* Lengths of neighbours of one kind, RUN at most. The sum of short ones cannot leave its range; an
 * unknown length has the sign bit, and is not short. */
static void add_lengths(struct tally *tally, const int64_t *dur, uint32_t count)
{
    uint64_t bits, sum = sum_of(dur, count, &bits);
    tally->count += count;
    if (bits >> SHORT_BITS == 0) {
        nl_sum_add(&tally->total, (int64_t)sum);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (dur[i] != NL_NULL_I64)
            nl_sum_add(&tally->total, dur[i]);
}

/* How many of the first cells are alike: mostly all, since slices stand by lane. */
static uint32_t alike(const uint8_t *kind, uint32_t count)
{
    if (memcmp(kind, kind + 1, count - 1) == 0)
        return count;
    uint32_t same = 1;
    while (kind[same] == kind[0])
        same++;
    return same;
}

/* Without a window every slice counts. */
static void collect_all(struct tally tallies[NL_KIND_COUNT], const struct nl_slice_table *slice)
{
    for (uint32_t row = 0, count; row < slice->rows; row += count) {
        count = alike(slice->kind + row, slice->rows - row < RUN ? slice->rows - row : RUN);
        unsigned kind = slice->kind[row] < NL_KIND_COUNT ? slice->kind[row] : 0;
        add_lengths(&tallies[kind], slice->dur + row, count);
    }
}

static void tally_slices(struct tally tallies[NL_KIND_COUNT], const struct nl_scope *scope)
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
    tally_slices(tallies, &scope);
    struct nl_result *result = NL_ANSWER_NEW("events", NULL, columns);
    for (unsigned kind = 0; kind < NL_KIND_COUNT; kind++) {
        if (!tallies[kind].count)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_kind] = kind ? nl_cell_enum(NL_ENUM_kind, kind) : nl_cell_static("unknown");
        cells[AT_count] = nl_cell_count(tallies[kind].count);
        cells[AT_total_ns] = nl_cell_i64(tallies[kind].total);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint32_t rows = nl_trace_rows(trace, others[i]);
        if (!rows)
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_kind] = nl_cell_static(nl_tables[others[i]].sql);
        cells[AT_count] = nl_cell_count(rows);
    }
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_events = {
    .name = "events",
    .key = "events",
    .title = "Events by kind",
    .run = events_run,
    .doc = "Slices by kind with the sum of their durations, then rows of the tables that hold no "
           "slices (collectives, and nodes of operators, describe slices counted above).",
};

/*
 * steps — the iterations that the program marked, in order of rank and time.
 */
#include <stdlib.h>

#include "analyze/answer.h"
#include "analyze/scope.h"
#include "base/sort.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},  {"index", NULL, NL_MEANS_INTEGER},
    {"name", NULL, NL_MEANS_TEXT},     {"start_ns", "start", NL_MEANS_NS},
    {"dur_ns", "length", NL_MEANS_NS},
};

struct mark {
    int64_t rank, ts;
    uint32_t row;
};

static int by_rank_and_time(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_step_table *step = &trace->step;
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &options->window);
    struct mark *marks = nl_alloc((step->rows + (size_t)1) * sizeof *marks);
    size_t count = 0;
    for (uint32_t row = 0; row < step->rows; row++) {
        uint32_t lane = step->lane[row];
        if (nl_scope_moment(&scope, lane, step->ts[row]))
            marks[count++] =
                (struct mark){.rank = lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane),
                              .ts = step->ts[row],
                              .row = row};
    }
    qsort(marks, count, sizeof *marks, by_rank_and_time);
    struct nl_result *result = NL_ANSWER_NEW("steps", NULL, columns);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = marks[i].row;
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_i64(marks[i].rank);
        cells[1] = nl_cell_i64(step->index[row]);
        cells[2] = nl_answer_name(result, trace, step->name[row]);
        cells[3] = nl_cell_i64(step->ts[row] - trace->first_ts);
        cells[4] = nl_cell_i64(step->dur[row]);
    }
    nl_free(marks);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_steps = {
    .name = "steps",
    .key = "steps",
    .title = "Steps",
    .needs = {{NL_T_step, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Every iteration as the program marked it: rank, number, start and length.",
};

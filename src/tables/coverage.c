/*
 * coverage — what the source did not contain, what was dropped, cut or repaired while reading.
 */
#include "tables/answer.h"

static const struct nl_result_column columns[] = {
    {"item", NULL, NL_MEANS_TEXT},
    {"count", NULL, NL_MEANS_COUNT},
    {"file", NULL, NL_MEANS_TEXT},
    {"detail", NULL, NL_MEANS_TEXT},
};

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    const struct nl_coverage_table *coverage = &trace->coverage;
    struct nl_result *result = NL_ANSWER_NEW("coverage", NULL, columns);
    for (uint32_t row = 0; row < coverage->rows; row++) {
        uint32_t source = coverage->source[row];
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_name(result, trace, coverage->item[row]);
        cells[1] = nl_cell_i64(coverage->count[row]);
        if (source != NL_NULL_ROW)
            cells[2] = nl_answer_name(result, trace, trace->source.file[source]);
        cells[3] = nl_answer_name(result, trace, coverage->detail[row]);
    }
    return result;
}

const struct nl_analysis nl_analysis_coverage = {
    .name = "coverage",
    .key = "coverage",
    .title = "Coverage",
    .run = run,
    .doc =
        "What the files did not contain, and what was dropped, cut short or repaired on reading, "
        "with counts and an example. Without rows, everything was read as it is.",
};

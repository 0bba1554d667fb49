/*
 * coverage — what the source did not contain, what was dropped, cut or repaired while reading.
 */
#include "tables/resultcells.h"

#define COLUMNS(C)                                                                                 \
    C(item, NULL, TEXT)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(file, NULL, TEXT)                                                                            \
    C(detail, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static struct nl_result *coverage_run(const struct nl_trace *trace,
                                      const struct nl_analyze_options *options, struct nl_job *job,
                                      struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    const struct nl_coverage_table *coverage = &trace->coverage;
    struct nl_result *result = NL_ANSWER_NEW("coverage", NULL, columns);
    for (uint32_t row = 0; row < coverage->rows; row++) {
        uint32_t source = coverage->source[row];
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_item] = nl_cell_name(result, trace, coverage->item[row]);
        cells[AT_count] = nl_cell_i64(coverage->count[row]);
        if (source != NL_NULL_ROW)
            cells[AT_file] = nl_cell_name(result, trace, trace->source.file[source]);
        cells[AT_detail] = nl_cell_name(result, trace, coverage->detail[row]);
    }
    return result;
}

const struct nl_analysis nl_analysis_coverage = {
    .name = "coverage",
    .key = "coverage",
    .title = "Coverage",
    .run = coverage_run,
    .doc = "What the files did not contain, and what was dropped, cut short or repaired while "
           "reading, with counts and an example. No rows: everything was read as it is.",
};

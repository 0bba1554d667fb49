/*
 * files — the inputs a profile was read from.
 */
#include "analyze/answer.h"

static const struct nl_result_column columns[] = {
    {"file", NULL, NL_MEANS_TEXT},        {"format", NULL, NL_MEANS_TEXT},
    {"tool", NULL, NL_MEANS_TEXT},        {"bytes", "size", NL_MEANS_BYTES},
    {"rank", NULL, NL_MEANS_INTEGER},     {"clock", NULL, NL_MEANS_TEXT},
    {"epoch_ns", NULL, NL_MEANS_INTEGER}, {"offset_ns", "offset", NL_MEANS_NS},
};

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    const struct nl_source_table *source = &trace->source;
    struct nl_result *result = NL_ANSWER_NEW("files", NULL, columns);
    for (uint32_t row = 0; row < source->rows; row++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_answer_name(result, trace, source->file[row]);
        cells[1] = nl_answer_name(result, trace, source->format[row]);
        cells[2] = nl_answer_name(result, trace, source->tool[row]);
        cells[3] = nl_answer_count(source->bytes[row]);
        cells[4] = nl_cell_i64(source->rank[row]);
        cells[5] = nl_answer_name(result, trace, source->clock[row]);
        cells[6] = nl_cell_i64(source->epoch_ns[row]);
        cells[7] = nl_cell_i64(source->offset_ns[row]);
    }
    return result;
}

const struct nl_analysis nl_analysis_files = {
    .name = "files",
    .key = "files",
    .title = "Files",
    .run = run,
    .doc =
        "Every input: format, the program that wrote it, size, rank, clock, UTC time of its time "
        "0 (ns since 1970), and what was added to its own times to get the profile's.",
};

/*
 * pagecall — what `report`, `report --site` and `flame` share: one profile as a file to look at.
 */
#ifndef NL_PAGECALL_H
#define NL_PAGECALL_H

#include "cli/input.h"
#include "cli/output.h"

/* The options of report. */
struct nl_report_options {
    const char *site, *template;
};

static inline const struct nl_report_options *nl_report_own(const struct nl_call *call)
{
    return call->own;
}

/* The form of a file, by the ending of its name. */
enum nl_page_ending {
    NL_ENDING_HTML,
    NL_ENDING_MD,
    NL_ENDING_JSON,
    NL_ENDING_SVG,
    NL_ENDING_FOLDED,
    NL_ENDING_OTHER
};
enum nl_page_ending nl_page_ending_of(const char *path);

typedef bool nl_page_writer(const struct nl_call *call, const struct nl_input_words *input,
                            const struct nl_trace *trace, struct nl_output *output,
                            struct nl_err *err);

/* Opens the output, loads the profile of the arguments, writes, and closes. */
NL_MUST_CHECK bool nl_page_call(struct nl_call *call, nl_page_writer *write, struct nl_err *err);

#endif

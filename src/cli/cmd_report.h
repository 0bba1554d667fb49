/*
 * cmd_report — the page that `report` writes, for those who write pages of several runs.
 */
#ifndef NL_CMD_REPORT_H
#define NL_CMD_REPORT_H

#include "cli/pagecall.h"

/* The page of a loaded profile, with all its pictures. */
NL_MUST_CHECK bool nl_page_write(const struct nl_call *call, const struct nl_input_words *input,
                                 const struct nl_trace *trace, FILE *out, struct nl_err *err);

#endif

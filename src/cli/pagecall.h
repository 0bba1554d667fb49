/*
 * pagecall — what `report` and `report --site` share: one profile as a page.
 */
#ifndef NL_PAGECALL_H
#define NL_PAGECALL_H

#include "cli/input.h"
#include "cli/output.h"

/* The page of a loaded profile, with all its pictures. */
NL_MUST_CHECK bool nl_page_write(const struct nl_call *call, const struct nl_input_words *input,
                                 const struct nl_trace *trace, FILE *out, struct nl_err *err);

/* report --site FOLDER: a page of every run that the arguments choose, and an index. */
NL_MUST_CHECK bool nl_cmd_site(struct nl_call *call, struct nl_err *err);

#endif

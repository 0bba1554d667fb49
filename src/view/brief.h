/*
 * brief — the report of `analyze` on one screen: the answer, a bar per device, at most three
 * findings, the two tables that the answer is about, what is missing, and the next commands. At
 * most NL_BRIEF_LINES lines at a width of 100 columns; what does not fit gives way from the tables'
 * rows on. Everything else is in the whole report (--full).
 */
#ifndef NL_BRIEF_H
#define NL_BRIEF_H

#include "view/view.h"

#define NL_BRIEF_LINES 45

/* Adds the whole page. The report has a verdict. */
void nl_brief_page(struct nl_buf *out, const struct nl_profile *profile,
                   const struct nl_report *report, const struct nl_view_options *options);

#endif

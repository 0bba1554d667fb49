/*
 * site — report --site: pages of several runs, with an index.
 */
#ifndef NL_SITE_H
#define NL_SITE_H

#include "cli/command.h"

/* report --site FOLDER: a page of every run that the arguments choose, and an index. */
NL_MUST_CHECK bool nl_report_site(struct nl_call *call, struct nl_err *err);

#endif

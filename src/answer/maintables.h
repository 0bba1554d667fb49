/*
 * maintables — which tables of a report its answer is about.
 */
#ifndef NL_MAINTABLES_H
#define NL_MAINTABLES_H

#include "answer/report.h"

#define NL_MAIN_TABLES 2

/* Which tables an answer of a class is about: names, the likeliest first, NULL-terminated. */
const char *const *nl_main_table_names(enum nl_verdict_class class);

/* The tables that the answer is about, at most NL_MAIN_TABLES: the first of its class
 * that have rows. How many. */
size_t nl_report_main_tables(const struct nl_report *report,
                             const struct nl_result *tables[NL_MAIN_TABLES]);

#endif

/*
 * reportfile — the .nla file: a finished report, so that who asks the same again need not wait.
 *
 * A report follows from the trace and the question alone; nl_report_question writes both as text:
 * the cache's key of the trace (in which the program's build has its part), plan, analyses, options
 * and window, and the roofs that were measured on its host. The file holds that text and everything
 * views show, the profile's facts too, so that nothing is read of the trace. options.limit is no
 * part of the question: whole reports are kept and nl_report_cut cuts them.
 *
 * Layout: header 16 B {magic "NLREPORT", CRC-32C of the body, format}, then the body. Numbers are
 * as in memory (little endian), texts are their length + 1 (0 = NULL) and bytes. Any bytes can be
 * opened: they give a report that views can show, or an error.
 */
#ifndef NL_REPORTFILE_H
#define NL_REPORTFILE_H

#include "answer/profile.h"
#include "answer/report.h"

/* `roofs` may be NULL: not looked up. */
void nl_report_question(struct nl_buf *out, uint64_t trace_key, const char *plan,
                        const struct nl_analyze_options *options,
                        const struct nl_host_roofs *roofs);

/* Writes atomically. NL_WRITE when that fails, or the report is too large to be worth a file. */
NL_MUST_CHECK bool nl_report_save(const struct nl_report *report, const struct nl_profile *profile,
                                  struct nl_str question, const char *path, struct nl_err *err);

/* The report as it was saved, less what findings claim of the time (`where`, which only ranking
 * needs). NULL with NL_IO, or NL_FORMAT when the file is damaged or answers another question.
 * *profile gets the profile that it was saved with, the caller's to free. */
struct nl_report *nl_report_open(const char *path, struct nl_str question,
                                 struct nl_profile **profile, struct nl_err *err);

#endif

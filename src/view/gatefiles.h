/*
 * gatefiles — what CI systems read of a check: JUnit XML (a test case per rule), SARIF 2.1.0 (a
 * result per rule that failed or was not decided) and short Markdown for a pull request or a step
 * summary. All are made of the report's tables, so they say what text and JSON say.
 */
#ifndef NL_VIEW_GATEFILES_H
#define NL_VIEW_GATEFILES_H

#include "answer/report.h"

void nl_gate_junit(struct nl_buf *out, const struct nl_report *report);
void nl_gate_sarif(struct nl_buf *out, const struct nl_report *report, const char *rules_file);
void nl_gate_markdown(struct nl_buf *out, const struct nl_report *report);

#endif

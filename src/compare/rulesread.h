/*
 * rulesread — rules files: YAML with rules, facts that may differ, and tolerances (rules.h).
 */
#ifndef NL_COMPARE_RULESREAD_H
#define NL_COMPARE_RULESREAD_H

#include "compare/rules.h"

/* A rules file's text. NL_USAGE with line and column. */
NL_MUST_CHECK bool nl_rules_read(struct nl_rules *rules, const char *text, size_t size,
                                 struct nl_err *err);

/* A rules file to begin with: every key, with comments. */
extern const char nl_rules_template[];

#endif

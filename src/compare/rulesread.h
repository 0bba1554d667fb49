/*
 * rulesread — what the reader of rules files and of single rules share; for no other room.
 */
#ifndef NL_COMPARE_RULESREAD_H
#define NL_COMPARE_RULESREAD_H

#include "compare/rules.h"

/* Reads one rule from *at on; `bare`: a metric alone is one, too. On failure *at is the place. */
NL_MUST_CHECK bool nl_rule_parse(struct nl_rules *rules, const char *text, size_t *at,
                                 struct nl_rule *rule, bool bare, struct nl_err *err);
NL_MUST_CHECK bool nl_rule_floor(struct nl_rule *rule, const char *text, struct nl_err *err);
NL_MUST_CHECK bool nl_rules_put(struct nl_rules *rules, const struct nl_rule *rule,
                                struct nl_err *err);

#endif

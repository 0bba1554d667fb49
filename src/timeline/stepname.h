/*
 * stepname — whether the text of a range stands for one iteration, by the rows of stepname.def.
 */
#ifndef NL_STEPNAME_H
#define NL_STEPNAME_H

#include "base/str.h"

struct nl_step_rule {
    const char *pattern;
    size_t length;     /* of the pattern */
    const char *marks; /* who marks so */
    double confidence;
};

extern const struct nl_step_rule nl_step_rules[]; /* ends with a NULL pattern */

/* Number of the rule that the text meets, or -1. *number is the first number of the pattern, or
 * INT64_MIN when it has none (or one that does not fit). */
int nl_step_rule_of(struct nl_str text, int64_t *number);

#endif

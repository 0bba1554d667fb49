/*
 * rules — what the gate stops at: lines such as
 *
 *     step.p50 > +3%              slower than the baseline by more than 3 %
 *     kernels.count > +0          one kernel more a step
 *     memory.peak > +200MiB       more than so much above the baseline
 *     step.p95 > 120ms            a budget: needs no baseline
 *     mfu < 40%                   the same, where less is worse
 *
 * A number with a sign is compared with the baseline, one without is a
 * budget. A rules file is YAML:
 *
 *     rules:
 *       - step.p50 > +3%
 *       - metric: op["aten::mm"].p95     # its default tolerance
 *         floor: 50us                    # smaller changes never fail
 *       - fail_on: exposed_comm.share > 5%
 *         name: communication
 *     allow: [driver, framework version] # facts that may differ
 *     on_inconclusive: warn              # warn (exit 3), fail (1) or pass (0)
 *     tolerance: 2%                      # of metrics without their own limit
 *
 * Errors name the line, the column and what was expected.
 */
#ifndef NL_COMPARE_RULES_H
#define NL_COMPARE_RULES_H

#include "compare/metricexpr.h"

#define NL_MAX_RULES  500
#define NL_MAX_ALLOW  40
#define NL_ALLOW_WORK "amount of work" /* the fact that one side did less of the same work */

enum nl_rule_op { NL_RULE_MORE, NL_RULE_AT_LEAST, NL_RULE_LESS, NL_RULE_AT_MOST, NL_RULE_OTHER };

struct nl_rule {
    struct nl_metric metric;
    enum nl_rule_op op;
    bool relative; /* against the baseline */
    bool percent;  /* of the baseline; `value` is a ratio then */
    bool bare;     /* no limit was written: the default tolerance */
    double value;  /* in the metric's unit, or a ratio; > 0 is more, < 0 less than the baseline */
    double floor;  /* least change that counts, in the metric's unit; NaN = the default */
    const char *name; /* NULL = the text of the rule */
    const char *text; /* as it was written */
};

enum nl_inconclusive { NL_INCONCLUSIVE_WARN, NL_INCONCLUSIVE_FAIL, NL_INCONCLUSIVE_PASS };

struct nl_rules {
    struct nl_rule *items;
    size_t count, cap;
    const char *allow[NL_MAX_ALLOW]; /* facts that may differ */
    size_t allow_count;
    enum nl_inconclusive on_inconclusive;
    double tolerance; /* NaN = 2 % with three captures a side, 5 % with fewer */
    struct nl_arena arena;
};

void nl_rules_init(struct nl_rules *rules);
void nl_rules_release(struct nl_rules *rules);

/* One rule as on the command line. NL_USAGE with the column and what was expected. */
NL_MUST_CHECK bool nl_rules_add(struct nl_rules *rules, const char *text, struct nl_err *err);

/* One more fact that may differ: a name as in "Can they be compared?", or "all". NL_USAGE names the
 * one that was probably meant. */
NL_MUST_CHECK bool nl_rules_allow(struct nl_rules *rules, const char *fact, struct nl_err *err);

/* What stands in for a rules file: the typical step, else the time compared. */
NL_MUST_CHECK bool nl_rules_default(struct nl_rules *rules, bool has_steps, struct nl_err *err);

/* ---- For rulesread.c ---- */

/* Reads one rule from *at on; `bare`: a metric alone is one, too. On failure *at is the place. */
NL_MUST_CHECK bool nl_rule_parse(struct nl_rules *rules, const char *text, size_t *at,
                                 struct nl_rule *rule, bool bare, struct nl_err *err);
NL_MUST_CHECK bool nl_rule_floor(struct nl_rule *rule, const char *text, struct nl_err *err);
NL_MUST_CHECK bool nl_rules_put(struct nl_rules *rules, const struct nl_rule *rule,
                                struct nl_err *err);

#endif

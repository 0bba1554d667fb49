/*
 * gatejudge — one rule judged: whether a metric of some captures breaks a limit.
 *
 * A timed metric is judged by its captures (replicate.h). It fails when it changed by more than the
 * limit and, with confidence NL_GATE_SURE (one-sided), changed that way at all; so a limit of 2 %
 * catches 5 % and lets noise pass. It passes when it did not change by more than the limit and a
 * change of NL_GATE_RESOLVED × the limit, or the floor where that is more (5 % at least), is ruled
 * out. Else the captures do not decide; nor does one measurement a side (one capture with under 4
 * steps), of which nothing is known of how much it varies. Counts and bytes that are the same each
 * time are compared exactly; levels (peak memory) and shares that can be 0 by their means. Changes
 * under the floor never fail.
 */
#ifndef NL_COMPARE_GATEJUDGE_H
#define NL_COMPARE_GATEJUDGE_H

#include "compare/metricvalue.h"
#include "compare/rules.h"

#define NL_GATE_TAIL      0.01 /* one-sided: chance of failing without any change, at most */
#define NL_GATE_RESOLVED  2.5
#define NL_MIN_GATE       0.05
#define NL_TOLERANCE_FEW  0.05 /* with fewer than 3 captures on a side */
#define NL_TOLERANCE_MANY 0.02

enum nl_gate_status { NL_GATE_PASS, NL_GATE_FAIL, NL_GATE_INCONCLUSIVE, NL_GATE_UNKNOWN };

struct nl_gate_values {
    struct nl_metric_value *base, *changed;
    size_t base_count, changed_count;
};

struct nl_gate_answer {
    enum nl_gate_status status;
    double base, changed;    /* means over captures; NaN not known */
    double ratio, low, high; /* changed / base with 95 %; NaN not known */
    double limit;            /* in force: a ratio (0.02), else in the metric's unit */
    size_t more;             /* captures a side that would decide; SIZE_MAX not known */
    const char *why;         /* of UNKNOWN and INCONCLUSIVE; static */
    double floor; /* in the metric's unit, where a change over the limit is under it; else 0 */
};

struct nl_gate_answer nl_gate_judge(const struct nl_rule *rule, const struct nl_gate_values *values,
                                    double tolerance, const struct nl_noise *noise);

const char *nl_gate_status_text(enum nl_gate_status status);

#endif

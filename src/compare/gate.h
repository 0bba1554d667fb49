/*
 * gate — the check of CI: rules over metrics of new captures, against a baseline or budgets.
 *
 * The report has a headline of five lines (the verdict, why, what most, what to do), and the tables
 * `gate` (one row: verdict and counts), `rules` (a row each), `comparability`, `parts`,
 * `attribution`, `counts`, `next`. Captures that cannot be compared are no pass and no regression:
 * another device, batch or amount of work, and here also another framework, driver or version that
 * is reported, unless the rules allow it by name.
 */
#ifndef NL_COMPARE_GATE_H
#define NL_COMPARE_GATE_H

#include "compare/diff.h"
#include "compare/rules.h"

/* Tables of the report, NULL-terminated. */
extern const char *const nl_gate_sections[];

/* `base` NULL: budgets alone. *status is the exit status: 0 pass, 1 regression, 3 inconclusive or
 * incomparable. NULL with err on NL_INTERRUPTED. */
NL_MUST_CHECK struct nl_report *nl_gate_new(const struct nl_diff_input *base,
                                            const struct nl_diff_input *changed,
                                            const struct nl_rules *rules, int *status,
                                            struct nl_job *job, struct nl_err *err);

/* Simulates the gate: how often it fails, and how often it says inconclusive, without a change and
 * with changes of 2, 3, 5 and 10 %, for captures that differ by `sd` (of logarithms). A table. */
struct nl_result *nl_gate_simulate(double sd, size_t base_count, size_t changed_count,
                                   double tolerance, const struct nl_noise *noise);

#endif

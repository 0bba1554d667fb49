/*
 * metricexpr — what a rule is about: `step.p50`, `exposed_comm.share`, `kernels.count`, `mfu`,
 * `op["aten::mm"].p95`, `kernels["ampere_sgemm*"].total_ns`, `step_summary.p95_ns`.
 *
 *     metric  = name | table [ "[" text "]" ] "." column
 *
 * Names are the rows of metricnames.def. A table is an analysis (`neurolens help sections`) or
 * one of op, kernel, layer, range; the text in brackets is matched with the row's first column
 * of texts (* and ? stand for any), without brackets all rows are meant. A column is one of
 * the table's, or p50, p95, mean, min, max, total, count of its times. Several rows: times,
 * counts and bytes are added up.
 */
#ifndef NL_COMPARE_METRICEXPR_H
#define NL_COMPARE_METRICEXPR_H

#include "base/err.h"
#include "tables/result.h"

enum nl_metric_source {
    NL_METRIC_STEP,
    NL_METRIC_LATENCY,
    NL_METRIC_TIME,
    NL_METRIC_GROUP,
    NL_METRIC_COUNT,
    NL_METRIC_DOCUMENT,
    NL_METRIC_TABLE
};

enum nl_metric_class { NL_METRIC_timed, NL_METRIC_exact, NL_METRIC_level };

struct nl_metric {
    const char *text; /* as it was written, in the arena */
    enum nl_metric_source source;
    int which;
    const char *table, *row, *column; /* of TABLE, row NULL = all; of DOCUMENT the member */
    enum nl_meaning meaning;
    enum nl_metric_class class;
    bool less_is_worse;
};

/* Reads a metric at *at and moves past it. On failure (NL_USAGE) *at is where it is wrong, and err
 * says what was expected. */
NL_MUST_CHECK bool nl_metric_parse(const char *text, size_t *at, struct nl_metric *metric,
                                   struct nl_arena *arena, struct nl_err *err);

#endif

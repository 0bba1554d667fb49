/*
 * measure — what measure.c, measurejoin.c and measurerows.c share: metrics of kernels on their way
 * to the tables metrics and kernel_measurements. Not for other rooms.
 *
 * A measurement is what kernels refer to: of one launch, or the mean for all launches of one name,
 * grid and block. The join collects rows here; nl_measure (measure.c) makes columns of them. A
 * reader may have staged some itself (run documents hold those of a report that was joined
 * before): they come first.
 */
#ifndef NL_MEASURE_H
#define NL_MEASURE_H

#include "store/columns.h"

struct nl_measuring {
    struct nl_finish *f;
    struct nl_trace *trace;
    struct nl_measurement_row *rows; /* names and references are final */
    size_t count, cap;
    struct nl_metric_row *metrics; /* those of reports, of `rows` in order */
    size_t metric_count, metric_cap;
    uint32_t staged;  /* measurements before those of `rows` */
    uint32_t *before; /* with a join: what kernels referred to before it */
};

struct nl_measurement_row *nl_measuring_row(struct nl_measuring *m);

/* Fills the columns of measured.def that this metric is and that are not known yet; false when it
 * is none of them, or is a share or rate that no hardware has (below 0, far above all). */
bool nl_measured_fact(struct nl_measurement_row *row, struct nl_str metric, struct nl_str unit,
                      double value);

/* The kernel that a row of table metrics is about, or NL_NULL_ROW. */
uint32_t nl_metric_kernel(const struct nl_trace *t, uint32_t row);

/* measurejoin.c: measurements of the builder's report; sets kernel.measurement. */
void nl_join_report(struct nl_measuring *m, const struct nl_trace *report, uint32_t first_source);

/* measurerows.c: metrics of measurements. `of` has the measurement of each kernel of the report, or
 * NL_NULL_ROW. Values of several launches become means; their lengths, too. Returns how many texts
 * were left out because launches differ. */
int64_t nl_measure_rows(struct nl_measuring *m, const struct nl_trace *report, const uint32_t *of);

/* The tables metric and measurement: of rows as staged, and of the joined report. */
NL_MUST_CHECK bool nl_measure(struct nl_finish *finish, struct nl_err *err);

#endif

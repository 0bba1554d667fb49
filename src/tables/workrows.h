/*
 * workrows — what the tables about compute have in common: roofs of the trace under the window of a
 * report, and cells of numbers that may not be known.
 */
#ifndef NL_WORKROWS_H
#define NL_WORKROWS_H

#include "tables/memo.h"
#include "work/roofline.h"

/* Columns of a roof in words of the contract. */
struct nl_cell nl_roof_name(struct nl_result *result, const struct nl_trace *trace,
                            const struct nl_roof *roof);
int64_t nl_roof_ordinal(const struct nl_trace *trace, const struct nl_roof *roof);

/* A number that counts something whole; NaN → NULL. */
static inline struct nl_cell nl_cell_whole(double value)
{
    return value > -9e18 && value < 9e18 ? nl_cell_i64((int64_t)(value + 0.5)) : nl_cell_f64(value);
}

/* "93.1 % of the time in matrix products has a model; 41 % of all kernel time has none: shapes
 * were not recorded": or NULL when everything has one. In the result's arena. */
const char *nl_work_coverage(struct nl_result *result, const struct nl_op_works *works);

/* Why operators on processors have no roofs, and what gives them some. */
const char *nl_no_host_roofs(struct nl_result *result, const struct nl_trace *trace);

/* When a share of a roof (column "roof_share") is over 1, the note says what that means. */
void nl_roof_note(struct nl_result *result);

#endif

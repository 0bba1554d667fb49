/*
 * workcause — what causes inside compute have in common: the work rows of a scene's device, in
 * order of time, and sums over those that a test takes. Private to findings.
 *
 *     struct nl_work_sum sum = nl_work_add_up(scene, is_wanted, &finding->where, &evidence);
 *     ... sum.ns, sum.least_s ...
 *
 * Evidence in SQL: tables op_work and roofline (docs/work.md), which hold the same rows.
 */
#ifndef NL_WORKCAUSE_H
#define NL_WORKCAUSE_H

#include "findings/cause.h"
#include "work/roofline.h"

struct nl_work_sum {
    int64_t ns;
    uint64_t calls;
    double bytes;     /* of calls with known values */
    double compute_s; /* at the roofs, call by call */
    double least_s;
    int64_t judged_ns; /* calls with a roof */
    int64_t headroom_ns;
};

typedef bool nl_work_test(const struct nl_op_work *work, struct nl_least_time least);

/* Adds up the rows that pass. Their kernels go into `where`, the longest into
 * `longest`; both may be NULL. */
struct nl_work_sum nl_work_add_up(struct nl_scene *scene, nl_work_test *wanted,
                                  struct nl_intervals *where, struct nl_evidence *longest);

/* Rows of operators (not kernels in none) of the scene's device by start of their first kernel,
 * then operator; kept with the scene. */
const struct nl_op_work *const *nl_work_rows(struct nl_scene *scene, size_t *count);

/* What the scene's device can do at most; NULL when it has no row. */
const struct nl_device_peaks *nl_work_peaks(const struct nl_scene *scene);

void nl_work_claim(const struct nl_op_work *work, struct nl_intervals *where);

/* "SELECT <what> FROM op_work<window> WHERE <condition> AND <place>" */
const char *nl_work_sql(const struct nl_scene *scene, const char *what, const char *condition);

/* Whether any operator of the device has bytes; and whether its roofs are known. Causes that need
 * them abstain with the text, which says what to record; NULL: all is there. */
const char *nl_work_lacks(struct nl_scene *scene, bool roofs);

/* Frees what is kept with a scene; NULL is fine. */
void nl_work_here_free(struct nl_work_here *here);

#endif

/*
 * runseason — whether the times of a workload follow the branch, the hour of the day or the
 * weekend: then a run is compared with the earlier runs of its season, because a branch that is
 * known to be slower, or a machine that is shared by day, is nothing unusual of a run.
 *
 * A season counts only where the history shows it: at least 8 earlier runs in it and 8 outside,
 * whose values differ beyond chance (Mann and Whitney's test, normal approximation with ties, |z| >
 * 3.29: 1 in 1000) and whose medians differ by more than 5 %. Hours and weekends must come back,
 * too: runs of the season are in three stretches or more with others between them, so that a level
 * that changed once is no season. Of several the surest counts.
 *
 *   branch    the same branch (run.git_branch)
 *   hour      within 3 hours of the same time of the day
 *   weekend   both on a Saturday or Sunday, or neither
 *
 * Times are UTC, when the run was added.
 */
#ifndef NL_RUNSEASON_H
#define NL_RUNSEASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NL_MIN_SEASON  8   /* runs, in it and outside */
#define NL_SEASON_TEXT 128 /* room for nl_season_text */

enum nl_season { NL_SEASON_NONE, NL_SEASON_BRANCH, NL_SEASON_HOUR, NL_SEASON_WEEKEND, NL_SEASONS };

struct nl_season_run {
    double value;       /* NaN not known: does not count */
    const char *branch; /* NULL not known */
    int64_t added_ns;   /* since 1970, UTC */
};

/* The season of `run` that `earlier` runs show, in the order of time, either way round. Sets
 * alike[i] where an earlier run is in it; all of them without a season. */
enum nl_season nl_season_find(const struct nl_season_run *run, const struct nl_season_run *earlier,
                              size_t count, bool *alike);

/* "branch main", "within 3 h of 14:00 UTC", "weekends"; NULL without one. */
const char *nl_season_text(enum nl_season season, const struct nl_season_run *run,
                           char out[NL_SEASON_TEXT]);

#endif

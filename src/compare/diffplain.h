/*
 * diffplain — what captures are judged by: the runs without the profiler that `profile` keeps,
 * where all captures of all sides have them, else their steps. Steps and parts of such captures are
 * under the profiler; they do not say how long a run takes.
 */
#ifndef NL_COMPARE_DIFFPLAIN_H
#define NL_COMPARE_DIFFPLAIN_H

#include "compare/diffside.h"
#include "compare/replicate.h"

/* Finds these runs (tables/plainruns.h): sets `plain` of all sides and
 * their captures, or of none. */
void diff_find_plain(struct diff_side *const *sides, size_t count);

/* What a capture is judged by, in few numbers; without runs and steps, its time alone. */
struct nl_capture diff_capture_of(const struct diff_side *capture);

/* Lengths of those runs, else of the steps, of all captures of a side; none without. */
const double *diff_judged_lengths(const struct diff_side *side, size_t *count);
/* What of a side is reported: the median run, as `profile` says it; else the
 * mean, which parts add up to. */
int64_t diff_judged_time(const struct diff_side *side);

#endif

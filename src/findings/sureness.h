/*
 * sureness — how sure a finding is: how often findings of its cause held on planted profiles, with
 * as much recorded as in this one.
 *
 * Every cause is planted in made-up profiles, next to others that only look like it. Each is
 * varied: times are stretched, names left out, launches lost. Of the findings of a cause that were
 * printed there, those on profiles with the cause are hits, those on the others misses. The
 * confidence is the lower end of the share of hits, with 95 % (Wilson's score interval, one-sided:
 * E. B. Wilson, JASA 22, 1927), times the share of the data that the judgement rests on, times the
 * doubt that a cause states itself (NL_DOUBT in cause.h). At most NL_SURE_TRIALS trials count:
 * varied profiles are no other programs. The counts are sureness.def, made by `make sureness`;
 * test_sureness holds them to what is measured.
 *
 * The formula: with h hits of t trials of the cause, and p the share of hits of all
 * causes with as much recorded,
 *
 *     Wilson's lower end of (h + 20 p) / (t + 20), with min(t + 20, 60) trials
 *
 * so that few trials are surer than none, and none surer than misses. A cause that is right less
 * often than p keeps 20 trials. Where a cause has no trials it takes those with less recorded; and
 * with less recorded it is never surer than with more.
 */
#ifndef NL_SURENESS_H
#define NL_SURENESS_H

#include "findings/cause.h"

#define NL_SURE_TRIALS 60
#define NL_SURE_PSEUDO 20 /* trials that every cause begins with, right as often as all causes */

/* What is recorded of the place that is judged. */
enum nl_sure_of {
    NL_SURE_NAMED, /* launches, and names of what launches: operators, functions, ranges, samples */
    NL_SURE_LAUNCHED, /* launches of half of the device's work or more */
    NL_SURE_DEVICE,   /* the device alone */
    NL_SURE_CPU,      /* no device work */
    NL_SURE_KINDS
};

enum nl_sure_of nl_sure_of(const struct nl_scene *scene);

struct nl_sure_counts {
    unsigned hits, trials;
};

/* 0..1: of a cause, by sureness.def. */
double nl_sureness(const char *cause, enum nl_sure_of of);

/* The same, of a cause and of all causes (columns) with those counts. */
double nl_sure_of_counts(const struct nl_sure_counts cause[NL_SURE_KINDS],
                         const struct nl_sure_counts columns[NL_SURE_KINDS], enum nl_sure_of of);

/* Of one column alone; 0 when nothing was measured in it. */
double nl_sure_joined(struct nl_sure_counts cause, struct nl_sure_counts column);

/* Lower end of the share of hits in that many trials; 0 without any. */
double nl_sure_bound(double hits, double trials);

#endif

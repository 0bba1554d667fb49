/*
 * sureness — how sure a finding is: how often findings of its cause held on planted profiles, with as much recorded
 * as in this one.
 *
 * Every cause is planted in made-up profiles, beside others that only look like it. Each is varied: times are
 * stretched, names left out, launches lost. Of the findings of a cause that were printed there, those on profiles with
 * the cause are hits, those on the others misses. The confidence is the lower end of the share of hits, with 95 %
 * (Wilson's score interval, one-sided: E. B. Wilson, JASA 22, 1927), times the share of the data that the judgement
 * rests on. At most NL_SURE_TRIALS trials count: varied profiles are no other programs. The counts are sureness.def,
 * made by `make sureness`; test_sureness holds them to what is measured.
 */
#ifndef NL_SURENESS_H
#define NL_SURENESS_H

#include "findings/cause.h"

#define NL_SURE_TRIALS 60

/* What is recorded of the place that is judged. */
enum nl_sure_of {
    NL_SURE_NAMED, /* launches, and names of what launches: operators, functions, ranges, samples */
    NL_SURE_LAUNCHED, /* launches of half of the device's work or more */
    NL_SURE_DEVICE,   /* the device alone */
    NL_SURE_CPU,      /* no device work */
    NL_SURE_KINDS
};

enum nl_sure_of nl_sure_of(const struct nl_scene *scene);

/* 0..1. Of a cause that was never printed with so much recorded, what all causes have there. */
double nl_sureness(const char *cause, enum nl_sure_of of);

/* Lower end of the share of hits in that many trials; 0 without any. */
double nl_sure_bound(unsigned hits, unsigned trials);

#endif

/*
 * reccost — what recording cost the program, from what a recording by `run` says of itself in its
 * metadata: events, hooks, samples and starts of processes by number, and what one of each costs on
 * that machine. All of it is the least: what was measured in a loop, with everything in the caches.
 *
 * Other tools report none of this. Unknown is NAN.
 */
#ifndef NL_RECCOST_H
#define NL_RECCOST_H

#include "nlrec/rechooks.h"
#include "store/trace.h"

/* Metadata of each process: how often a hook ran (its name follows), and the processor
 * time of installing them all. */
#define NL_RECCOST_RAN  "hooks run: "
#define NL_RECCOST_TOOK "Python hooks: processor time (ns)"
/* Of the run, as the recorder measured it: one hook besides its events (its word follows), in ns;
 * all samples of the kernel's in ns; processes that were started with the library; what one start
 * costs in ns. */
#define NL_RECCOST_HOOK    "recorder.hook_ns."
#define NL_RECCOST_SAMPLES "recorder.samples_ns"
#define NL_RECCOST_STARTS  "recorder.starts"
#define NL_RECCOST_START   "recorder.start_ns"

struct nl_reccost_hook {
    const char *word, *what; /* in JSON, in sentences */
    double count;            /* 0 = never */
    double each_ns;          /* NAN: it was not measured */
};

struct nl_reccost {
    double events, event_ns;
    struct nl_reccost_hook hooks[NL_REC_HOOK_COUNT];
    double hooks_ns;   /* of those that are known; 0 = none ran */
    double python_ns;  /* of installing Python's hooks */
    double samples_ns; /* 0 = none, or not known */
    double starts, start_ns;
    double gpu_ns;            /* of the thread that reads records of GPU work */
    double total_ns;          /* sum of what is known; NAN: nothing is */
    double program_ns, share; /* processor time of the program with its children; total_ns of it */
};

/* A number of the recorder's metadata, neither negative nor over 9e18. */
bool nl_reccost_number(struct nl_str text, double *number);

/* False: the profile does not say what an event costs. */
bool nl_reccost(const struct nl_trace *trace, struct nl_reccost *cost);

#endif

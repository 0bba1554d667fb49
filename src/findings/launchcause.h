/*
 * launchcause — what causes about launching have in common: how long the calls take, how soon the
 * device begins, how small the kernels are, and the gaps that mean "the CPU was too slow".
 */
#ifndef NL_LAUNCHCAUSE_H
#define NL_LAUNCHCAUSE_H

#include "findings/cause.h"

#define NL_SMALL_KERNEL_NS 10000
#define NL_SHORT_KERNEL_NS                                                                         \
    15000 /* medians from NL_SMALL_KERNEL_NS to here: the less sure the longer */
#define NL_SLOW_LAUNCH_NS  50000
#define NL_DISPATCH_GAP_NS 1000000 /* longer gaps are something else than slow dispatch */
#define NL_DISPATCH_GAPS   20      /* fewer are no pattern */
#define NL_PROMPT_NS       20000   /* from the return of a launch to the start of its kernel */

/* Of the kernels of a scene and of the calls that launched them (first kernel of each call). */
struct nl_launch_facts {
    uint64_t kernels, small, calls, slow_calls;
    double kernel_median_ns, call_median_ns;
    uint64_t prompt; /* calls whose kernel starts within NL_PROMPT_NS: the queue was empty */
    int64_t small_ns, kernel_ns;
};

/* Counted once per scene. */
struct nl_launch_facts nl_launch_facts(struct nl_scene *scene);

/* A host-late gap of at most 1 ms that no blocking call began and that the launching thread spent
 * dispatching: in operators, Python, ranges, calls, or launching. */
bool nl_launch_is_dispatch_gap(const struct nl_scene *scene, const struct nl_idle_gap *gap);
const char *nl_launch_dispatch_sql(const struct nl_scene *scene); /* "FROM idle_gaps WHERE …" */

/* Under a fifth of launches find the queue empty: the CPU is ahead, small kernels cost nothing. */
bool nl_launch_is_ahead(const struct nl_launch_facts *facts);

/* Evidence that the queue is empty: the device begins at once when a launch arrives. */
void nl_launch_tell_delay(struct nl_scene *scene, struct nl_finding *finding,
                          const struct nl_launch_facts *facts);
/* Evidence from the sizes of kernels. */
void nl_launch_tell_small(struct nl_scene *scene, struct nl_finding *finding,
                          const struct nl_launch_facts *facts);
/* Evidence that they are short: under NL_SHORT_KERNEL_NS. */
void nl_launch_tell_median(struct nl_scene *scene, struct nl_finding *finding,
                           const struct nl_launch_facts *facts);
/* Evidence from the gaps: `cost` ns in `gaps` of them. */
void nl_launch_tell_gaps(struct nl_scene *scene, struct nl_finding *finding, int64_t cost,
                         size_t gaps);

/* Whether a server of language models runs (vLLM, SGLang), by the names of its operators and steps:
 * what helps is then an option of the server (variants ":served" of remedies). */
bool nl_launch_is_served(const struct nl_scene *scene);

#endif

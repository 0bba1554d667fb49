/*
 * copycause — what causes about memory copies have in common: sums over a device's copies of one
 * kind, and the judgement of copies in one direction that nothing hides.
 */
#ifndef NL_COPYCAUSE_H
#define NL_COPYCAUSE_H

#include "findings/cause.h"

struct nl_copy_sums {
    uint64_t count, sized; /* sized: of them, those whose size is known */
    uint64_t bytes, pinned_bytes, pageable_bytes;
    int64_t total_ns, timed_ns; /* timed: of those */
};

/* Over the scene's copies that pass. */
struct nl_copy_sums nl_copy_sum(const struct nl_scene *scene, nl_copy_test *wanted);

bool nl_copy_is_htod(const struct nl_trace *trace, uint32_t copy);
bool nl_copy_is_dtoh(const struct nl_trace *trace, uint32_t copy);
bool nl_copy_is_pageable(const struct nl_trace *trace, uint32_t copy); /* to or from the device */

/* Judges exposed copies of kind "HtoD" or "DtoH". */
enum nl_verdict nl_copy_in_critical_path(struct nl_scene *scene, struct nl_finding *finding,
                                         const char *kind, nl_copy_test *wanted);

#endif

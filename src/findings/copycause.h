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

/* A copy before the first step: weights and inputs that are loaded once, results of a warm-up.
 * Where there are no steps, an upload before the first kernel; results that are fetched before it
 * are those of work before the recording. */
bool nl_copy_is_once(const struct nl_scene *scene, uint32_t copy);
/* The time of copies that pass in start-up and that nothing hides. */
int64_t nl_copy_once(const struct nl_scene *scene, nl_copy_test *wanted);
/* What is paid once is no time of a step: faster, or at the time of other start-up work, but not
 * gone. Where that is most of the cost, nothing is promised of it. Returns what titles add. */
const char *nl_copy_promise(struct nl_scene *scene, struct nl_finding *finding, int64_t once);

/* Judges exposed copies of kind "HtoD" or "DtoH". */
enum nl_verdict nl_copy_in_critical_path(struct nl_scene *scene, struct nl_finding *finding,
                                         const char *kind, nl_copy_test *wanted);

#endif

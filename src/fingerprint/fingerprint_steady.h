/*
 * fingerprint_steady — what a fingerprint leaves out: what starts in a step of warm-up or
 * compilation (timeline/stepfind.h), and device work that was launched in one, since how many of
 * those a recording holds is no property of the program. Device work without a known launch counts
 * by its own start. A rank all of whose steps are such keeps them. Private to fingerprint/.
 */
#ifndef NL_FINGERPRINT_STEADY_H
#define NL_FINGERPRINT_STEADY_H

#include "timeline/stepfind.h"

struct fingerprint_excluded {
    struct fingerprint_span {
        int64_t rank, start, end; /* of a step, [start, end) */
    } * spans;                    /* ascending by rank and start */
    size_t count, cap;
    size_t steps;  /* of the rank that has most */
    bool one_rank; /* which is then that of every slice */
};

void fingerprint_excluded_init(struct fingerprint_excluded *excluded,
                               const struct nl_found_steps *steps);
void fingerprint_excluded_release(struct fingerprint_excluded *excluded);

/* Whether a slice of the host, or work of a device, is left out. */
bool fingerprint_is_excluded(const struct fingerprint_excluded *excluded,
                             const struct nl_trace *trace, uint32_t slice, bool on_device);

#endif

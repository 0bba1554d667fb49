/*
 * perfheld — samples and runs of one process that wait for its recording.
 */
#ifndef NL_PERFHELD_H
#define NL_PERFHELD_H

#include "capture/recorder/parts.h"
#include "capture/recorder/partvalues.h"

struct perfheld {
    int64_t since; /* when the process became what it is, by fork or exec; CLOCK_MONOTONIC */
    bool ended;    /* the process */
    /* its number in a PID namespace of its own, which its recording has; 0
     * = none; -1 = not asked */
    int64_t inner;
    struct part_sample *samples;
    struct part_run *runs;
    const char **frames; /* of all samples; these borrow their texts */
    size_t sample_count, sample_cap, run_count, run_cap, frame_count, frame_cap;
};

struct perfheld *perfheld_new(void);
void perfheld_free(struct perfheld *held); /* NULL is fine */
void perfheld_clear(struct perfheld *held);

void perfheld_sample(struct perfheld *held, const struct part_sample *sample);
void perfheld_run(struct perfheld *held, const struct part_run *run);

bool perfheld_is_empty(const struct perfheld *held);
bool perfheld_has_samples(const struct perfheld *held);
/* Has anything waited for long? */
bool perfheld_waits(const struct perfheld *held, int64_t now);
/* Is there so much that it should wait no longer? */
bool perfheld_is_full(const struct perfheld *held);

/* All to a recording; clears. */
void perfheld_hand_over(struct perfheld *held, struct part *part, uint64_t now_ticks);

#endif

/*
 * pysampler — samples the Python threads of processes from a separate thread, at a rate that it
 * lowers when sampling itself takes more than a tenth of the time.
 *
 *     struct pysampler *sampler = pysampler_start(period, &gate);
 *     struct pysampler_process *process = pysampler_add(sampler, pid);
 *     ... every now and then:  pysampler_take(process, each, context)
 *     pysampler_remove(sampler, process, &state)        // after a last pysampler_take
 *     pysampler_stop(sampler, &sums)
 *
 * Moments are spread: one at a random time within each period, so that periodic programs are
 * sampled without bias.
 *
 * Weights add up to the time since the sample before. What the thread spent on a processor since
 * then (as the scheduler counts it) is a sample that runs; the rest, asleep or in the queue for a
 * processor, one that waits.
 */
#ifndef PYSAMPLER_H
#define PYSAMPLER_H

#include "capture/python/pystack.h"

struct pysampler;
struct pysampler_process;

struct pysampler_sample {
    int64_t ns; /* CLOCK_MONOTONIC */
    uint64_t weight;
    uint32_t thread;
    bool waiting, cut;
    size_t count;
};

/* What was sampled in one process, and what not. */
struct pysampler_state {
    enum pyfind_state found;
    char why[PYFIND_WHY]; /* with PYFIND_REFUSED */
    uint32_t version;
    uint64_t samples, dropped;
    uint64_t torn; /* of the samples: without a stack, since it could not be read */
    struct pystack_losses losses;
};

struct pysampler_sums {
    uint64_t samples;
    uint64_t rounds, missed; /* made; moments that passed while there was no processor */
    int64_t spent_ns;        /* processor time of the thread */
    int64_t period_ns, longest_period_ns; /* as wanted; as it was at the worst */
};

/* Samples while *gate is not 0. */
struct pysampler *pysampler_start(int64_t period_ns, const uint32_t *gate);
void pysampler_stop(struct pysampler *sampler, struct pysampler_sums *sums);

struct pysampler_process *pysampler_add(struct pysampler *sampler, int64_t pid);
/* Samples it no more; what was sampled can still be taken. Then free it. */
void pysampler_end(struct pysampler *sampler, struct pysampler_process *process);
void pysampler_free(struct pysampler_process *process);

typedef void pysampler_each(void *context, const struct pysampler_sample *sample,
                            const char *const *frames);
/* Hands over what was sampled since the last call. */
void pysampler_take(struct pysampler *sampler, struct pysampler_process *process,
                    pysampler_each *each, void *context);
/* Is it being sampled? */
bool pysampler_is_ready(struct pysampler *sampler, const struct pysampler_process *process);
void pysampler_state(struct pysampler *sampler, struct pysampler_process *process,
                     struct pysampler_state *state);

#endif

/*
 * stepcheck — are the segments of a repeating launch sequence iterations, or layers of one?
 *
 * Kernels alone cannot distinguish a model of 30 equal layers from 30 iterations of a model of one.
 * Two things on the host can: the ranges and modules that are open (blocks.9, blocks.10, … come
 * once each when segments are layers, and in every segment when they are iterations), the launches
 * (segments that one graph launch started are inside an iteration), and the range that a server of
 * language models puts around a step of its engine.
 */
#ifndef NL_STEPCHECK_H
#define NL_STEPCHECK_H

#include "store/trace.h"

enum nl_step_verdict {
    NL_STEPS_ARE_LAYERS,
    NL_STEPS_NOT_TOLD, /* no names of layers on the host */
    NL_STEPS_ARE_STEPS
};

/* `markers` are the slices of device work that begin a segment, in order of time. */
enum nl_step_verdict nl_steps_check(const struct nl_trace *trace, int64_t rank,
                                    const uint32_t *markers, size_t count);

#endif

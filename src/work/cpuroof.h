/*
 * cpuroof — what this machine's processors can do at most: FP32 and FP64 fused multiply-adds and
 * memory bandwidth, measured with loops of our own on a number of threads.
 *
 * FMA: independent chains in vector registers of the widest instructions that the processor has
 * (two operations per element). Triad: a[i] = b[i] + s · c[i] over arrays far larger than caches;
 * three arrays are counted, as STREAM counts them (the read of a[i] before it is written is not).
 * The best of several rounds counts. Every thread runs each for about `milliseconds` per round.
 */
#ifndef NL_CPUROOF_H
#define NL_CPUROOF_H

#include <stdbool.h>

struct nl_cpu_roof {
    unsigned threads;
    double flops_per_s, fp64_flops_per_s, bytes_per_s;
    const char *instructions; /* "AVX-512", "AVX2", "NEON", "baseline"; static */
};

/* False when `threads` threads cannot be started; what was measured is then not to be used. */
__attribute__((warn_unused_result)) bool
nl_cpu_roof_measure(unsigned threads, unsigned milliseconds, struct nl_cpu_roof *roof);

#endif

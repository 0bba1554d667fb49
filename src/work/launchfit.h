/*
 * launchfit — how many blocks of a kernel a multiprocessor holds at once, and what limits that:
 * threads, registers, shared memory or the number of blocks. From it follow the theoretical
 * occupancy and the waves in which a launch runs.
 *
 *     struct nl_launch_fit fit;
 *     if (nl_launch_fit(trace, device, kernel, &fit)) ... fit.blocks, fit.occupancy, fit.waves ...
 *
 * NVIDIA GPUs of compute capability 7.0 and later. Rules and figures: CUDA C++ Programming
 * Guide, "Technical Specifications per Compute Capability"; CUDA occupancy calculator:
 * 65,536 registers, handed out by 256 a warp; shared memory by 128 bytes, and 1 KiB a block
 * for the system from 8.0 on.
 */
#ifndef NL_LAUNCHFIT_H
#define NL_LAUNCHFIT_H

#include "store/trace.h"

enum nl_launch_limit {
    NL_LIMIT_THREADS,
    NL_LIMIT_REGISTERS,
    NL_LIMIT_SHARED,
    NL_LIMIT_BLOCKS,
    NL_LAUNCH_LIMITS
};

struct nl_launch_fit {
    uint32_t blocks;  /* that a multiprocessor holds */
    double occupancy; /* warps of these over the most it can hold, 0..1 */
    double waves;     /* blocks of the grid over those that the device holds */
    enum nl_launch_limit limit;
};

/* False when the launch, its registers or the device's size is not known, or nothing fits. */
bool nl_launch_fit(const struct nl_trace *trace, uint32_t device, uint32_t kernel,
                   struct nl_launch_fit *fit);

const char *nl_launch_limit_text(enum nl_launch_limit limit); /* "registers" */

#endif

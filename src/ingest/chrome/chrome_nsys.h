/*
 * chrome_nsys — Chrome traces that nsys2json and nsightful make of Nsight Systems' exports:
 * category `cuda` of process "Device 0" holds kernels (and copies), `cuda_api` and `nvtx` of "Host
 * 0" calls and ranges, `nvtx-kernel` the ranges as the device saw them. Threads are called "CUDA
 * API 9946", "NVTX 9946", "Stream 7". Nothing joins a kernel to its launch.
 */
#ifndef CHROME_NSYS_H
#define CHROME_NSYS_H

#include <stdbool.h>
#include <stdint.h>

struct chrome_worker;

/* Looks at an event of the first block: devices belong to the process of the first event ("Device
 * 0" and "Host 0" are one). */
void chrome_nsys_look(struct chrome_worker *worker);
/* Stages an X event of such a file; false when it is none. */
bool chrome_nsys_take(struct chrome_worker *worker, int64_t ts, int64_t dur);

#endif

/*
 * gpuwatch — reads all GPUs of the machine in a separate thread, so that neither a slow driver
 * start nor a hanging call delays the caller.
 *
 *     struct gpuwatch *watch = gpuwatch_start("", clock);
 *     ... every now and then: gpuwatch_state(watch, &state), gpuwatch_take(watch, values, 512)
 *     gpuwatch_stop(watch, &state);           // frees; waits for an in-flight call, with a timeout
 *
 * Values wait in a ring; those that find it full are counted in losses.dropped.
 */
#ifndef NL_GPUWATCH_H
#define NL_GPUWATCH_H

#include "capture/gpu/gpu.h"

#define GPUWATCH_ROUND_MS 100

struct gpu_value {
    uint64_t time; /* ticks of the clock that was asked for */
    int64_t ns;    /* the same as CLOCK_MONOTONIC */
    unsigned device, metric;
    double value;
};

struct gpu_losses {
    uint64_t errors;   /* calls that failed and were made again later */
    uint64_t slow;     /* calls that took over 50 ms */
    uint64_t missed;   /* rounds that were due while a call kept us */
    uint64_t dropped;  /* values read, and then no room in the ring */
    uint64_t hung;     /* 1: a call had not come back when all ended */
    uint64_t unlisted; /* processes on GPUs over GPU_MAX_PROCESSES */
    /* samples of drivers with times that cannot be, or for which there was no room */
    uint64_t unsampled;
};

struct gpuwatch_state {
    bool opened;       /* the drivers have answered */
    unsigned devices;  /* found */
    char why[GPU_WHY]; /* there are none */
    struct gpu_losses losses;
};

struct gpuwatch;

/* `root` stands before /sys; `clock` is an enum nl_rec_clock. */
struct gpuwatch *gpuwatch_start(const char *root, unsigned clock);
void gpuwatch_state(struct gpuwatch *watch, struct gpuwatch_state *state);
/* Of a device below state.devices. `absent` has the GPU_BITs that it does not have. */
void gpuwatch_info(struct gpuwatch *watch, unsigned device, struct gpu_info *info,
                   uint64_t *absent);
/* The oldest values, at most `room`; returns how many. */
size_t gpuwatch_take(struct gpuwatch *watch, struct gpu_value *values, size_t room);
/* Processes of a device as last read. Returns the number; *rounds counts
 * readings, so 0 = not known. */
size_t gpuwatch_processes(struct gpuwatch *watch, unsigned device,
                          struct gpu_process list[GPU_MAX_PROCESSES], uint64_t *rounds);
/* Ends it. `state` (may be NULL) is how it ended. */
void gpuwatch_stop(struct gpuwatch *watch, struct gpuwatch_state *state);

#endif

/*
 * cuptistate — recording of GPU work inside the recorded process: what gpuinject.c (start, CUPTI's
 * callbacks, end) and gpucells.c (CUPTI's records to cells) share.
 *
 * CUDA's driver loads this library when it starts ($CUDA_INJECTION64_PATH) and calls
 * InitializeInjection. From then on CUPTI asks for buffers in whatever thread of the program, fills
 * them, and hands them back; one thread of ours turns records into cells. All state is struct gpu,
 * found through nl_agent since CUPTI's callbacks for buffers carry no pointer. A forked child of a
 * process that used CUDA cannot use it: there everything here is dead.
 */
#ifndef NL_CUPTISTATE_H
#define NL_CUPTISTATE_H

#include <pthread.h>

#include "capture/agent/cuptilib.h"
#include "capture/agent/gpupool.h"
#include "capture/agent/gpuwrite.h"

#define GPU_MAX_CALLS 2048u /* functions of the runtime, of the driver */

enum gpu_state {
    GPU_DEAD, /* in a forked child; after an error; after the end */
    GPU_LIVE,
    GPU_ENDING
};

struct gpu_function {
    uint32_t name; /* of the recording; 0 = not asked for yet */
    bool skip;     /* it only asks, and often: not recorded */
    bool launch;
};

struct gpu {
    uint32_t state; /* enum gpu_state */
    uint32_t pid, fatal;
    bool wall_clock; /* CUPTI's times are of CLOCK_REALTIME */
    struct gpu_shift shift;
    uint32_t version; /* of CUPTI */
    struct cupti_calls cupti;
    struct gpupool pool;
    unsigned char *scratch; /* for versions of CUPTI that cannot be refused a buffer */
    uint64_t scratched;     /* buffers lost so */
    sem_t ended;
    /* of the consumer */
    struct thread *thread; /* where cells are written */
    uint64_t unknown, damaged;
    struct gpu_function functions[2][GPU_MAX_CALLS]; /* runtime, driver */
};

#endif

/*
 * rocmstate — recording of the work of AMD GPUs inside the recorded process: what rocminject.c
 * (start, callbacks, end) and rocmcells.c (records to cells) share.
 *
 * AMD's runtime looks for rocprofiler_configure in the libraries of a process when it starts, and
 * loads rocprofiler-sdk when there is one. That fills a buffer in the program's threads and hands
 * it to us in a separate thread; what does not fit is dropped and counted, so that the program
 * never waits.
 *
 * Not run on a real GPU yet: tested against a library made up for the tests
 * (tests/record/mock_rocm.c).
 */
#ifndef NL_ROCMSTATE_H
#define NL_ROCMSTATE_H

#include <pthread.h>

#include "capture/agent/gpuwrite.h"
#include "capture/agent/rocmabi.h"

#define ROCM_MAX_AGENTS     256u
#define ROCM_MAX_QUEUES     4096u
#define ROCM_MAX_OPERATIONS 2048u
#define ROCM_MAX_SYMBOLS    ((uint64_t)1 << 20)

struct rocm_calls {
#define ROCM_CALL(member, symbol, parameters) int(*member) parameters;
#include "capture/agent/rocmcalls.def"
#undef ROCM_CALL
};

enum rocm_state { ROCM_DEAD, ROCM_LIVE, ROCM_ENDING };

/* A kernel as its code object was loaded. */
struct rocm_known {
    uint32_t name; /* of the recording; 0 = not known */
    uint32_t registers, group_bytes, skip;
};

struct rocm {
    uint32_t state; /* enum rocm_state */
    uint32_t pid;
    struct rocm_tool tool;
    struct rocm_calls calls;
    uint64_t context, buffer;
    sem_t wake, ended;          /* of the thread that flushes */
    struct rocm_known *kernels; /* by their ids */
    uint64_t unnamed;           /* kernels loaded beyond ROCM_MAX_SYMBOLS */
    struct rocm_agent agents[ROCM_MAX_AGENTS];
    uint32_t agent_count;
    /* of whoever has the lock */
    pthread_mutex_t lock;
    struct thread *thread; /* where cells are written */
    struct gpu_shift shift;
    uint64_t queues[ROCM_MAX_QUEUES];
    uint32_t queue_count;
    uint32_t functions[ROCM_MAX_OPERATIONS]; /* names; 0 = not asked for yet */
    uint64_t dropped, unknown;               /* dropped: as written last */
    uint64_t queueless;                      /* kernels on queues over ROCM_MAX_QUEUES */
};

#endif

/*
 * chrome_rpd — the Chrome export of rocmProfileData (rpd2tracing.py): no categories; devices are
 * processes called "GPU2", what an operation is stands in its argument `desc` (KernelExecution,
 * CopyHostToDevice, FillBuffer), calls of HIP and HSA are slices of ordinary processes, and flows
 * of category `api_op` say which call issued what.
 */
#ifndef CHROME_RPD_H
#define CHROME_RPD_H

#include <stdbool.h>
#include <stdint.h>

#define CHROME_RPD_GPUS 64

struct chrome_worker;
struct chrome_load;

struct chrome_rpd {
    bool on; /* the file is one */
    int64_t gpus[CHROME_RPD_GPUS];
    unsigned gpu_count;
    int64_t main_pid; /* of all calls; NL_NULL_I64 when there are several */
    unsigned pid_count;
};

/* Looks at an event of the first block. */
void chrome_rpd_look(struct chrome_worker *worker);
/* After the first block. */
void chrome_rpd_settle(struct chrome_load *load);
/* Is this the process of a device? */
bool chrome_rpd_is_gpu(const struct chrome_load *load, int64_t pid);
/* Stages an X event of such a file; false when it has a category. */
bool chrome_rpd_take(struct chrome_worker *worker, int64_t ts, int64_t dur);

#endif

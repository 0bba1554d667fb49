/*
 * nsyswho — processes, threads and GPUs under the numbers of Nsight Systems: globalPid and
 * globalTid hold 24 bits of a pid and of a tid; a GPU is a number of the machine, and each process
 * has its own number for it.
 */
#ifndef NL_NSYSWHO_H
#define NL_NSYSWHO_H

#include "export/export.h"
#include "export/nsysdb.h"

struct nsys_who {
    const struct nl_trace *trace;
    int64_t *process;    /* globalPid per row of table process */
    int64_t *thread;     /* globalTid per row of table thread */
    bool own_ordinals;   /* no two GPUs have one number: the machine's are theirs */
    uint64_t renumbered; /* processes and threads whose number is taken or too large */
};

void nsys_who_make(struct nsys_who *who, const struct nl_trace *trace);
void nsys_who_release(struct nsys_who *who);

/* NL_NULL_I64 where a lane has none. A lane without a thread is on the first of its process. */
int64_t nsys_who_process(const struct nsys_who *who, uint32_t lane);
int64_t nsys_who_thread(const struct nsys_who *who, uint32_t lane);
int64_t nsys_who_device(const struct nsys_who *who, uint32_t lane); /* as its process calls it */

/* PROCESSES, ThreadNames, TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE, …_CONTEXT_INFO and …_STREAM. */
void nsys_who_write(const struct nsys_who *who, struct nsys_db *db);

#endif

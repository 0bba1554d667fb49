/*
 * perfthreads — which threads have a processor, from the kernel's records of
 * switches in order of time.
 */
#ifndef NL_PERFTHREADS_H
#define NL_PERFTHREADS_H

#include "capture/recorder/parts.h"
#include "capture/recorder/partvalues.h"
#include "capture/native/perfrecord.h"

struct perfthreads;

struct perfthreads *perfthreads_new(void);
void perfthreads_free(struct perfthreads *threads);

/* The thread has a processor from `ns` on. */
void perfthreads_in(struct perfthreads *threads, int64_t thread, int64_t ns);
/* It left it, `how` (NL_REC_RAN_…), or ended. False: since when it had it is not known. */
bool perfthreads_out(struct perfthreads *threads, const struct perf_record *record, uint16_t how,
                     struct part_run *run);
void perfthreads_end(struct perfthreads *threads, int64_t thread);
/* Records were lost: who has a processor is not known. */
void perfthreads_forget(struct perfthreads *threads);

#endif

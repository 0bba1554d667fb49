/*
 * rocmcells — records of AMD's profiler as cells of the recording.
 */
#ifndef NL_ROCMCELLS_H
#define NL_ROCMCELLS_H

#include "capture/agent/rocmstate.h"

/* A record of the buffer as a cell. */
void rocm_record(struct rocm *rocm, const struct rocm_header *header);
/* The GPUs, once. */
void rocm_devices(struct rocm *rocm);
/* A kernel was loaded; any thread. */
void rocm_learn_kernel(struct rocm *rocm, const struct rocm_symbol *symbol);

#endif

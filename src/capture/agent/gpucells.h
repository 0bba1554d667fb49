/*
 * gpucells — CUPTI's records as cells of the recording.
 */
#ifndef NL_GPUCELLS_H
#define NL_GPUCELLS_H

#include "capture/agent/cuptistate.h"

/* Writes a record that CUPTI gave. Consumer only. */
void gpu_record(struct gpu *gpu, const struct cupti_record *record);
/* Learns the functions' names; before any kind of record is enabled. */
void gpu_learn_functions(struct gpu *gpu);
/* Times from now on. */
void gpu_anchor(struct gpu *gpu);

#endif

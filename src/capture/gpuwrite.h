/*
 * gpuwrite — cells of GPU work (store/recgpu.h) into the recording, by whatever vendor's source. The writing thread must
 * be entered (agent_enter) and have the number NL_REC_DRIVER; notes and facts may come from any.
 */
#ifndef NL_GPUWRITE_H
#define NL_GPUWRITE_H

#include "capture/agent.h"
#include "store/recgpu.h"

/* A cell and what belongs to it, up to two structs of whole cells; `two` may be NULL. */
void gpu_write(struct thread *thread, struct nl_rec_cell cell, const void *one, size_t one_bytes,
               const void *two, size_t two_bytes);

/* Coverage (count 0: none), metadata. */
void gpu_write_note(struct thread *thread, const char *item, uint64_t count, const char *detail);
void gpu_write_fact(struct thread *thread, const char *key, const char *value);

/* Number of a text, 0 without one. */
uint32_t gpu_text(const char *text);

/* A note from a thread of the program's, now. */
void gpu_tell_now(const char *item, const char *detail);

#endif

/*
 * gpuwrite — cells of GPU work (nlrec/recgpu.h) into the recording, by whatever vendor's source.
 * The writing thread must be entered (agent_enter) and have the number NL_REC_DRIVER; notes and
 * facts may come from any.
 */
#ifndef NL_GPUWRITE_H
#define NL_GPUWRITE_H

#include <semaphore.h>

#include "capture/agent/agent.h"
#include "nlrec/recgpu.h"

/* A cell and what belongs to it, up to two structs of whole cells; `two` may be NULL. */
void gpu_write(struct thread *thread, struct nl_rec_cell cell, const void *one, size_t one_bytes,
               const void *two, size_t two_bytes);

/* Coverage (count 0: none), metadata. */
void gpu_write_note(struct thread *thread, const char *item, uint64_t count, const char *detail);
void gpu_write_fact(struct thread *thread, const char *key, const char *value);

/* What is to be taken from the times of a driver's clock to have ours, as it
 * was found with each buffer. */
struct gpu_shift {
    bool known;
    int64_t ns, error_ns; /* error: the largest so far */
};

/* Found between two readings of our clock that were `width_ns` apart. */
void gpu_shift_found(struct gpu_shift *shift, int64_t ns, int64_t width_ns);

/* "GPU clock error (ns)", where one was found. At the end. */
void gpu_write_shift(struct thread *thread, const struct gpu_shift *shift);

static inline uint64_t gpu_shifted(const struct gpu_shift *shift, uint64_t stamp)
{
    return stamp ? stamp - (uint64_t)shift->ns : 0;
}

/* Waits on our side of the clock, which no program sets; false: `ns` have passed. */
bool gpu_wait(sem_t *sem, int64_t ns);

/* Number of a text, 0 without one. */
uint32_t gpu_text(const char *text);

/* A note from a thread of the program's, now. */
void gpu_tell_now(const char *item, const char *detail);

#endif

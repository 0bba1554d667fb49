/*
 * gpupool — buffers that CUPTI fills in the program's threads and one thread of ours empties.
 *
 *     gpupool_take / gpupool_done        in CUPTI's callbacks: no lock, no allocation, no system call but
 *                                        one sem_post per MiB of records
 *     gpupool_wait, gpupool_completed, gpupool_give    in the consumer
 *
 * Buffers are places of one reservation that is touched where used; they go through two stacks of
 * their numbers.
 */
#ifndef NL_GPUPOOL_H
#define NL_GPUPOOL_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUPOOL_BYTES ((size_t)1 << 20) /* of a buffer: about 4,000 launches */
#define MAX_GPUPOOL   512u

struct gpupool_buffer {
    uint32_t next; /* number + 1 */
    uint32_t stream;
    void *context;
    size_t valid; /* bytes of records */
};

struct gpupool {
    unsigned char *memory;
    uint32_t most;         /* buffers that may be out at a time */
    uint32_t fresh;        /* numbers from here on were never given out */
    uint64_t free, filled; /* tag << 32 | number + 1 */
    uint64_t taken, done, refused;
    sem_t work;
    struct gpupool_buffer buffers[MAX_GPUPOOL];
};

/* False: the address space cannot be reserved. */
bool gpupool_init(struct gpupool *pool, uint32_t most);

/* An empty buffer of GPUPOOL_BYTES; NULL (counted): all are out. */
unsigned char *gpupool_take(struct gpupool *pool);

/* `buffer` has `valid` bytes of records. False: it is none of ours. */
bool gpupool_done(struct gpupool *pool, const unsigned char *buffer, size_t valid, void *context,
                  uint32_t stream);

/* Waits until gpupool_done or gpupool_wake were called since. */
void gpupool_wait(struct gpupool *pool);
void gpupool_wake(struct gpupool *pool);

/* All filled buffers, in the order in which they were filled: number + 1 of the first, linked by
 * `next`; 0 = none. One thread may call it. */
uint32_t gpupool_completed(struct gpupool *pool);

/* Puts an emptied buffer back. */
void gpupool_give(struct gpupool *pool, uint32_t number);

static inline unsigned char *gpupool_bytes(const struct gpupool *pool, uint32_t number)
{
    return pool->memory + number * GPUPOOL_BYTES;
}

#endif

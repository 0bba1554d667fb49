/* Two stacks of numbers; a tag in the upper half of their heads, new with every change, keeps a
 * slow thread from swapping in a stale link. */
#define _GNU_SOURCE
#include "capture/agent/gpupool.h"

#include <errno.h>
#include <sys/mman.h>

bool gpupool_init(struct gpupool *pool, uint32_t most)
{
    most = most < MAX_GPUPOOL ? most : MAX_GPUPOOL;
    void *memory = mmap(NULL, most * GPUPOOL_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    pool->memory = memory;
    pool->most = most;
    return sem_init(&pool->work, 0, 0) == 0;
}

static void push(struct gpupool *pool, uint64_t *stack, uint32_t number)
{
    uint64_t head = __atomic_load_n(stack, __ATOMIC_RELAXED), next;
    do {
        __atomic_store_n(&pool->buffers[number].next, (uint32_t)head, __ATOMIC_RELAXED);
        next = ((head >> 32) + 1) << 32 | (number + 1);
    } while (
        !__atomic_compare_exchange_n(stack, &head, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Number + 1, 0 = the stack is empty. */
static uint32_t pop(struct gpupool *pool, uint64_t *stack)
{
    uint64_t head = __atomic_load_n(stack, __ATOMIC_ACQUIRE);
    while ((uint32_t)head) {
        uint32_t link = __atomic_load_n(&pool->buffers[(uint32_t)head - 1].next, __ATOMIC_RELAXED);
        uint64_t next = ((head >> 32) + 1) << 32 | link;
        if (__atomic_compare_exchange_n(stack, &head, next, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE))
            return (uint32_t)head;
    }
    return 0;
}

/* A number that was never given out, + 1. */
static uint32_t fresh(struct gpupool *pool)
{
    uint32_t number = __atomic_load_n(&pool->fresh, __ATOMIC_RELAXED);
    while (number < pool->most)
        if (__atomic_compare_exchange_n(&pool->fresh, &number, number + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return number + 1;
    return 0;
}

unsigned char *gpupool_take(struct gpupool *pool)
{
    uint32_t link = pop(pool, &pool->free);
    if (!link)
        link = fresh(pool);
    __atomic_fetch_add(link ? &pool->taken : &pool->refused, 1, __ATOMIC_RELAXED);
    return link ? gpupool_bytes(pool, link - 1) : NULL;
}

bool gpupool_done(struct gpupool *pool, const unsigned char *buffer, size_t valid, void *context,
                  uint32_t stream)
{
    size_t at = (size_t)((uintptr_t)buffer - (uintptr_t)pool->memory);
    uint32_t number = (uint32_t)(at / GPUPOOL_BYTES);
    if (at >= pool->most * GPUPOOL_BYTES || at % GPUPOOL_BYTES)
        return false;
    pool->buffers[number].valid = valid < GPUPOOL_BYTES ? valid : GPUPOOL_BYTES;
    pool->buffers[number].context = context;
    pool->buffers[number].stream = stream;
    __atomic_fetch_add(&pool->done, 1, __ATOMIC_RELAXED);
    push(pool, &pool->filled, number);
    gpupool_wake(pool);
    return true;
}

void gpupool_wait(struct gpupool *pool)
{
    while (sem_wait(&pool->work) != 0 && errno == EINTR)
        ;
}

void gpupool_wake(struct gpupool *pool)
{
    (void)sem_post(&pool->work);
}

uint32_t gpupool_completed(struct gpupool *pool)
{
    uint64_t head = __atomic_load_n(&pool->filled, __ATOMIC_ACQUIRE);
    while ((uint32_t)head &&
           !__atomic_compare_exchange_n(&pool->filled, &head, ((head >> 32) + 1) << 32, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    uint32_t first = 0;
    for (uint32_t link = (uint32_t)head; link;) {
        struct gpupool_buffer *buffer = &pool->buffers[link - 1];
        uint32_t next = __atomic_load_n(&buffer->next, __ATOMIC_RELAXED);
        __atomic_store_n(&buffer->next, first, __ATOMIC_RELAXED);
        first = link;
        link = next;
    }
    return first;
}

void gpupool_give(struct gpupool *pool, uint32_t number)
{
    push(pool, &pool->free, number);
}

/* Buffers of GPU records: many threads fill them, one empties them, none is
 * there twice and none is lost. */
#include "check.h"

#include <pthread.h>
#include <sys/mman.h>

#include "capture/agent/gpupool.h"

#define WRITERS 4
#define ROUNDS  20000u
#define MOST    8u

static struct gpupool *pool;
static uint64_t refused;
static uint32_t writers;

/* Every buffer carries its writer and number; a writer that is refused one tries again. */
static void *write_buffers(void *context)
{
    uint32_t writer = (uint32_t)(uintptr_t)context;
    for (uint32_t i = 0; i < ROUNDS;) {
        unsigned char *buffer = gpupool_take(pool);
        if (!buffer) {
            __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
            continue;
        }
        uint32_t words[2] = {writer, i++};
        memcpy(buffer, words, sizeof words);
        if (!gpupool_done(pool, buffer, sizeof words, context, writer))
            abort();
    }
    __atomic_fetch_sub(&writers, 1, __ATOMIC_RELEASE);
    gpupool_wake(pool);
    return NULL;
}

static uint32_t take_one(uint32_t number, uint32_t *next_of)
{
    const struct gpupool_buffer *buffer = &pool->buffers[number];
    uint32_t words[2], in_order;
    memcpy(words, gpupool_bytes(pool, number), sizeof words);
    in_order = words[0] < WRITERS && words[1] == next_of[words[0]] && buffer->stream == words[0] &&
               buffer->valid == sizeof words;
    next_of[words[0] % WRITERS]++;
    return in_order;
}

static void many_writers(void)
{
    pthread_t threads[WRITERS];
    uint32_t next_of[WRITERS] = {0}, taken = 0, in_order = 0;
    pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pool != MAP_FAILED && gpupool_init(pool, MOST));
    writers = WRITERS;
    for (uintptr_t i = 0; i < WRITERS; i++)
        CHECK(pthread_create(&threads[i], NULL, write_buffers, (void *)i) == 0);
    for (bool last = false; !last;) {
        gpupool_wait(pool);
        last = __atomic_load_n(&writers, __ATOMIC_ACQUIRE) == 0;
        for (uint32_t link = gpupool_completed(pool); link; taken++) {
            uint32_t number = link - 1;
            link = pool->buffers[number].next;
            in_order += take_one(number, next_of);
            gpupool_give(pool, number);
        }
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(taken, WRITERS * ROUNDS);
    CHECK_INT(in_order, WRITERS * ROUNDS);
    CHECK_INT((int64_t)pool->taken, WRITERS * ROUNDS);
    CHECK_INT((int64_t)pool->done, WRITERS * ROUNDS);
    CHECK_INT((int64_t)pool->refused, (int64_t)refused);
    CHECK(pool->fresh <= MOST);
}

static void limits(void)
{
    unsigned char *buffers[MOST], other = 0;
    struct gpupool *small =
        mmap(NULL, sizeof *small, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(small != MAP_FAILED && gpupool_init(small, MOST));
    for (unsigned i = 0; i < MOST; i++) {
        buffers[i] = gpupool_take(small);
        CHECK(buffers[i] != NULL && ((uintptr_t)buffers[i] & 7) == 0);
    }
    CHECK(gpupool_take(small) == NULL);
    CHECK_INT((int64_t)small->refused, 1);
    CHECK(!gpupool_done(small, &other, 1, NULL, 0));
    CHECK(!gpupool_done(small, buffers[0] + 1, 1, NULL, 0));
    CHECK(gpupool_completed(small) == 0);
    CHECK(gpupool_done(small, buffers[3], GPUPOOL_BYTES + 1, NULL, 0));
    uint32_t link = gpupool_completed(small);
    CHECK_INT(link, 4);
    CHECK_INT((int64_t)small->buffers[3].valid, (int64_t)GPUPOOL_BYTES);
    gpupool_give(small, link - 1);
    CHECK(gpupool_take(small) == buffers[3]);
}

CHECK_MAIN("gpupool", {"limits", limits}, {"many writers", many_writers})

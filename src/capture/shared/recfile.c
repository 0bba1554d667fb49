/*
 * Blocks are found in this order: one that the recorder gave back, fresh room in the file (2, 4, 8,
 * then 16 blocks at a time), and under the policy `wrap` the oldest full one.
 *
 * The two stacks are linked through the blocks' headers; a tag in the upper half of their heads,
 * new with every change, keeps a slow thread from swapping in a stale link.
 */
#define _GNU_SOURCE
#include "capture/shared/recfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/shared/ticks.h"

#define MAX_GROWTH 16u

static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Takes room in the file and maps it; NULL leaves only unused room. */
static void *map_part(int descriptor, uint64_t offset, size_t bytes)
{
    struct rlimit limit;
    /* Growing over the limit would send SIGXFSZ, which ends programs. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + bytes > limit.rlim_cur)
        return NULL;
    int failure;
    do
        failure = posix_fallocate(descriptor, (off_t)offset, (off_t)bytes);
    while (failure == EINTR);
    if (failure)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

static int make_file(struct recfile *file, const char *folder, int64_t pid)
{
    for (unsigned number = 0; number < 100000; number++) {
        int len = snprintf(file->path, sizeof file->path, "%s/%lld-%u.nlrec", folder,
                           (long long)pid, number);
        if (len < 0 || (size_t)len >= sizeof file->path)
            return -1;
        int descriptor = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        file->number = number;
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
    return -1;
}

bool recfile_make(struct recfile *file, const char *folder, struct nl_control *control,
                  const struct recfile_facts *facts)
{
    *file = (struct recfile){.control = control};
    int descriptor = make_file(file, folder, facts->pid);
    if (descriptor < 0)
        return false;
    file->address = reserve(RECFILE_MAX_BLOCKS * sizeof *file->address);
    file->owned = reserve(RECFILE_MAX_BLOCKS * sizeof *file->owned);
    if (file->address && file->owned)
        file->head = map_part(descriptor, 0, NL_REC_HEAD_BYTES);
    close(descriptor);
    if (file->head) {
        rechead_fill(file->head, control, facts, control->pid_namespace != control_pid_namespace());
        return true;
    }
    unlink(file->path);
    recfile_forget(file);
    return false;
}

bool recfile_claim(struct recfile *file, const char *folder, struct nl_control *control,
                   uint32_t place)
{
    const struct nl_announcement *told = &control->announcements[place];
    *file = (struct recfile){.control = control, .number = told->number};
    int len = snprintf(file->path, sizeof file->path, "%s/%lld-%u.nlrec", folder,
                       (long long)told->pid, told->number);
    if (len < 0 || (size_t)len >= sizeof file->path)
        return false;
    int descriptor = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return false;
    void *memory = mmap(NULL, NL_REC_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    file->address = reserve(RECFILE_MAX_BLOCKS * sizeof *file->address);
    file->owned = reserve(RECFILE_MAX_BLOCKS * sizeof *file->owned);
    file->head = memory == MAP_FAILED ? NULL : memory;
    if (file->address && file->owned && file->head && file->head->announced == place + 1)
        return true;
    recfile_forget(file);
    return false;
}

void recfile_forget(struct recfile *file)
{
    for (uint32_t i = 0; i < file->owned_count; i++)
        if (file->owned[i] && file->address[file->owned[i] - 1])
            munmap(file->address[file->owned[i] - 1], NL_REC_BLOCK_BYTES);
    if (file->head)
        munmap(file->head, NL_REC_HEAD_BYTES);
    if (file->address)
        munmap(file->address, RECFILE_MAX_BLOCKS * sizeof *file->address);
    if (file->owned)
        munmap(file->owned, RECFILE_MAX_BLOCKS * sizeof *file->owned);
    *file = (struct recfile){0};
}

/* ---- the stacks ---- */

static uint64_t retag(uint64_t head, uint32_t link)
{
    return ((head >> 32) + 1) << 32 | link;
}

static void push(uint64_t *stack, struct nl_rec_block *block, uint32_t number)
{
    uint64_t head = __atomic_load_n(stack, __ATOMIC_RELAXED);
    do
        __atomic_store_n(&block->next, (uint32_t)head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(stack, &head, retag(head, number + 1), true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static struct nl_rec_block *pop_free(struct recfile *file)
{
    uint64_t *stack = &file->head->free_stack;
    uint64_t head = __atomic_load_n(stack, __ATOMIC_ACQUIRE);
    while ((uint32_t)head) {
        uint32_t number = (uint32_t)head - 1;
        struct nl_rec_block *block = number < RECFILE_MAX_BLOCKS ? file->address[number] : NULL;
        if (!block)
            return NULL; /* somebody else wrote to the file */
        uint32_t next = __atomic_load_n(&block->next, __ATOMIC_RELAXED);
        if (!__atomic_compare_exchange_n(stack, &head, retag(head, next), true, __ATOMIC_ACQUIRE,
                                         __ATOMIC_ACQUIRE))
            continue;
        /* The thread that filled it released its state; the recorder, another
         * process, moved it from one stack to the other. Within this process that
         * state is what orders the two threads. */
        (void)__atomic_load_n(&block->state, __ATOMIC_ACQUIRE);
        return block;
    }
    return NULL;
}

/* ---- growth ---- */

/* The number of a block mapped here, from what its header says of it. */
static uint32_t block_number(const struct nl_rec_block *block)
{
    return block->span;
}

static struct nl_rec_block *adopt(struct recfile *file, char *memory, uint32_t first,
                                  uint32_t count)
{
    uint32_t place = __atomic_fetch_add(&file->owned_count, count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&file->head->mapped, count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count; i++) {
        struct nl_rec_block *block = (void *)(memory + (size_t)i * NL_REC_BLOCK_BYTES);
        block->span = first + i;
        block->magic = NL_REC_BLOCK_MAGIC;
        file->address[first + i] = block;
        __atomic_store_n(&file->owned[place + i], first + i + 1, __ATOMIC_RELEASE);
        if (i)
            push(&file->head->free_stack, block, first + i);
    }
    return (void *)memory;
}

static struct nl_rec_block *grow(struct recfile *file)
{
    uint32_t growths = __atomic_fetch_add(&file->growths, 1, __ATOMIC_RELAXED);
    uint32_t count = growths < 3 ? 2u << growths : MAX_GROWTH;
    size_t bytes = (size_t)count * NL_REC_BLOCK_BYTES;
    uint64_t *used = &file->control->used_bytes;
    char *memory = NULL;
    uint32_t first = 0;
    if (__atomic_add_fetch(used, bytes, __ATOMIC_RELAXED) <= file->control->cap_bytes) {
        int descriptor = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (descriptor >= 0) {
            uint64_t block = __atomic_fetch_add(&file->head->blocks, count, __ATOMIC_RELAXED);
            if (block + count <= RECFILE_MAX_BLOCKS)
                memory = map_part(descriptor,
                                  NL_REC_HEAD_BYTES + block * (uint64_t)NL_REC_BLOCK_BYTES, bytes);
            first = (uint32_t)block;
            close(descriptor);
            /* The numbers go back, if no thread took later ones meanwhile: a full disk is asked
             * again and again. */
            uint64_t behind = block + count;
            if (!memory)
                __atomic_compare_exchange_n(&file->head->blocks, &behind, block, false,
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        }
    }
    if (memory)
        return adopt(file, memory, first, count);
    __atomic_fetch_sub(used, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&file->growths, growths, __ATOMIC_RELAXED);
    return NULL;
}

/* The oldest full block of events, its events counted as overwritten. */
static struct nl_rec_block *overwrite(struct recfile *file)
{
    uint32_t count = __atomic_load_n(&file->owned_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = __atomic_fetch_add(&file->cursor, 1, __ATOMIC_RELAXED) % count;
        uint32_t number = __atomic_load_n(&file->owned[at], __ATOMIC_ACQUIRE);
        struct nl_rec_block *block = number ? file->address[number - 1] : NULL;
        uint32_t full = NL_REC_FULL;
        if (!block || !__atomic_compare_exchange_n(&block->state, &full, NL_REC_FREE, false,
                                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        recfile_drop(file, NL_REC_DROP_WRAP, block->events);
        return block;
    }
    return NULL;
}

struct nl_rec_block *recfile_take(struct recfile *file, uint32_t kind)
{
    struct nl_rec_block *block = pop_free(file);
    if (!block)
        block = grow(file);
    if (!block && file->head->policy == NL_REC_WRAP)
        block = overwrite(file);
    if (!block)
        return NULL;
    struct nl_rec_pair pair = ticks_pair(file->head->clock, 1);
    block->kind = kind;
    block->events = 0;
    block->ticks = pair.ticks;
    block->monotonic_ns = pair.monotonic_ns;
    block->bracket = pair.bracket < UINT32_MAX ? (uint32_t)pair.bracket + 1 : UINT32_MAX;
    block->sequence = __atomic_fetch_add(&file->head->sequence, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&block->used, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&block->state, NL_REC_ACTIVE, __ATOMIC_RELEASE);
    return block;
}

void recfile_retire(struct recfile *file, struct nl_rec_block *block, uint32_t events)
{
    block->events = events;
    __atomic_store_n(&block->state, NL_REC_FULL, __ATOMIC_RELEASE);
    if (file->head->policy == NL_REC_SPILL)
        push(&file->head->full_stack, block, block_number(block));
}

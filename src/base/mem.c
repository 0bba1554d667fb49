/* Allocation, arenas, and what the machine has left. */
#define _GNU_SOURCE
#include "base/mem.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/spill.h"

#if defined(__SANITIZE_ADDRESS__)
#define NL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NL_ASAN 1
#endif
#endif
#ifdef NL_ASAN
#include <sanitizer/asan_interface.h>
#define RED_ZONE 32
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define RED_ZONE                                 0
#endif

#define BLOCK_BYTES ((size_t)64 << 10)
#define MAX_WIDER   ((size_t)1 << 30)
#define HUGE_PAGE   ((size_t)2 << 20)
#define HUGE_ARRAY  ((size_t)4 << 20)  /* from here on, huge pages are worth while in the heap */
#define FEW_ARRAYS  ((size_t)16 << 20) /* under this, fresh pages cost nothing that matters */
#define SPILLED     ((size_t)2 << 20)  /* once spilling began, arrays of this size are in files */
#define LARGE_TABLE ((size_t)256 << 10)
#define ALIGNED     ((uintptr_t)4096) /* as arrays in files are, and one of 256 others */

struct nl_arena_block {
    struct nl_arena_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void nl_memory_exhausted(size_t bytes)
{
    fprintf(stderr,
            "neurolens: the system gives no more memory (%zu bytes more were needed); free some, "
            "raise the limit (ulimit -v), or set --memory below it\n",
            bytes);
    quick_exit(nl_err_exit_status(NL_MEMORY)); /* whoever has an unfinished file removes it */
}

static void *spilled(size_t bytes)
{
    return bytes < SPILLED ? NULL : nl_spill_take(nl_process_spill(), bytes);
}

static bool may_be_spilled(const void *memory)
{
    return memory && (uintptr_t)memory % ALIGNED == 0;
}

void *nl_alloc(size_t bytes)
{
    void *memory = spilled(bytes);
    if (!memory)
        memory = malloc(bytes ? bytes : 1);
    if (!memory)
        nl_memory_exhausted(bytes);
    return memory;
}

void *nl_zalloc(size_t bytes)
{
    void *memory = spilled(bytes);
    if (!memory)
        memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        nl_memory_exhausted(bytes);
    return memory;
}

/* Asks for huge pages where whole ones are inside. */
static void advise_huge(void *memory, size_t bytes)
{
    uintptr_t from = ((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t to = ((uintptr_t)memory + bytes) & ~(HUGE_PAGE - 1);
    if (from < to)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

void nl_touch(void *memory, size_t bytes)
{
    volatile char *page = memory;
    for (size_t at = 0; at < bytes; at += ALIGNED)
        page[at] = 0;
}

void *nl_ztable(size_t bytes)
{
    void *memory = nl_zalloc(bytes);
    if (bytes < LARGE_TABLE || may_be_spilled(memory))
        return memory;
    advise_huge(memory, bytes);
    nl_touch(memory, bytes);
    return memory;
}

void *nl_realloc(void *old, size_t bytes)
{
    size_t had = may_be_spilled(old) ? nl_spill_bytes(nl_process_spill(), old) : 0;
    void *memory = had ? nl_alloc(bytes) : spilled(bytes);
    if (memory && old) {
        size_t keep = had ? had : malloc_usable_size(old);
        memcpy(memory, old, keep < bytes ? keep : bytes);
        nl_free(old);
    }
    if (!memory)
        memory = realloc(old, bytes ? bytes : 1);
    if (!memory)
        nl_memory_exhausted(bytes);
    return memory;
}

void nl_free(void *memory)
{
    if (!may_be_spilled(memory) || !nl_spill_free(nl_process_spill(), memory))
        free(memory);
}

char *nl_strdup(const char *text)
{
    size_t len = strlen(text) + 1;
    return memcpy(nl_alloc(len), text, len);
}

#if defined(__GLIBC__) && !defined(NL_ASAN)
/* Makes the heap for the next arrays of huge pages: one fault each instead of 512. Touches
 * nothing. */
static void widen_heap(size_t bytes)
{
    char *room = malloc(bytes < MAX_WIDER ? bytes : MAX_WIDER);
    if (!room)
        return;
    uintptr_t from = ((uintptr_t)room + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    uintptr_t to = ((uintptr_t)room + malloc_usable_size(room)) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    free(room);
}
#endif

void nl_expect_arrays(size_t bytes)
{
#if defined(__GLIBC__) && !defined(NL_ASAN)
    if (bytes < FEW_ARRAYS)
        return;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_ARENA_MAX, 1);
    widen_heap(bytes);
#else
    (void)bytes;
#endif
}

void nl_give_back(void)
{
#if defined(__GLIBC__) && !defined(NL_ASAN)
    malloc_trim(0);
#endif
}

void nl_grow_bytes(void **memory, size_t *cap, size_t need, size_t item)
{
    if (need <= *cap)
        return;
    size_t cells = *cap ? *cap * 2 : 16;
    if (cells < need)
        cells = need;
    if (cells > SIZE_MAX / item)
        nl_memory_exhausted(SIZE_MAX);
    *memory = nl_realloc(*memory, cells * item);
    *cap = cells;
}

static void *map_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        nl_memory_exhausted(bytes);
    return memory;
}

void nl_reserve_bytes(void **memory, size_t *cap, size_t need, size_t item)
{
    size_t page = 4096, before = *cap;
    nl_grow_bytes(memory, cap, need, item);
    uintptr_t from = ((uintptr_t)*memory + page - 1) & ~(uintptr_t)(page - 1);
    uintptr_t to = ((uintptr_t)*memory + *cap * item) & ~(uintptr_t)(page - 1);
    if (*cap > before && *cap * item >= HUGE_ARRAY)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
}

/* Whole huge pages of an array are one fault each instead of 512. What does not fill one stays
 * small, so that no memory is touched which the array does not have. */
void *nl_pages(size_t bytes)
{
    if (!bytes)
        return NULL;
    if (bytes < NL_MIN_PAGES_BYTES)
        return nl_zalloc(bytes);
    if (bytes < HUGE_PAGE)
        return map_pages(bytes);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) & ~(page - 1);
    char *memory = map_pages(whole + HUGE_PAGE);
    size_t before = (0 - (uintptr_t)memory) & (HUGE_PAGE - 1), after = HUGE_PAGE - before;
    if (before)
        munmap(memory, before);
    memory += before;
    munmap(memory + whole, after);
    madvise(memory, whole & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    return memory;
}

void nl_pages_free(void *memory, size_t bytes)
{
    if (!memory || !bytes)
        return;
    if (bytes < NL_MIN_PAGES_BYTES)
        nl_free(memory);
    else
        munmap(memory, bytes);
}

void *nl_pages_grow(void *memory, size_t bytes, size_t more)
{
    if (!memory || !bytes)
        return nl_pages(more);
    if (bytes < NL_MIN_PAGES_BYTES) {
        void *wider = memcpy(nl_pages(more), memory, bytes < more ? bytes : more);
        nl_free(memory);
        return wider;
    }
    void *moved = mremap(memory, bytes, more, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED)
        nl_memory_exhausted(more);
    return moved;
}

void nl_arena_init(struct nl_arena *arena)
{
    arena->blocks = NULL;
    arena->used = 0;
}

void nl_arena_free(struct nl_arena *arena)
{
    while (arena->blocks) {
        struct nl_arena_block *next = arena->blocks->next;
        nl_free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}

void *nl_arena_alloc(struct nl_arena *arena, size_t bytes)
{
    size_t room = ((bytes + 15) & ~(size_t)15) + RED_ZONE;
    struct nl_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < room) {
        size_t size = room > BLOCK_BYTES ? room : BLOCK_BYTES;
        block = nl_alloc(sizeof *block + size);
        block->next = arena->blocks;
        block->used = 0;
        block->size = size;
        arena->blocks = block;
    }
    char *memory = block->bytes + block->used;
    block->used += room;
    arena->used += room;
    memset(memory, 0, room);
    ASAN_POISON_MEMORY_REGION(memory + bytes, room - bytes);
    return memory;
}

char *nl_arena_text(struct nl_arena *arena, const char *bytes, size_t len)
{
    char *text = nl_arena_alloc(arena, len + 1);
    if (len)
        memcpy(text, bytes, len);
    text[len] = '\0';
    return text;
}

char *nl_arena_format(struct nl_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t bytes = len < 0 ? 1 : (size_t)len + 1;
    char *text = nl_arena_alloc(arena, bytes);
    vsnprintf(text, bytes, format, again);
    va_end(again);
    return text;
}

/* Reads the first unsigned number after `key` in a small /proc or /sys file; 0 when absent. */
static uint64_t number_in_file(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    char line[256];
    uint64_t value = 0;
    size_t len = strlen(key);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, len) == 0) {
            value = strtoull(line + len, NULL, 10);
            break;
        }
    }
    fclose(file);
    return value;
}

/* A limit on addresses (ulimit -v) less those that are taken; UINT64_MAX without one. */
static uint64_t address_room(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    uint64_t taken = number_in_file("/proc/self/status", "VmSize:") * 1024;
    return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

uint64_t nl_memory_available(void)
{
    uint64_t free_bytes = number_in_file("/proc/meminfo", "MemAvailable:") * 1024;
    if (!free_bytes)
        free_bytes = (uint64_t)2 << 30;
    uint64_t limit = number_in_file("/sys/fs/cgroup/memory.max", "");
    uint64_t used = number_in_file("/sys/fs/cgroup/memory.current", "");
    if (limit > used && limit - used < free_bytes)
        free_bytes = limit - used;
    uint64_t room = address_room();
    return room < free_bytes ? room : free_bytes;
}

uint64_t nl_memory_held(void)
{
    uint64_t mapped;
    return nl_memory_resident(&mapped);
}

uint64_t nl_memory_resident(uint64_t *mapped)
{
    *mapped = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    uint64_t all, resident, shared;
    int got = fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &all, &resident, &shared);
    fclose(file);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (got != 3 || resident <= shared)
        return 0;
    *mapped = shared * page;
    return (resident - shared) * page;
}

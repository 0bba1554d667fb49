/*
 * mem — the only place that calls malloc.
 *
 * Allocation of small, bounded things ends the program (NL_MEMORY) when the system has no
 * memory left (a profile tool cannot continue, and Linux over-commits anyway). Growth that
 * comes from *input* goes through nl_grow with a ceiling, or through nl_column (store), whose
 * callers keep the budget.
 */
#ifndef NL_MEM_H
#define NL_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *nl_alloc(size_t bytes);  /* never NULL; contents undefined */
void *nl_zalloc(size_t bytes); /* never NULL; zeroed */

/* Zeroed, for a table that will be read and written all over: its pages are made now, large ones
 * where there is room. A page that is read before it is written to is made twice, the second time
 * with an interrupt of all other processors. */
void *nl_ztable(size_t bytes);

/* Makes the pages of fresh memory, all zeros, for the same reason. */
void nl_touch(void *memory, size_t bytes);

void *nl_realloc(void *old, size_t bytes);
void nl_free(void *memory); /* NULL is fine */
char *nl_strdup(const char *text);

/* Says that a phase begins which makes and frees large arrays, about `bytes` at a time: freed
 * arrays are kept for the next array of any thread, because fresh pages cost more than most work on
 * them. Call it after the peak-memory phase: from then on the process keeps the freed arrays. */
void nl_expect_arrays(size_t bytes);

/* Says that a phase ended which freed much: returns free memory to the system. */
void nl_give_back(void);

/* Makes room for `need` items of `item` bytes in *memory (capacity *cap items), doubling. */
void nl_grow_bytes(void **memory, size_t *cap, size_t need, size_t item);
static inline void nl_grow_checked(void **memory, size_t *cap, size_t need, size_t item)
{
    if (need > *cap)
        nl_grow_bytes(memory, cap, need, item);
}
#define nl_grow(pointer, cap, need)                                                                \
    nl_grow_checked((void **)(pointer), (cap), (need), sizeof **(pointer))

/* The same for an array that will be large: room for `need` items at once, in huge pages. */
void nl_reserve_bytes(void **memory, size_t *cap, size_t need, size_t item);
#define nl_reserve(pointer, cap, need)                                                             \
    nl_reserve_bytes((void **)(pointer), (cap), (need), sizeof **(pointer))

/* Page-aligned memory straight from the kernel; returned to it by nl_pages_free with the same size.
 * Large arrays live here so that freeing them really lowers the resident size; from 2 MiB on they
 * begin on a huge page. What is smaller than a page is of the heap: a small profile has a hundred
 * columns of a few bytes. Zeroed; NULL only when bytes is 0. */
#define NL_MIN_PAGES_BYTES ((size_t)4096)
void *nl_pages(size_t bytes);
void nl_pages_free(void *memory, size_t bytes);

/* The same memory with room for more; it may move, without being copied. */
void *nl_pages_grow(void *memory, size_t bytes, size_t more);

/*
 * arena — many small things with one life time. nl_arena_free releases all at once. Blocks are
 * separated by red zones under ASan.
 */
struct nl_arena_block;
struct nl_arena {
    struct nl_arena_block *blocks;
    size_t used; /* bytes handed out in all, for budgets */
};
void nl_arena_init(struct nl_arena *arena);
void nl_arena_free(struct nl_arena *arena);
void *nl_arena_alloc(struct nl_arena *arena, size_t bytes); /* 16-byte aligned, zeroed */
char *nl_arena_text(struct nl_arena *arena, const char *bytes,
                    size_t len); /* NUL-terminated copy */
char *nl_arena_format(struct nl_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the process with a message and the status of NL_MEMORY, as all allocation here does when
 * there is no memory; for the allocators of libraries. What at_quick_exit registered is run. */
_Noreturn void nl_memory_exhausted(size_t bytes);

/* Bytes of memory free for us now: the least of MemAvailable and what limits of the cgroup and of
 * addresses (ulimit -v) leave. */
uint64_t nl_memory_available(void);

/* Bytes that the process has in memory and no file has; 0 if the kernel does not report it. */
uint64_t nl_memory_held(void);

/* The same, and in *mapped the bytes in memory that files have. */
uint64_t nl_memory_resident(uint64_t *mapped);

#endif

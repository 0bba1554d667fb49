/*
 * An open-addressing table of fixed room in reserved memory: it never moves, so readers need no
 * lock. An entry is complete before its slot is set, so a reader, or a child that was forked in the
 * middle of an addition, sees either all or nothing of it.
 */
#define _GNU_SOURCE
#include "capture/agent/texts.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "base/utf8.h"

#define SLOTS       (1u << 20)
#define MAX_COUNT   (SLOTS / 4 * 3)
#define MAX_BYTES   ((uint64_t)128 << 20)
#define LENGTH_BITS 16

static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool texts_init(struct texts *texts)
{
    *texts = (struct texts){.slots = reserve(SLOTS * sizeof *texts->slots),
                            .entries = reserve((MAX_COUNT + 1) * sizeof *texts->entries),
                            .bytes = reserve(MAX_BYTES)};
    return texts->slots && texts->entries && texts->bytes;
}

/* Eight bytes at a time; the table is private to the process, so the hash may be anything. */
static uint64_t hash(const char *text, size_t bytes)
{
    uint64_t sum = bytes * 0x9e3779b97f4a7c15u, word;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        memcpy(&word, text, 8);
        sum = (sum ^ word) * 0xff51afd7ed558ccdu;
        sum ^= sum >> 32;
    }
    word = 0;
    memcpy(&word, text, bytes);
    sum = (sum ^ word) * 0xc4ceb9fe1a85ec53u;
    return sum ^ sum >> 29;
}

static bool is_entry(const struct texts *texts, uint32_t id, const char *text, size_t bytes)
{
    uint64_t entry = __atomic_load_n(&texts->entries[id], __ATOMIC_RELAXED);
    return (entry & ((1u << LENGTH_BITS) - 1)) == bytes &&
           memcmp(texts->bytes + (entry >> LENGTH_BITS), text, bytes) == 0;
}

/* The id of the text, or 0 with *slot where it belongs. */
static uint32_t find_text(const struct texts *texts, uint64_t sum, const char *text, size_t bytes,
                          uint32_t *slot)
{
    for (uint32_t at = (uint32_t)sum & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
        uint32_t id = __atomic_load_n(&texts->slots[at], __ATOMIC_ACQUIRE);
        if (id && !is_entry(texts, id, text, bytes))
            continue;
        *slot = at;
        return id;
    }
}

/* Appends the text to a block of the file. */
static bool write_name(struct texts *texts, struct recfile *file, uint32_t id, const char *text,
                       size_t bytes)
{
    struct nl_rec_name name = {id, (uint32_t)bytes};
    uint32_t need = (uint32_t)(sizeof name + ((bytes + 7) & ~(size_t)7));
    struct nl_rec_block *block = texts->block;
    if (!block || block->used + need > RECFILE_ROOM) {
        block = recfile_take(file, NL_REC_NAMES);
        if (!block)
            return false;
        texts->block = block;
    }
    char *to = recfile_payload(block) + block->used;
    memset(to + need - 8, 0, 8);
    memcpy(to, &name, sizeof name);
    memcpy(to + sizeof name, text, bytes);
    __atomic_store_n(&block->used, block->used + need, __ATOMIC_RELEASE);
    return true;
}

static uint32_t add_text(struct texts *texts, struct recfile *file, const char *text, size_t bytes,
                         uint64_t sum)
{
    uint32_t slot, id = find_text(texts, sum, text, bytes, &slot);
    if (id)
        return id; /* another thread was faster */
    id = texts->count + 1;
    if (id > MAX_COUNT || texts->used + bytes > MAX_BYTES ||
        !write_name(texts, file, id, text, bytes))
        return 0;
    memcpy(texts->bytes + texts->used, text, bytes);
    __atomic_store_n(&texts->entries[id], texts->used << LENGTH_BITS | bytes, __ATOMIC_RELAXED);
    texts->used += bytes;
    texts->count = id;
    __atomic_store_n(&texts->slots[slot], id, __ATOMIC_RELEASE);
    return id;
}

/* A lock that names its holder: one left by a fork is taken over. */
static void lock(uint32_t *word, uint32_t pid)
{
    for (unsigned spins = 0;; spins++) {
        uint32_t holder = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (holder != pid && __atomic_compare_exchange_n(word, &holder, pid, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        if (spins > 100)
            sched_yield();
    }
}

/* A text that is too long, its end left out; how many bytes. */
static size_t cut(const char *text, size_t bytes, char room[NL_REC_MAX_NAME])
{
    size_t keep = nl_utf8_cut(text, bytes, NL_REC_MAX_NAME - 3);
    memcpy(room, text, keep);
    memcpy(room + keep, "\xe2\x80\xa6", 3);
    return keep + 3;
}

uint32_t texts_known(const struct texts *texts, const char *text, size_t bytes)
{
    uint32_t slot;
    return bytes > NL_REC_MAX_NAME ? 0 : find_text(texts, hash(text, bytes), text, bytes, &slot);
}

uint32_t texts_id(struct texts *texts, struct recfile *file, const char *text, size_t bytes,
                  uint32_t pid)
{
    char room[NL_REC_MAX_NAME];
    bool is_cut = bytes > NL_REC_MAX_NAME;
    if (is_cut) {
        bytes = cut(text, bytes, room);
        text = room;
    }
    uint64_t sum = hash(text, bytes);
    uint32_t slot, id = find_text(texts, sum, text, bytes, &slot);
    if (id)
        return id;
    lock(&texts->lock, pid);
    id = add_text(texts, file, text, bytes, sum);
    __atomic_store_n(&texts->lock, 0, __ATOMIC_RELEASE);
    if (is_cut)
        __atomic_fetch_add(&file->head->cut_names, 1, __ATOMIC_RELAXED);
    if (!id)
        recfile_drop(file, NL_REC_DROP_NAME, 1);
    return id;
}

void texts_rewrite(struct texts *texts, struct recfile *file)
{
    texts->block = NULL;
    texts->lock = 0;
    for (uint32_t id = 1; id <= texts->count; id++) {
        uint64_t entry = texts->entries[id];
        if (!write_name(texts, file, id, texts->bytes + (entry >> LENGTH_BITS),
                        entry & ((1u << LENGTH_BITS) - 1)))
            recfile_drop(file, NL_REC_DROP_NAME, 1);
    }
}

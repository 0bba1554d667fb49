/* chrome_texts — see chrome_texts.h. */
#include "ingest/chrome/chrome_texts.h"

#include "ingest/chrome/chrome_scan.h"

#define MAX_COPY   4096               /* longer texts are not kept */
#define MAX_COPIES ((size_t)16 << 20) /* of all copies; then the cache starts again */

void chrome_texts_init(struct chrome_texts *texts)
{
    *texts = (struct chrome_texts){.serial = 0};
    texts->slots = nl_zalloc(CHROME_TEXT_SLOTS * sizeof *texts->slots);
    nl_arena_init(&texts->copies);
}

void chrome_texts_release(struct chrome_texts *texts)
{
    nl_free(texts->slots);
    nl_arena_free(&texts->copies);
}

__extension__ typedef unsigned __int128 wide;

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Odd numbers with about as many ones as zeros (of wyhash). */
#define KEY_A 0xA0761D6478BD642Fu
#define KEY_B 0xE7037ED1A0B428DBu

/* 16 bytes a step. Of a text under 8 bytes those behind it are read, too, and masked off. */
static inline uint64_t hash_raw(const char *p, size_t len, uint64_t seed)
{
    uint64_t h = seed ^ len * KEY_A;
    if (len >= 16) {
        const char *last = p + len - 16;
        for (; p < last; p += 16)
            h = mix(chrome_load8(p) ^ h, chrome_load8(p + 8) ^ KEY_B);
        return mix(chrome_load8(last) ^ h, chrome_load8(last + 8) ^ KEY_A);
    }
    if (len >= 8)
        return mix(chrome_load8(p) ^ h, chrome_load8(p + len - 8) ^ KEY_A);
    uint64_t word = len ? chrome_load8(p) & (~(uint64_t)0 >> (64 - len * 8)) : 0;
    return mix(word ^ h, KEY_B);
}

static void take_slot(struct chrome_texts *texts, struct chrome_text_slot *slot, struct nl_str raw)
{
    if (texts->copies.used > MAX_COPIES) {
        nl_arena_free(&texts->copies);
        memset(texts->slots, 0, CHROME_TEXT_SLOTS * sizeof *texts->slots);
    }
    char *copy = nl_arena_alloc(&texts->copies, raw.len + 1);
    memcpy(copy, raw.ptr, raw.len);
    slot->text = copy;
    slot->len = (uint32_t)raw.len;
    slot->serial = ++texts->serial;
    slot->kept = CHROME_NOT_KEPT;
}

struct chrome_text_slot *chrome_texts_slot(struct chrome_texts *texts, struct nl_str raw,
                                           bool escaped)
{
    uint64_t hash = hash_raw(raw.ptr, raw.len, escaped);
    struct chrome_text_slot *slot = &texts->slots[hash % CHROME_TEXT_SLOTS];
    if (slot->hash == hash && slot->len == raw.len && slot->text && slot->escaped == escaped &&
        memcmp(slot->text, raw.ptr, raw.len) == 0)
        return slot;
    if (raw.len > MAX_COPY)
        return NULL;
    take_slot(texts, slot, raw);
    slot->hash = hash;
    slot->escaped = escaped;
    return slot;
}

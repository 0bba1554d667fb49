/*
 * Open addressing, power-of-two slots, load up to 1/2; a slot is (high 32 bits of the hash, id), so
 * most misses never touch the text.
 */
#include "store/dict.h"

#include "base/mem.h"

#define MAX_TEXT ((size_t)64 << 20)

static uint64_t slot_of(uint64_t hash, uint32_t id)
{
    return (hash & 0xffffffff00000000u) | id;
}

static void place(struct nl_dict *dict, uint64_t hash, uint32_t id)
{
    uint32_t mask = dict->slot_count - 1;
    uint32_t at = (uint32_t)hash & mask;
    while (dict->slots[at])
        at = (at + 1) & mask;
    dict->slots[at] = slot_of(hash, id);
}

static void rehash(struct nl_dict *dict, uint32_t slots)
{
    nl_free(dict->slots);
    dict->slots = nl_ztable(slots * sizeof *dict->slots);
    dict->slot_count = slots;
    for (uint32_t id = 1; id < dict->count; id++)
        place(dict, dict->hashes[id], id);
}

void nl_dict_init(struct nl_dict *dict)
{
    *dict = (struct nl_dict){0};
    nl_grow(&dict->offsets, &dict->offset_cap, 64);
    nl_grow(&dict->bytes, &dict->bytes_cap, 1024);
    dict->offsets[0] = dict->offsets[1] = 0;
    dict->count = 1;
    rehash(dict, 1024);
}

void nl_dict_reserve(struct nl_dict *dict, uint32_t texts)
{
    uint64_t count = (uint64_t)dict->count + texts;
    uint32_t slots = dict->slot_count;
    while (slots / 2 < count && slots < 1u << 31)
        slots *= 2;
    nl_grow(&dict->offsets, &dict->offset_cap, count + 1);
    nl_grow(&dict->hashes, &dict->hash_cap, count);
    if (slots != dict->slot_count)
        rehash(dict, slots);
}

void nl_dict_settle(struct nl_dict *dict)
{
    nl_free(dict->hashes);
    dict->hashes = NULL;
    dict->hash_cap = 0;
}

void nl_dict_release(struct nl_dict *dict)
{
    nl_free(dict->offsets);
    nl_free(dict->bytes);
    nl_free(dict->slots);
    nl_free(dict->hashes);
    *dict = (struct nl_dict){0};
}

uint32_t nl_dict_add(struct nl_dict *dict, struct nl_str text)
{
    if (text.len > MAX_TEXT)
        text.len = MAX_TEXT;
    return nl_dict_add_hashed(dict, text, nl_hash_keyed(text.ptr, text.len));
}

static uint32_t append(struct nl_dict *dict, struct nl_str text, uint64_t hash)
{
    uint32_t id = dict->count++;
    nl_grow(&dict->offsets, &dict->offset_cap, (size_t)id + 2);
    nl_grow(&dict->hashes, &dict->hash_cap, (size_t)id + 1);
    dict->hashes[id] = hash;
    uint64_t start = dict->offsets[id];
    nl_grow(&dict->bytes, &dict->bytes_cap, start + text.len);
    memcpy(dict->bytes + start, text.ptr, text.len);
    dict->offsets[id + 1] = start + text.len;
    if (dict->count > dict->slot_count / 2)
        rehash(dict, dict->slot_count * 2);
    else
        place(dict, hash, id);
    return id;
}

uint32_t nl_dict_add_hashed(struct nl_dict *dict, struct nl_str text, uint64_t hash)
{
    if (text.len == 0)
        return 0;
    uint32_t mask = dict->slot_count - 1;
    for (uint32_t at = (uint32_t)hash & mask; dict->slots[at]; at = (at + 1) & mask) {
        uint32_t id = (uint32_t)dict->slots[at];
        if (dict->slots[at] == slot_of(hash, id) && nl_str_eq(nl_dict_text(dict, id), text))
            return id;
    }
    return append(dict, text, hash);
}

uint32_t nl_dict_find(const struct nl_dict *dict, struct nl_str text)
{
    if (text.len == 0)
        return 0;
    if (!dict->slot_count) {
        for (uint32_t id = 1; id < dict->count; id++)
            if (nl_str_eq(nl_dict_text(dict, id), text))
                return id;
        return UINT32_MAX;
    }
    uint64_t hash = nl_hash_keyed(text.ptr, text.len);
    uint32_t mask = dict->slot_count - 1;
    for (uint32_t at = (uint32_t)hash & mask; dict->slots[at]; at = (at + 1) & mask) {
        uint32_t id = (uint32_t)dict->slots[at];
        if (dict->slots[at] == slot_of(hash, id) && nl_str_eq(nl_dict_text(dict, id), text))
            return id;
    }
    return UINT32_MAX;
}

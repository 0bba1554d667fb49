/*
 * dict — text to dense ids. Id 0 is "unknown" (empty). Ids are given in order of first use, so
 * group-by over a dictionary column is an array walk. Not thread-safe; one per thread, merged by
 * the builder.
 */
#ifndef NL_DICT_H
#define NL_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct nl_dict {
    uint64_t *offsets; /* count + 1 of them; text i is bytes[offsets[i] .. offsets[i+1]) */
    char *bytes;
    uint32_t count;
    size_t offset_cap, bytes_cap;
    uint64_t *slots; /* open addressing: hash high 32 bits | id */
    uint32_t slot_count;
    uint64_t *hashes; /* of every text, while texts are added */
    size_t hash_cap;
};

void nl_dict_init(struct nl_dict *dict); /* holds id 0 */
void nl_dict_release(struct nl_dict *dict);
/* Room for that many more texts, so that adding them never makes the table of slots
 * anew. Their bytes grow as they come: in memory that was freed meanwhile, which
 * costs less than fresh pages. */
void nl_dict_reserve(struct nl_dict *dict, uint32_t texts);
/* Gives back what only adding needs; nothing is added after this. */
void nl_dict_settle(struct nl_dict *dict);

/* Id of a text, adding it when new. Empty text is id 0. A text over 64 MiB is cut there. */
uint32_t nl_dict_add(struct nl_dict *dict, struct nl_str text);
/* The same when the caller has nl_hash_keyed(text) at hand. */
uint32_t nl_dict_add_hashed(struct nl_dict *dict, struct nl_str text, uint64_t hash);
/* Id of a text, or UINT32_MAX when it is not there. */
uint32_t nl_dict_find(const struct nl_dict *dict, struct nl_str text);

/* Text of an id; empty for ids out of range. Borrows. */
static inline struct nl_str nl_dict_text(const struct nl_dict *dict, uint32_t id)
{
    if (id >= dict->count)
        return (struct nl_str){"", 0};
    return (struct nl_str){dict->bytes + dict->offsets[id],
                           (size_t)(dict->offsets[id + 1] - dict->offsets[id])};
}

#endif

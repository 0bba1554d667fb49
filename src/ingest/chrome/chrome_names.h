/*
 * chrome_names — raw JSON text to name ids, quickly for texts seen before.
 *
 * A front cache compares raw bytes, so that decoding escapes, checking UTF-8 and the dictionary
 * behind it are paid once per distinct text. The cache is direct-mapped and bounded in size.
 */
#ifndef CHROME_NAMES_H
#define CHROME_NAMES_H

#include "base/mem.h"
#include "base/str.h"
#include "store/builder.h"

#define CHROME_NAME_SLOTS 8192

struct chrome_name_slot {
    uint64_t hash;
    const char *text;
    uint32_t len, id;
    bool escaped;
};

struct chrome_names {
    struct nl_stage *stage;     /* ids of this stage ... */
    struct nl_builder *builder; /* ... or, when stage is NULL, ids for every stage */
    struct chrome_name_slot *slots;
    struct nl_arena copies;
    struct nl_buf decoded;
    uint64_t bad_utf8, controls, bad_escapes; /* texts repaired */
    uint32_t last;                            /* slot of the text that was asked for last */
};

void chrome_names_init(struct chrome_names *names, struct nl_builder *builder,
                       struct nl_stage *stage);
void chrome_names_release(struct chrome_names *names);

/* Id of a raw text: `escaped` text (a JSON string's inside) is decoded, other text is taken as it
 * is. 8 bytes around the text must be readable. Empty text is 0. */
uint32_t chrome_names_id(struct chrome_names *names, struct nl_str raw, bool escaped);

/* The decoded text itself, in a buffer that lives until the next call. */
struct nl_str chrome_names_decode(struct chrome_names *names, struct nl_str raw, bool escaped);

#endif

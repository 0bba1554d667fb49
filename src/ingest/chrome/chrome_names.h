/*
 * chrome_names — raw JSON text to name ids, quickly for texts seen before.
 *
 * A cache compares raw bytes (chrome_texts), so that decoding escapes, checking UTF-8 and asking
 * the dictionary are paid once per distinct text.
 */
#ifndef CHROME_NAMES_H
#define CHROME_NAMES_H

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "ingest/chrome/chrome_texts.h"
#include "store/builder.h"

/* What can be wrong with a text; a text may have several. */
enum chrome_name_fault { CHROME_BAD_UTF8, CHROME_CONTROLS, CHROME_BAD_ESCAPES, CHROME_NAME_FAULTS };

struct chrome_name_repair {
    uint64_t hash;
    bool faults[CHROME_NAME_FAULTS];
};

struct chrome_names {
    struct nl_stage *stage;     /* ids of this stage ... */
    struct nl_builder *builder; /* ... or, when stage is NULL, ids for every stage */
    struct chrome_texts texts;  /* keep their ids */
    struct nl_buf decoded;
    struct nl_idmap repair_of; /* hash of a raw text → its row in: */
    struct chrome_name_repair *repairs;
    size_t repair_count, repair_room;
};

void chrome_names_init(struct chrome_names *names, struct nl_builder *builder,
                       struct nl_stage *stage);
void chrome_names_release(struct chrome_names *names);

/* Id of a raw text: `escaped` text (a JSON string's inside) is decoded, other text is taken as it
 * is. 8 bytes around the text must be readable. Empty text is 0. */
uint32_t chrome_names_id(struct chrome_names *names, struct nl_str raw, bool escaped);

/* The same of a text without escapes that the parser saw in a slot of `texts`. */
uint32_t chrome_names_seen(struct chrome_names *names, uint32_t slot, uint32_t serial,
                           struct nl_str raw);

/* The decoded text itself, in a buffer that lives until the next call. */
struct nl_str chrome_names_decode(struct chrome_names *names, struct nl_str raw, bool escaped);

/* Adds up what was repaired, each text once: `seen` has those that were counted before, here or in
 * the names of another worker. */
void chrome_names_count(const struct chrome_names *names, struct nl_idmap *seen,
                        uint64_t counts[CHROME_NAME_FAULTS]);

#endif

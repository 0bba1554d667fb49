/*
 * chrome_texts — raw texts of a JSON file that were seen before, recognised by comparing bytes.
 *
 * The cache is direct-mapped and bounded: each text has one slot, which the next text of the
 * same place takes. A slot keeps a number for whoever asks the same about each text, such as
 * what it is called elsewhere; the serial number tells whether a slot still has the text
 * that somebody saw in it.
 */
#ifndef CHROME_TEXTS_H
#define CHROME_TEXTS_H

#include "base/mem.h"
#include "base/str.h"

#define CHROME_TEXT_SLOTS 8192
#define CHROME_NOT_KEPT   UINT32_MAX

struct chrome_text_slot {
    uint64_t hash;
    const char *text; /* NULL: none yet */
    uint32_t len;
    uint32_t serial; /* another one for each text that takes the slot */
    uint32_t kept;   /* CHROME_NOT_KEPT when the text takes the slot */
    bool escaped;
};

struct chrome_texts {
    struct chrome_text_slot *slots;
    struct nl_arena copies;
    uint32_t serial;
};

void chrome_texts_init(struct chrome_texts *texts);
void chrome_texts_release(struct chrome_texts *texts);

/* The slot that has this text now; `escaped`: it may have escapes. 8 bytes around the text must be
 * readable. NULL: it is too long. */
struct chrome_text_slot *chrome_texts_slot(struct chrome_texts *texts, struct nl_str raw,
                                           bool escaped);

#endif

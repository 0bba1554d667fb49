/*
 * nsyswords — enumerations of Nsight Systems, with our values for them.
 */
#ifndef NL_NSYSWORDS_H
#define NL_NSYSWORDS_H

#include "export/nsysdb.h"

enum {
    NSYSDB_CATEGORY = 33,
    NSYSDB_MARK = 34,
    NSYSDB_PUSH_POP = 59,
    NSYSDB_START_END = 60,
    NSYSDB_DOMAIN = 75
}; /* eventType of NVTX_EVENTS */

struct nsysdb_word {
    uint8_t ours, number;
    const char *symbol, *label;
};

/* End with a NULL symbol. */
extern const struct nsysdb_word nsysdb_copy_kinds[], nsysdb_memory_kinds[], nsysdb_sync_kinds[],
    nsysdb_event_types[];

/* NL_NULL_I64 when there is none for our value. */
int64_t nsysdb_word_number(const struct nsysdb_word *words, unsigned ours);
/* A table ENUM_… of all of them. */
void nsysdb_words(struct nsys_db *db, const char *table, const struct nsysdb_word *words);

#endif

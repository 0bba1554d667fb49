/* nsyswords — see nsyswords.h: numbers, symbols and labels, which no release of
 * Nsight Systems has changed. */
#include "export/nsyswords.h"

const struct nsysdb_word nsysdb_copy_kinds[] = {
#define NL_COPYKIND(identifier, text, number, label, pages)                                        \
    [number] = {NL_COPY_##identifier, number, "CUDA_MEMCPY_KIND_" #identifier, label},
#include "store/copykind.def"
    [NL_COPY_COUNT] = {0, 0, NULL, NULL}};
const struct nsysdb_word nsysdb_memory_kinds[] = {
#define NL_MEMORYKIND(identifier, text, number, label)                                             \
    [number] = {NL_MEMORY_##identifier, number, "CUDA_MEMOPR_MEMORY_KIND_" #identifier, label},
#include "store/memorykind.def"
    [NL_MEMORY_COUNT] = {0, 0, NULL, NULL}};
const struct nsysdb_word nsysdb_sync_kinds[] = {
#define NL_SYNCKIND(identifier, text, number, symbol, label)                                       \
    [number] = {NL_SYNC_##identifier, number, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" symbol, label},
#include "store/synckind.def"
    [NL_SYNC_COUNT] = {0, 0, NULL, NULL}};
const struct nsysdb_word nsysdb_event_types[] = {
    {0, NSYSDB_CATEGORY, "NvtxCategory", "NvtxCategory"},
    {0, NSYSDB_MARK, "NvtxMark", "NvtxMark"},
    {0, NSYSDB_PUSH_POP, "NvtxPushPopRange", "NvtxPushPopRange"},
    {0, NSYSDB_START_END, "NvtxStartEndRange", "NvtxStartEndRange"},
    {0, NSYSDB_DOMAIN, "NvtxDomainCreate", "NvtxDomainCreate"},
    {0, 0, NULL, NULL}};

int64_t nsysdb_word_number(const struct nsysdb_word *words, unsigned ours)
{
    for (; words->symbol; words++)
        if (words->ours == ours)
            return words->number;
    return NL_NULL_I64;
}

void nsysdb_words(struct nsys_db *db, const char *table, const struct nsysdb_word *words)
{
    nsysdb_table(db, table, "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT");
    for (; words->symbol; words++) {
        nsysdb_number(db, words->number);
        nsysdb_text(db, nl_str(words->symbol));
        nsysdb_text(db, nl_str(words->label));
        nsysdb_row(db);
    }
}

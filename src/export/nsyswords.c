/* Numbers, symbols and labels as every release of Nsight Systems has them. */
#include "export/nsyswords.h"

const struct nsysdb_word nsysdb_copy_kinds[] = {
#define NL_COPYKIND(identifier, text, number, label, pages)                                        \
    [number] = {NL_COPY_##identifier, number, "CUDA_MEMCPY_KIND_" #identifier, label},
#include "store/copykind.def"
    [NL_COPY_COUNT] = {0, 0, NULL, NULL}};
const struct nsysdb_word nsysdb_memory_kinds[] = {
    {NL_MEMORY_PAGEABLE, 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
    {NL_MEMORY_PINNED, 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
    {NL_MEMORY_DEVICE, 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
    {NL_MEMORY_ARRAY, 3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
    {NL_MEMORY_MANAGED, 4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
    {NL_MEMORY_DEVICE_STATIC, 5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
    {NL_MEMORY_MANAGED_STATIC, 6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
    {NL_MEMORY_UNKNOWN, 7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"},
    {0, 0, NULL, NULL}};
const struct nsysdb_word nsysdb_sync_kinds[] = {
    {NL_SYNC_UNKNOWN, 0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
    {NL_SYNC_EVENT, 1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
    {NL_SYNC_STREAM_WAIT_EVENT, 2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
     "Stream wait sync"},
    {NL_SYNC_STREAM, 3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
    {NL_SYNC_CONTEXT, 4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"},
    {0, 0, NULL, NULL}};
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

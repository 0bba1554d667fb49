/* The table of ids: growth, overwriting, clearing; ids that hash alike. */
#include "check.h"
#include "ingest/idindex.h"

static void finds_what_was_put(void)
{
    struct id_index index = {0};
    CHECK(id_index_get(&index, 0) == ID_INDEX_NONE);
    for (uint32_t i = 0; i < 10000; i++)
        id_index_put(&index, (uint64_t)i * i << (i % 40), i);
    for (uint32_t i = 9990; i < 10000; i++)
        CHECK_INT(id_index_get(&index, (uint64_t)i * i << (i % 40)), i);
    CHECK(id_index_get(&index, UINT64_MAX) == ID_INDEX_NONE);
    id_index_put(&index, UINT64_MAX, 1);
    id_index_put(&index, UINT64_MAX, 2);
    CHECK_INT(id_index_get(&index, UINT64_MAX), 2);
    id_index_clear(&index);
    CHECK(id_index_get(&index, UINT64_MAX) == ID_INDEX_NONE && index.count == 0);
    id_index_put(&index, 0, 0);
    CHECK_INT(id_index_get(&index, 0), 0);
    id_index_release(&index);
    CHECK(id_index_get(&index, 0) == ID_INDEX_NONE);
}

CHECK_MAIN("idindex", {"finds what was put", finds_what_was_put})

/* The table of ids: growth, overwriting, clearing; ids that hash alike. */
#include "check.h"
#include "fabricate.h"
#include "ingest/lib/idindex.h"

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

/* Ids that begin large and become small, that leave gaps, and those put before the array reached
 * them. */
static void small_and_large_ids_are_one_table(void)
{
    struct id_index index = {0};
    uint32_t row[4096];
    uint64_t state = 7;
    memset(row, 0xff, sizeof row);
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t id = fabricate_random(&state) % (i < 1000 ? 4096 : 300);
        row[id] = i;
        id_index_put(&index, id, i);
    }
    for (uint32_t id = 0; id < 4096; id++)
        CHECK_INT(id_index_get(&index, id), row[id]);
    CHECK(index.count > 0 && index.small_count > 0);
    id_index_put(&index, UINT64_MAX - 1, 5);
    id_index_clear(&index);
    for (uint32_t id = 0; id < 4096; id++)
        CHECK_INT(id_index_get(&index, id), ID_INDEX_NONE);
    id_index_release(&index);
}

/* Once there are enough of them, ids that count from anywhere are places of an array. */
static void counts_from_anywhere(void)
{
    struct id_index index = {0};
    for (uint32_t i = 0; i < 5000; i++)
        id_index_put(&index, 1000 + i, i);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK_INT(id_index_get(&index, 1000 + i), i);
    CHECK_INT(id_index_get(&index, 999), ID_INDEX_NONE);
    CHECK_INT(id_index_get(&index, 6000), ID_INDEX_NONE);
    CHECK(index.count < 500 && index.count + index.small_count == 5000);
    id_index_release(&index);
}

/* A few ids after many: clearing must not cost what the many did. */
static void clearing_is_cheap(void)
{
    struct id_index index = {0};
    for (uint32_t i = 0; i < 1000000; i++)
        id_index_put(&index, i, i);
    id_index_clear(&index);
    for (uint32_t i = 0; i < 1000000; i++) {
        id_index_put(&index, 3, i);
        id_index_put(&index, UINT64_MAX / 3, i);
        id_index_clear(&index);
    }
    CHECK_INT(id_index_get(&index, 3), ID_INDEX_NONE);
    CHECK(index.small_room < 4096 && index.room < 4096);
    id_index_release(&index);
}

CHECK_MAIN("idindex", {"finds what was put", finds_what_was_put},
           {"small and large ids are one table", small_and_large_ids_are_one_table},
           {"counts from anywhere", counts_from_anywhere}, {"clearing is cheap", clearing_is_cheap})

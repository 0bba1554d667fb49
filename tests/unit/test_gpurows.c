/* The map of ids that readers of GPU tables share: small and large keys, values that stay. */
#include "check.h"
#include "fabricate.h"

#include "ingest/lib/gpurows.h"

static void keeps_the_first_value(void)
{
    struct gpurows_map map = {0};
    bool made;
    CHECK(!gpurows_map_find(&map, 0));
    CHECK_INT(*gpurows_map_put(&map, 5, 50, &made), 50);
    CHECK(made);
    CHECK_INT(*gpurows_map_put(&map, 5, 51, &made), 50);
    CHECK(!made);
    CHECK_INT(*gpurows_map_put(&map, UINT64_MAX, 52, &made), 52);
    CHECK(made);
    CHECK_INT(*gpurows_map_put(&map, UINT64_MAX, 53, NULL), 52);
    *gpurows_map_put(&map, 5, 0, NULL) = 54;
    CHECK_INT(*gpurows_map_find(&map, 5), 54);
    CHECK_INT(map.count, 2);
    gpurows_map_release(&map);
    CHECK(!gpurows_map_find(&map, 5));
}

/* Keys that begin far apart and become dense: those of the table stay there, and are found. */
static void small_and_large_keys_are_one_map(void)
{
    enum { KEYS = 8192 };
    struct gpurows_map map = {0};
    static uint64_t value[KEYS];
    uint64_t state = 11, count = 0;
    for (uint64_t i = 1; i <= 40000; i++) {
        uint64_t key = fabricate_random(&state) % (i < 500 ? KEYS : 700);
        bool made;
        uint64_t *at = gpurows_map_put(&map, key, i, &made);
        CHECK(made == (value[key] == 0));
        value[key] = made ? i : value[key];
        count += made;
        CHECK_INT(*at, value[key]);
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        const uint64_t *found = gpurows_map_find(&map, key);
        CHECK_INT(found ? *found : 0, value[key]);
    }
    CHECK(map.small_count > 0 && map.pair_count > 0);
    CHECK_INT(map.count, count);
    gpurows_map_release(&map);
}

CHECK_MAIN("gpurows", {"keeps the first value", keeps_the_first_value},
           {"small and large keys are one map", small_and_large_keys_are_one_map})

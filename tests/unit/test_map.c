/* Maps of numbers and texts, and rows found by their own keys: against arrays that are walked. */
#include "base/map.h"
#include "check.h"
#include "fabricate.h"

static void finds_what_was_put(void)
{
    struct nl_idmap map = {0};
    CHECK(nl_idmap_get(&map, 0) == NL_NO_ROW);
    for (uint32_t i = 0; i < 10000; i++)
        nl_idmap_put(&map, (uint64_t)i * i << (i % 40), i);
    for (uint32_t i = 9990; i < 10000; i++)
        CHECK_INT(nl_idmap_get(&map, (uint64_t)i * i << (i % 40)), i);
    CHECK(nl_idmap_get(&map, UINT64_MAX) == NL_NO_ROW);
    nl_idmap_put(&map, UINT64_MAX, 1);
    nl_idmap_put(&map, UINT64_MAX, 2);
    CHECK_INT(nl_idmap_get(&map, UINT64_MAX), 2);
    nl_idmap_clear(&map);
    CHECK(nl_idmap_get(&map, UINT64_MAX) == NL_NO_ROW && map.count == 0);
    nl_idmap_put(&map, 0, 0);
    CHECK_INT(nl_idmap_get(&map, 0), 0);
    nl_idmap_release(&map);
    CHECK(nl_idmap_get(&map, 0) == NL_NO_ROW);
}

/* Ids that begin large and become small, that leave gaps, and those put before the array reached
 * them. */
static void small_and_large_ids_are_one_table(void)
{
    struct nl_idmap map = {0};
    uint32_t row[4096];
    uint64_t state = 7;
    memset(row, 0xff, sizeof row);
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t id = fabricate_random(&state) % (i < 1000 ? 4096 : 300);
        row[id] = i;
        nl_idmap_put(&map, id, i);
    }
    for (uint32_t id = 0; id < 4096; id++)
        CHECK_INT(nl_idmap_get(&map, id), row[id]);
    CHECK(map.count > 0 && map.small_count > 0);
    nl_idmap_put(&map, UINT64_MAX - 1, 5);
    nl_idmap_clear(&map);
    for (uint32_t id = 0; id < 4096; id++)
        CHECK_INT(nl_idmap_get(&map, id), NL_NO_ROW);
    nl_idmap_release(&map);
}

/* Once there are enough of them, ids that count from anywhere are places of an array. */
static void counts_from_anywhere(void)
{
    struct nl_idmap map = {0};
    for (uint32_t i = 0; i < 5000; i++)
        nl_idmap_put(&map, 1000 + i, i);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK_INT(nl_idmap_get(&map, 1000 + i), i);
    CHECK_INT(nl_idmap_get(&map, 999), NL_NO_ROW);
    CHECK_INT(nl_idmap_get(&map, 6000), NL_NO_ROW);
    CHECK(map.count < 500 && map.count + map.small_count == 5000);
    nl_idmap_release(&map);
}

/* A few ids after many: clearing must not cost what the many did. */
static void clearing_is_cheap(void)
{
    struct nl_idmap map = {0};
    for (uint32_t i = 0; i < 1000000; i++)
        nl_idmap_put(&map, i, i);
    nl_idmap_clear(&map);
    for (uint32_t i = 0; i < 1000000; i++) {
        nl_idmap_put(&map, 3, i);
        nl_idmap_put(&map, UINT64_MAX / 3, i);
        nl_idmap_clear(&map);
    }
    CHECK_INT(nl_idmap_get(&map, 3), NL_NO_ROW);
    CHECK(map.small_room < 4096 && map.room < 4096);
    nl_idmap_release(&map);
}

/* Numbers near and far, put and removed in turn: what an array says is there, and nothing else. */
static void removes(void)
{
    enum { KEYS = 512 };
    struct nl_idmap map = {0};
    uint32_t row[KEYS];
    uint64_t state = 11;
    memset(row, 0xff, sizeof row);
    for (uint32_t i = 0; i < 40000; i++) {
        uint64_t at = fabricate_random(&state) % KEYS, key = at < 100 ? at : at << 40;
        if (fabricate_random(&state) % 3) {
            nl_idmap_put(&map, key, row[at] = i);
        } else {
            nl_idmap_remove(&map, key);
            row[at] = NL_NO_ROW;
        }
    }
    size_t there = 0, wrong = 0;
    for (uint64_t at = 0; at < KEYS; at++) {
        wrong += nl_idmap_get(&map, at < 100 ? at : at << 40) != row[at];
        there += row[at] != NL_NO_ROW;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(map.count + map.small_count, there);
    CHECK_INT(nl_idmap_get_or_put(&map, (uint64_t)600 << 40, 77), 77);
    CHECK_INT(nl_idmap_get_or_put(&map, (uint64_t)600 << 40, 78), 77);
    nl_idmap_release(&map);
}

/* Pairs whose hashes are equal on purpose are told apart by what `same` says. */
static void rows_by_their_keys(void)
{
    enum { ROWS = 3000 };
    struct {
        uint64_t a, b;
    } items[ROWS] = {{0, 0}};
    struct nl_lookup lookup = {0};
    uint32_t count = 0;
    CHECK_INT(NL_LOOKUP(&lookup, 5, i, items[i].a == 5), NL_NO_ROW);
    for (uint64_t n = 0; n < 4 * ROWS; n++) {
        uint64_t a = n % 60, b = n * 7 % ROWS / 60, hash = a == 3 ? 42 : nl_hash_pair(a, b);
        uint32_t row = NL_LOOKUP(&lookup, hash, i, items[i].a == a && items[i].b == b);
        if (row == NL_NO_ROW) {
            items[row = count++].a = a;
            items[row].b = b;
            nl_lookup_add(&lookup, hash, row);
        }
        CHECK(items[row].a == a && items[row].b == b);
    }
    size_t twins = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            twins += items[i].a == items[j].a && items[i].b == items[j].b;
    CHECK_INT(twins, 0);
    CHECK_INT(lookup.count, count);
    nl_lookup_clear(&lookup);
    CHECK_INT(NL_LOOKUP(&lookup, 42, i, true), NL_NO_ROW);
    nl_lookup_release(&lookup);
}

CHECK_MAIN("map", {"finds what was put", finds_what_was_put},
           {"small and large keys are one table", small_and_large_ids_are_one_table},
           {"counts from anywhere", counts_from_anywhere}, {"clearing is cheap", clearing_is_cheap},
           {"removes", removes}, {"rows by their keys", rows_by_their_keys})

/* dict: texts to dense ids and back. */
#include "check.h"

#include "store/dict.h"

static void ids_are_dense(void)
{
    struct nl_dict dict;
    nl_dict_init(&dict);
    CHECK_INT(dict.count, 1);
    CHECK_STR(nl_dict_text(&dict, 0), "");
    CHECK_INT(nl_dict_add(&dict, nl_str("")), 0);
    CHECK_INT(nl_dict_add(&dict, nl_str("a")), 1);
    CHECK_INT(nl_dict_add(&dict, nl_str("b")), 2);
    CHECK_INT(nl_dict_add(&dict, nl_str("a")), 1);
    CHECK_INT(nl_dict_add_hashed(&dict, nl_str("b"), nl_hash("b", 1)), 2);
    CHECK_INT(nl_dict_find(&dict, nl_str("b")), 2);
    CHECK_INT(nl_dict_find(&dict, nl_str("c")), UINT32_MAX);
    CHECK_STR(nl_dict_text(&dict, 2), "b");
    CHECK_STR(nl_dict_text(&dict, 99), "");
    nl_dict_release(&dict);
}

static void holds_many(void)
{
    enum { MANY = 50000 };
    struct nl_dict dict;
    char text[32];
    nl_dict_init(&dict);
    for (uint32_t i = 0; i < MANY; i++) {
        int len = snprintf(text, sizeof text, "name %u", i * 7919u);
        CHECK_INT(nl_dict_add(&dict, (struct nl_str){text, (size_t)len}), i + 1);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "name %u", i * 7919u);
        CHECK_INT(nl_dict_find(&dict, nl_str(text)), i + 1);
        CHECK_STR(nl_dict_text(&dict, i + 1), text);
    }
    nl_dict_release(&dict);
}

static void holds_any_bytes(void)
{
    struct nl_dict dict;
    nl_dict_init(&dict);
    struct nl_str a = {"x\0y", 3}, b = {"x\0z", 3}, c = {"x", 1};
    uint32_t ids[] = {nl_dict_add(&dict, a), nl_dict_add(&dict, b), nl_dict_add(&dict, c)};
    CHECK(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    CHECK(nl_str_eq(nl_dict_text(&dict, ids[1]), b));
    nl_dict_release(&dict);
}

/* Room made before or between; hashes given by another dictionary; found after settling. */
static void reserves_and_settles(void)
{
    enum { MANY = 3000 };
    struct nl_dict dict, other;
    char text[32];
    nl_dict_init(&dict);
    nl_dict_init(&other);
    nl_dict_add(&dict, nl_str("first"));
    nl_dict_reserve(&dict, MANY);
    uint32_t slots = dict.slot_count;
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "name %u", i);
        uint32_t id = nl_dict_add(&other, nl_str(text));
        CHECK_INT(nl_dict_add_hashed(&dict, nl_dict_text(&other, id), other.hashes[id]), i + 2);
    }
    CHECK_INT(dict.slot_count, slots);
    CHECK_INT(nl_dict_add(&dict, nl_str("first")), 1);
    nl_dict_settle(&dict);
    CHECK_INT(nl_dict_find(&dict, nl_str("first")), 1);
    CHECK_INT(nl_dict_find(&dict, nl_str("name 2999")), MANY + 1);
    CHECK_INT(nl_dict_find(&dict, nl_str("name 3000")), UINT32_MAX);
    nl_dict_release(&dict);
    nl_dict_release(&other);
}

CHECK_MAIN("dict", {"ids are dense", ids_are_dense}, {"holds many", holds_many},
           {"holds any bytes", holds_any_bytes}, {"reserves and settles", reserves_and_settles})

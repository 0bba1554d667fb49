/* picklewatch: what is taken while a pickle is read, and what is left, is what the pickle holds. */
#include "check.h"

#include "ingest/torch/picklewatch.h"
#include "ingest/torch/pickle.h"

/* An item {"a": [n], "t": ("x", "y")}; its keys come from the memo (0 and 1), its tuple is new. */
#define ITEM(n)   "}(h\0]K" n "ah\1h\2h\3\x86u"
#define SHARED(n) "}(h\0]q\7K" n "au" /* its list is memoised */
#define AGAIN     "}(h\0h\7u"         /* and got again */
#define HEAD                                                                                       \
    "\x80\2}(X\4\0\0\0nameX\1\0\0\0aq\0X\5\0\0\0extra(X\1\0\0\0tq\1X\1\0\0\0xq\2X\1\0\0\0yq\3l"    \
    "X\7\0\0\0entries"

struct seen {
    struct pickle *pickle;
    bool ready;
    uint32_t count;
    int64_t numbers[64];
    size_t lists[64];
    size_t memo_blocks; /* at most, when an item was taken */
};

static bool is_ready(void *context, const struct pickle *pickle)
{
    const struct seen *seen = context;
    CHECK_STR(pickle_text(pickle, pickle_so_far(pickle, "name")), "a");
    CHECK_INT(pickle_type(pickle_so_far(pickle, "nothing")), PICKLE_NONE);
    return seen->ready;
}

/* The number in an item. */
static int64_t number_of(const struct pickle *p, const struct pickle_value *pairs, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2)
        if (nl_str_is(pickle_text(p, pairs[i]), "t"))
            CHECK_STR(pickle_text(p, pickle_item(p, pairs[i + 1], 1)), "y");
    CHECK_STR(pickle_text(p, count ? pairs[0] : (struct pickle_value){0}), "a");
    return count ? pickle_i64(p, pickle_item(p, pairs[1], 0)) : -1;
}

static void take(void *context, size_t list, const struct pickle_value *pairs, size_t count)
{
    struct seen *seen = context;
    CHECK(seen->count < 64);
    if (seen->pickle->memo.held > seen->memo_blocks)
        seen->memo_blocks = seen->pickle->memo.held;
    seen->lists[seen->count % 64] = list;
    seen->numbers[seen->count++ % 64] = number_of(seen->pickle, pairs, count);
}

/* Items in the list that were not taken; in a pickle that was read again, all. */
static void take_rest(struct seen *seen, struct pickle_value list)
{
    const struct pickle *p = seen->pickle;
    for (size_t i = p->lost ? p->taken : 0; i < pickle_count(p, list); i++) {
        size_t count;
        const struct pickle_value *pairs =
            pickle_pairs(p, pickle_item(p, list, (uint32_t)i), &count);
        take(seen, 0, pairs, count);
    }
}

struct watched {
    struct pickle pickle;
    struct seen seen;
    struct nl_err err;
    bool done;
};

static void run(struct watched *it, const void *program, size_t len, bool ready, bool nested)
{
    *it = (struct watched){.seen = {.pickle = &it->pickle, .ready = ready}};
    const struct pickle_watch watch = {.key = "entries",
                                       .nested = nested,
                                       .keep = nested,
                                       .ready = nested ? NULL : is_ready,
                                       .take = take,
                                       .context = &it->seen};
    nl_err_clear(&it->err);
    it->done = pickle_read_watched(&it->pickle, program, len, &watch, NULL, &it->err);
}

static struct pickle_value entries_of(const struct watched *it)
{
    return pickle_get(&it->pickle, it->pickle.root, "entries");
}

#define SIMPLE                                                                                     \
    HEAD "](" ITEM("\1") ITEM("\2") ITEM("\3") "e(" ITEM("\4") ITEM("\5") "e" ITEM("\6") "au."

static void items_are_taken_in_order(void)
{
    struct watched it;
    run(&it, SIMPLE, sizeof SIMPLE - 1, true, false);
    REQUIRE(it.done);
    CHECK_INT(it.seen.count, 5);
    CHECK_INT(it.pickle.taken, 5);
    CHECK(!it.pickle.lost);
    take_rest(&it.seen, entries_of(&it)); /* one that came alone */
    CHECK_INT(it.seen.count, 6);
    for (uint32_t i = 0; i < it.seen.count; i++)
        CHECK_INT(it.seen.numbers[i], i + 1);
    pickle_free(&it.pickle);
}

static void nothing_is_taken_before_its_time(void)
{
    struct watched it;
    run(&it, SIMPLE, sizeof SIMPLE - 1, false, false);
    REQUIRE(it.done);
    CHECK_INT(it.seen.count, 0);
    CHECK_INT(pickle_count(&it.pickle, entries_of(&it)), 6);
    take_rest(&it.seen, entries_of(&it));
    for (uint32_t i = 0; i < it.seen.count; i++)
        CHECK_INT(it.seen.numbers[i], i + 1);
    pickle_free(&it.pickle);
}

/* Wherever it ends: a start of the items, each once, and none that is half there but the last. */
static void cut_programs_give_a_start(void)
{
    uint32_t before = 0;
    for (size_t len = sizeof HEAD + 3; len < sizeof SIMPLE - 1; len++) {
        struct watched it;
        run(&it, SIMPLE, len, true, false);
        if (!it.done)
            continue;
        CHECK(it.pickle.cut);
        uint32_t left = pickle_count(&it.pickle, entries_of(&it));
        CHECK(it.seen.count + left >= before && it.seen.count + left <= 6 && left <= 2);
        before = it.seen.count + left;
        for (uint32_t i = 0; i < it.seen.count; i++)
            CHECK_INT(it.seen.numbers[i], i + 1);
        pickle_free(&it.pickle);
    }
    CHECK_INT(before, 6);
}

/* The list of the first item is in a later one, too. */
static void what_was_forgotten_is_read_again(void)
{
    static const char program[] =
        HEAD "](" SHARED("\1") ITEM("\2") ITEM("\3") AGAIN ITEM("\5") "eu.";
    static const int64_t want[] = {1, 2, 3, 1, 5};
    struct watched it;
    run(&it, program, sizeof program - 1, true, false);
    REQUIRE(it.done);
    CHECK(it.pickle.lost);
    CHECK_INT(it.seen.count, 3);
    CHECK_INT(pickle_count(&it.pickle, entries_of(&it)), 5);
    take_rest(&it.seen, entries_of(&it));
    REQUIRE(it.seen.count == CHECK_LENGTH(want));
    for (uint32_t i = 0; i < it.seen.count; i++)
        CHECK_INT(it.seen.numbers[i], want[i]);
    pickle_free(&it.pickle);
}

/* In lists of lists items alone are forgotten: what they share stays. */
static void lists_of_lists_keep_what_is_shared(void)
{
    static const char alone[] = HEAD "]](" SHARED("\1") AGAIN ITEM("\3") "eau.";
    static const char among[] = HEAD "](](" SHARED("\1") ITEM("\2") "e](" AGAIN ITEM("\4") "eeu.";
    static const int64_t numbers[] = {1, 2, 1, 4};
    struct watched it;
    run(&it, alone, sizeof alone - 1, true, true);
    REQUIRE(it.done);
    CHECK(!it.pickle.lost);
    CHECK_INT(it.seen.count, 3);
    pickle_free(&it.pickle);
    run(&it, among, sizeof among - 1, true, true);
    REQUIRE(it.done);
    CHECK_INT(it.seen.count, 4);
    for (uint32_t i = 0; i < it.seen.count; i++) {
        CHECK_INT(it.seen.numbers[i], numbers[i]);
        CHECK_INT(it.seen.lists[i], i / 2);
    }
    pickle_free(&it.pickle);
}

#define MANY_ITEMS 40
#define MANY_LISTS 60
#define WITH_TEXT  6

/* The number under which an item's list is memoised; the text is before those of item WITH_TEXT. */
static uint32_t memo_number(int item, int list)
{
    return (uint32_t)(4 + MANY_LISTS * item + list + (item >= WITH_TEXT));
}

/* Items whose many lists are memoised, one with a text among them; the last gets (or puts, by
 * `code`) something of them. */
static size_t many_lists(char *program, char code, uint32_t number)
{
    char *to = program;
#define PUT(bytes) (memcpy(to, bytes, sizeof(bytes) - 1), to += sizeof(bytes) - 1)
    PUT(HEAD "](");
    for (int i = 0; i < MANY_ITEMS; i++) {
        PUT("}(h\0]K");
        *to++ = (char)i;
        PUT("ah\2](");
        if (i == WITH_TEXT)
            PUT("X\1\0\0\0z\x94");
        for (int k = 0; k < MANY_LISTS; k++)
            PUT("]\x94");
        if (i == MANY_ITEMS - 1) {
            *to++ = code;
            memcpy(to, &number, sizeof number);
            to += sizeof number;
        }
        PUT("eu");
    }
    PUT("eu.");
#undef PUT
    return (size_t)(to - program);
}

static void what_is_forgotten_takes_no_memory(void)
{
    const struct {
        char code;
        uint32_t number;
        bool lost;
    } runs[] = {{'j', memo_number(WITH_TEXT, -1), false}, /* the text stays */
                {'j', memo_number(MANY_ITEMS - 1, 0), false},
                {'j', memo_number(20, 5), true},
                {'r', memo_number(20, 5), true}};
    static char program[MANY_ITEMS * (MANY_LISTS * 2 + 64)];
    for (size_t i = 0; i < CHECK_LENGTH(runs); i++) {
        struct watched it;
        size_t len = many_lists(program, runs[i].code, runs[i].number);
        run(&it, program, len, true, false);
        REQUIRE(it.done);
        CHECK_INT(it.pickle.lost, runs[i].lost);
        CHECK(it.seen.memo_blocks <= 4); /* the first, the text's, the last two */
        take_rest(&it.seen, entries_of(&it));
        CHECK_INT(it.seen.count, MANY_ITEMS);
        for (uint32_t k = 0; k < it.seen.count; k++)
            CHECK_INT(it.seen.numbers[k], k);
        pickle_free(&it.pickle);
    }
}

CHECK_MAIN("picklewatch", {"items are taken in order", items_are_taken_in_order},
           {"nothing is taken before its time", nothing_is_taken_before_its_time},
           {"cut programs give a start", cut_programs_give_a_start},
           {"what was forgotten is read again", what_was_forgotten_is_read_again},
           {"what is forgotten takes no memory", what_is_forgotten_takes_no_memory},
           {"lists of lists keep what is shared", lists_of_lists_keep_what_is_shared})

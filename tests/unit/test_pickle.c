/* pickle: keys of dictionaries, found by place where they were before and by text elsewhere. */
#include "check.h"

#include "ingest/torch/pickle.h"

/* A list of dictionaries; a text begins with its length. Keys are memoised
 * (q) and got again (h). */
static const char program[] = "\x80\x02](}(X\x01\0\0\0aq\0K\x01X\x01\0\0\0bq\x01K\x02u"
                              "}(h\0K\x03h\x01K\x04u"                     /* by the memo */
                              "}(h\x01K\x05h\0K\x06u"                     /* the other order */
                              "}(X\x01\0\0\0aK\x07X\x01\0\0\0bM\x00\x01u" /* texts of their own */
                              "}(h\x01K\x08u"                             /* without a */
                              "}(h\0K\x09u"
                              "e.";

static void keys_are_found_wherever_they_are(void)
{
    static const struct {
        int64_t a, b;
    } want[] = {{1, 2}, {3, 4}, {6, 5}, {7, 256}, {INT64_MIN, 8}, {9, INT64_MIN}};
    struct pickle pickle;
    struct nl_err err;
    nl_err_clear(&err);
    REQUIRE(pickle_read(&pickle, program, sizeof program - 1, NULL, &err));
    CHECK(!pickle.cut);
    REQUIRE(pickle_count(&pickle, pickle.root) == CHECK_LENGTH(want));
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t i = 0; i < CHECK_LENGTH(want); i++) {
            struct pickle_value dict = pickle_item(&pickle, pickle.root, i);
            CHECK_INT(pickle_i64(&pickle, pickle_get(&pickle, dict, "a")), want[i].a);
            CHECK_INT(pickle_i64(&pickle, pickle_get(&pickle, dict, "b")), want[i].b);
        }
    pickle_free(&pickle);
}

/* Wherever it ends, what is whole is there, and never a value from beyond the end. */
static void cut_programs_hold_less(void)
{
    uint32_t before = 0;
    for (size_t len = 4; len < sizeof program - 1; len++) {
        struct pickle pickle;
        struct nl_err err;
        nl_err_clear(&err);
        if (!pickle_read(&pickle, program, len, NULL, &err))
            continue;
        CHECK(pickle.cut);
        uint32_t count = pickle_count(&pickle, pickle.root);
        CHECK(count >= before && count <= 6);
        before = count;
        pickle_free(&pickle);
    }
    CHECK_INT(before, 6);
}

/* Numbers may be left out of the memo, 65,536 in a row and no more, whether or
 * not the entry is asked for. */
static void memos_have_few_gaps(void)
{
    static const struct {
        const char *program;
        bool good;
    } programs[] = {{"\x80\x02]r\x01\x01\x01\x01.", false},
                    {"\x80\x02]r\x01\x01\x01\x00.", false},
                    {"\x80\x02]r\x01\x00\x01\x00.", false},
                    {"\x80\x02]r\x00\x00\x01\x00.", true},
                    {"\x80\x02]q\xff.", true}};
    for (size_t i = 0; i < CHECK_LENGTH(programs); i++) {
        struct pickle pickle;
        struct nl_err err;
        size_t len = i < 4 ? 9 : 6;
        nl_err_clear(&err);
        CHECK_INT(pickle_read(&pickle, programs[i].program, len, NULL, &err), programs[i].good);
        if (programs[i].good)
            pickle_free(&pickle);
        else
            CHECK_INT(err.code, NL_FORMAT);
    }
}

/* Memo entries that are not there. */
static void lost_memos_are_refused(void)
{
    static const char *const programs[] = {"\x80\x02]h\x07"
                                           "a.",
                                           "\x80\x02]j\x07\x07\x07\x07"
                                           "a."};
    for (size_t i = 0; i < CHECK_LENGTH(programs); i++) {
        struct pickle pickle;
        struct nl_err err;
        nl_err_clear(&err);
        CHECK(!pickle_read(&pickle, programs[i], strlen(programs[i]), NULL, &err));
        CHECK_INT(err.code, NL_FORMAT);
    }
}

/* Every way to write a number, one after the other in a list, so that what
 * follows is not nought. */
static void numbers_have_their_own_length(void)
{
    static const char numbers[] = "\x80\x02](K\xff"
                                  "M\xfe\xff"
                                  "J\x01\x02\x03\x84"
                                  "J\x01\x02\x03\x04"
                                  "K\x05"
                                  "\x8a\x00"
                                  "\x8a\x02\xff\xfe"
                                  "\x8b\x02\0\0\0\xff\x7e"
                                  "\x8a\x08\x01\0\0\0\0\0\0\x80"
                                  "M\x01\x01"
                                  "e.";
    static const int64_t want[] = {255, 65534, -2080177663, 67305985,      5,
                                   0,   -257,  32511,       INT64_MIN + 1, 257};
    struct pickle pickle;
    struct nl_err err;
    nl_err_clear(&err);
    REQUIRE(pickle_read(&pickle, numbers, sizeof numbers - 1, NULL, &err));
    REQUIRE(pickle_count(&pickle, pickle.root) == CHECK_LENGTH(want));
    for (uint32_t i = 0; i < CHECK_LENGTH(want); i++)
        CHECK_INT(pickle_i64(&pickle, pickle_item(&pickle, pickle.root, i)), want[i]);
    pickle_free(&pickle);
}

CHECK_MAIN("pickle", {"keys are found wherever they are", keys_are_found_wherever_they_are},
           {"cut programs hold less", cut_programs_hold_less},
           {"memos have few gaps", memos_have_few_gaps},
           {"lost memos are refused", lost_memos_are_refused},
           {"numbers have their own length", numbers_have_their_own_length})

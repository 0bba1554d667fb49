/* Which part of one side is which of the other (compare/diffpair.c), and what changed of it: every
 * way to pair, the limits of each, and divided changes that were worked out by hand. */
#include "check.h"
#include "compare/diffinner.h"
#include "compare/diffpair.h"
#include "compare/diffparts.h"
#include "gputrace.h"

#define MOST_PARTS 5
#define UNKNOWN    NL_NULL_U64

/* A part in a few words; without a name there is none. */
struct spec {
    const char *name, *owner;
    uint8_t category;
    int64_t mean, gross;
    uint64_t count;
    enum diff_group group;
};

static void fill(struct diff_parts *parts, const struct spec *specs)
{
    *parts = (struct diff_parts){0};
    for (size_t i = 0; i < MOST_PARTS && specs[i].name; i++) {
        struct diff_part *part = diff_part_add(parts, specs[i].group, nl_str(specs[i].name));
        part->owner = nl_str(specs[i].owner ? specs[i].owner : "");
        part->category = specs[i].category;
        part->mean = specs[i].mean;
        part->gross = specs[i].gross;
        part->count = specs[i].count;
        for (int64_t k = 0; k < DIFF_BLOCKS; k++)
            part->blocks[k] = specs[i].mean * (k + 1);
    }
}

/* Parts of both sides, paired. */
struct pair {
    struct diff_parts base, changed;
    struct diff_rows rows;
};

static void pair_specs(struct pair *pair, const struct spec *base, const struct spec *changed,
                       uint64_t base_units, uint64_t changed_units)
{
    struct diff_side a = {.units = base_units}, b = {.units = changed_units};
    *pair = (struct pair){0};
    fill(&pair->base, base);
    fill(&pair->changed, changed);
    diff_pair(&pair->rows, &a, &pair->base, &b, &pair->changed, false);
}

static void release(struct pair *pair)
{
    diff_rows_release(&pair->rows);
    diff_parts_release(&pair->base);
    diff_parts_release(&pair->changed);
}

static void words(void)
{
    static const char *const matches[DIFF_MATCHES] = {
        "same",    "renamed", "fused", "split", "replaced", "replaced, by category",
        "removed", "added"};
    static const char *const groups[DIFF_GROUPS] = {"compute", "exposed communication",
                                                    "exposed copies", "idle", "self"};
    for (size_t i = 0; i < DIFF_MATCHES; i++)
        CHECK_TEXT(diff_match_text((enum diff_match)i), matches[i]);
    for (size_t i = 0; i < DIFF_GROUPS; i++)
        CHECK_TEXT(diff_group_text((enum diff_group)i), groups[i]);
}

/* One row, or where nothing pairs two: removed and added. */
#define APART DIFF_MATCHES

static void ways_to_pair(void)
{
    static const struct {
        const char *what;
        struct spec base[MOST_PARTS], changed[MOST_PARTS];
        enum diff_match match;
        const char *base_name, *changed_name;
    } cases[] = {
        {"same name", {{.name = "a"}}, {{.name = "a"}}, DIFF_SAME, "a", "a"},
        {"same name of another group",
         {{.name = "a", .group = DIFF_COMPUTE}},
         {{.name = "a", .group = DIFF_COMM}},
         APART,
         "a",
         "a"},
        {"other name", {{.name = "a"}}, {{.name = "b"}}, APART, "a", "b"},
        {"one signature",
         {{.name = "f(int)"}},
         {{.name = "f(long)"}},
         DIFF_RENAMED,
         "f(int)",
         "f(long)"},
        {"one signature of another group",
         {{.name = "f(int)", .group = DIFF_COMPUTE}},
         {{.name = "f(long)", .group = DIFF_COMM}},
         APART,
         "f(int)",
         "f(long)"},
        {"signatures that are empty", {{.name = "void "}}, {{.name = ""}}, APART, "void ", ""},
        {"several of one signature",
         {{.name = "f(int)"}, {.name = "f(char)"}},
         {{.name = "f(long)"}},
         DIFF_RENAMED,
         "f",
         "f(long)"},
        {"one operator",
         {{.name = "a", .owner = "o"}},
         {{.name = "b", .owner = "o"}},
         DIFF_REPLACED,
         "a",
         "b"},
        {"two operators",
         {{.name = "a", .owner = "o"}},
         {{.name = "b", .owner = "p"}},
         APART,
         "a",
         "b"},
        {"one operator of other groups",
         {{.name = "a", .owner = "o", .group = DIFF_COMPUTE}},
         {{.name = "b", .owner = "o", .group = DIFF_COMM}},
         APART,
         "a",
         "b"},
        {"one operator of two categories",
         {{.name = "a", .owner = "o", .category = NL_CATEGORY_GEMM}},
         {{.name = "b", .owner = "o", .category = NL_CATEGORY_REDUCTION}},
         DIFF_REPLACED,
         "a",
         "b"},
        {"several became one",
         {{.name = "b", .owner = "o"}, {.name = "a", .owner = "o"}},
         {{.name = "c", .owner = "o"}},
         DIFF_FUSED,
         "a + b",
         "c"},
        {"one became several",
         {{.name = "c", .owner = "o"}},
         {{.name = "b", .owner = "o"}, {.name = "a", .owner = "o"}},
         DIFF_SPLIT,
         "c",
         "a + b"},
        {"several became several",
         {{.name = "d", .owner = "o"}, {.name = "c", .owner = "o"}},
         {{.name = "b", .owner = "o"}, {.name = "a", .owner = "o"}},
         DIFF_REPLACED,
         "c + d",
         "a + b"},
        {"three are named",
         {{.name = "c", .owner = "o"}, {.name = "b", .owner = "o"}, {.name = "a", .owner = "o"}},
         {{.name = "x", .owner = "o"}},
         DIFF_FUSED,
         "a + b + c",
         "x"},
        {"of five three are named",
         {{.name = "e", .owner = "o"},
          {.name = "d", .owner = "o"},
          {.name = "c", .owner = "o"},
          {.name = "b", .owner = "o"},
          {.name = "a", .owner = "o"}},
         {{.name = "x", .owner = "o"}},
         DIFF_FUSED,
         "a + b + c + 2 more",
         "x"},
        {"one category",
         {{.name = "a", .category = NL_CATEGORY_GEMM}},
         {{.name = "b", .category = NL_CATEGORY_GEMM}},
         DIFF_REPLACED_CATEGORY,
         "a",
         "b"},
        {"one category, several",
         {{.name = "a", .category = NL_CATEGORY_GEMM}},
         {{.name = "c", .category = NL_CATEGORY_GEMM}, {.name = "b", .category = NL_CATEGORY_GEMM}},
         DIFF_REPLACED_CATEGORY,
         "a",
         "b + c"},
        {"two categories",
         {{.name = "a", .category = NL_CATEGORY_GEMM}},
         {{.name = "b", .category = NL_CATEGORY_REDUCTION}},
         APART,
         "a",
         "b"},
        {"one category of other groups",
         {{.name = "a", .category = NL_CATEGORY_GEMM, .group = DIFF_COMPUTE}},
         {{.name = "b", .category = NL_CATEGORY_GEMM, .group = DIFF_HOST}},
         APART,
         "a",
         "b"},
        {"a category that says nothing",
         {{.name = "a", .category = NL_CATEGORY_OTHER}},
         {{.name = "b", .category = NL_CATEGORY_OTHER}},
         APART,
         "a",
         "b"},
        {"idle of one signature",
         {{.name = "f(int)", .group = DIFF_IDLE}},
         {{.name = "f(long)", .group = DIFF_IDLE}},
         APART,
         "f(int)",
         "f(long)"},
        {"idle of one operator and category",
         {{.name = "a", .owner = "o", .category = NL_CATEGORY_GEMM, .group = DIFF_IDLE}},
         {{.name = "b", .owner = "o", .category = NL_CATEGORY_GEMM, .group = DIFF_IDLE}},
         APART,
         "a",
         "b"},
        {"idle of one name",
         {{.name = "a", .group = DIFF_IDLE}},
         {{.name = "a", .group = DIFF_IDLE}},
         DIFF_SAME,
         "a",
         "a"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct pair pair;
        check_case(cases[i].what);
        pair_specs(&pair, cases[i].base, cases[i].changed, 1, 1);
        if (cases[i].match == APART) { /* neither has any time: in the order of groups and names */
            REQUIRE(pair.rows.count == 2);
            size_t removed = pair.rows.items[0].match == DIFF_REMOVED ? 0 : 1;
            CHECK_INT(pair.rows.items[removed].match, DIFF_REMOVED);
            CHECK_INT(pair.rows.items[1 - removed].match, DIFF_ADDED);
            CHECK_STR(pair.rows.items[removed].base, cases[i].base_name);
            CHECK_STR(pair.rows.items[1 - removed].changed, cases[i].changed_name);
            CHECK(!pair.rows.items[removed].changed.ptr && !pair.rows.items[1 - removed].base.ptr);
        } else {
            REQUIRE(pair.rows.count == 1);
            CHECK_INT(pair.rows.items[0].match, cases[i].match);
            CHECK_STR(pair.rows.items[0].base, cases[i].base_name);
            CHECK_STR(pair.rows.items[0].changed, cases[i].changed_name);
        }
        release(&pair);
    }
}

/* First those of one category within an operator, then what is left of it. */
static void categories_of_an_operator_first(void)
{
    static const struct spec base[MOST_PARTS] =
        {{.name = "a", .owner = "o", .category = NL_CATEGORY_GEMM, .mean = 9},
         {.name = "b", .owner = "o", .category = NL_CATEGORY_REDUCTION, .mean = 5}},
                             changed[MOST_PARTS] = {
                                 {.name = "c", .owner = "o", .category = NL_CATEGORY_ELEMENTWISE},
                                 {.name = "d", .owner = "o", .category = NL_CATEGORY_GEMM}};
    struct pair pair;
    pair_specs(&pair, base, changed, 1, 1);
    REQUIRE(pair.rows.count == 2);
    CHECK_STR(pair.rows.items[0].base, "a");
    CHECK_STR(pair.rows.items[0].changed, "d");
    CHECK_INT(pair.rows.items[0].category, NL_CATEGORY_GEMM);
    CHECK_STR(pair.rows.items[0].owner, "o");
    CHECK_STR(pair.rows.items[1].base, "b");
    CHECK_STR(pair.rows.items[1].changed, "c");
    CHECK_INT(pair.base.items[0].row, 1);
    CHECK_INT(pair.changed.items[1].row, 1);
    CHECK_INT(pair.base.items[1].row, 2);
    CHECK_INT(pair.changed.items[0].row, 2);
    release(&pair);
}

/* One for one, as often in a unit, and a call takes less than e^0.05 = 1.0513 times as long. */
static void limits_of_renaming(void)
{
    static const struct {
        uint64_t base_count, changed_count;
        int64_t base_gross, changed_gross;
        uint64_t base_units, changed_units;
        bool renamed;
    } cases[] = {
        {1, 1, 10000, 10000, 1, 1, true},
        {1, 1, 10000, 10512, 1, 1, true},
        {1, 1, 10000, 10513, 1, 1, false},
        {1, 1, 10000, 9513, 1, 1, true},
        {1, 1, 10000, 9512, 1, 1, false},
        {4, 6, 40000, 60000, 2, 3, true},
        {4, 6, 40000, 60000, 1, 1, false},
        {4, 7, 40000, 70000, 2, 3, false},
        {4, 5, 40000, 50000, 2, 3, false},
        {3, 2, 30000, 20000, 3, 2, true},
        {UNKNOWN, UNKNOWN, 10000, 10000, 1, 1, false},
        {0, 0, 10000, 10000, 1, 1, false},
        {1, 1, 0, 0, 1, 1, false},
        {1, 1, 0, 10000, 1, 1, false},
        {1, 1, 10000, 0, 1, 1, false},
        {1, 1, 1, 1, 1, 1, true},
        {1, UNKNOWN, 10000, 10000, 1, 1, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct spec base[MOST_PARTS] = {{.name = "a",
                                         .owner = "o",
                                         0,
                                         5,
                                         cases[i].base_gross,
                                         cases[i].base_count,
                                         DIFF_COMPUTE}};
        struct spec changed[MOST_PARTS] = {{.name = "b",
                                            .owner = "o",
                                            0,
                                            5,
                                            cases[i].changed_gross,
                                            cases[i].changed_count,
                                            DIFF_COMPUTE}};
        struct pair pair;
        char label[40];
        snprintf(label, sizeof label, "case %zu", i);
        check_case(label);
        pair_specs(&pair, base, changed, cases[i].base_units, cases[i].changed_units);
        REQUIRE(pair.rows.count == 1);
        CHECK_INT(pair.rows.items[0].match, cases[i].renamed ? DIFF_RENAMED : DIFF_REPLACED);
        release(&pair);
    }
}

/* Two calls of one part, one of each of two: as long together, but not one for one. */
static void several_are_not_renamed(void)
{
    static const struct spec
        one[MOST_PARTS] = {{.name = "a", .owner = "o", .mean = 5, .gross = 20000, .count = 2}},
        two[MOST_PARTS] = {{.name = "b", .owner = "o", .mean = 2, .gross = 10000, .count = 1},
                           {.name = "c", .owner = "o", .mean = 3, .gross = 10000, .count = 1}};
    struct pair pair;
    pair_specs(&pair, one, two, 1, 1);
    REQUIRE(pair.rows.count == 1);
    CHECK_INT(pair.rows.items[0].match, DIFF_SPLIT);
    release(&pair);
    pair_specs(&pair, two, one, 1, 1);
    REQUIRE(pair.rows.count == 1);
    CHECK_INT(pair.rows.items[0].match, DIFF_FUSED);
    release(&pair);
}

/* Each product of the two is rounded half away from 0. */
static void divides_changes(void)
{
    static const struct {
        uint64_t base_count, changed_count;
        int64_t base_ns, changed_ns;
        uint64_t base_units, changed_units;
        int64_t by_count, by_time;
        enum diff_group group;
    } cases[] = {
        {1, 1, 10, 25, 1, 1, 0, 15, DIFF_COMPUTE},
        {1, 2, 25, 55, 1, 1, 13 + 14, 3, DIFF_COMPUTE},   /* 12.5 + 13.75 */
        {2, 1, 55, 25, 1, 1, -14 - 13, -3, DIFF_COMPUTE}, /* the other way round */
        {1, 2, 24, 24, 1, 1, 12 + 6, -18, DIFF_COMPUTE},  /* nothing left over */
        {4, 9, 10, 11, 2, 3, 3 + 2, -4, DIFF_COMPUTE},    /* 6 more: 60 / 24, 66 / 36 */
        {9, 4, 11, 10, 3, 2, -2 - 3, 4, DIFF_COMPUTE},    /* the other way round */
        {4, 6, 10, 16, 2, 3, 0, 6, DIFF_COMPUTE},         /* two a unit on both sides */
        {3, 3, 60, 60, 1, 2, -15 - 30, 45, DIFF_COMPUTE}, /* -3: 180 / 12, 180 / 6 */
        {1, 3, 3, 5, 1, 1, 3 + 2, -3, DIFF_HOST},         /* 2 more: 6 / 2, 10 / 6 */
        {1, 2, 25, 55, 1, 1, NL_NULL_I64, NL_NULL_I64, DIFF_IDLE},
        {UNKNOWN, 2, 25, 55, 1, 1, NL_NULL_I64, NL_NULL_I64, DIFF_COMPUTE},
        {1, UNKNOWN, 25, 55, 1, 1, NL_NULL_I64, NL_NULL_I64, DIFF_COMPUTE},
        {0, 0, 25, 55, 1, 1, 0, 30, DIFF_COMPUTE}, /* began before what is compared */
        {0, 3, 25, 55, 1, 1, 30, 0, DIFF_COMPUTE},
        {3, 0, 25, 55, 1, 1, 30, 0, DIFF_COMPUTE},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct spec base[MOST_PARTS] = {
            {.name = "a", NULL, 0, cases[i].base_ns, 0, cases[i].base_count, cases[i].group}};
        struct spec changed[MOST_PARTS] = {
            {.name = "a", NULL, 0, cases[i].changed_ns, 0, cases[i].changed_count, cases[i].group}};
        struct pair pair;
        char label[40];
        snprintf(label, sizeof label, "case %zu", i);
        check_case(label);
        pair_specs(&pair, base, changed, cases[i].base_units, cases[i].changed_units);
        REQUIRE(pair.rows.count == 1);
        CHECK_INT(pair.rows.items[0].by_count, cases[i].by_count);
        CHECK_INT(pair.rows.items[0].by_time, cases[i].by_time);
        release(&pair);
    }
}

/* What is on one side only is all count, where that is known. */
static void divides_what_is_on_one_side(void)
{
    static const struct {
        uint64_t count;
        int64_t by_count, by_time;
    } cases[] = {{3, 40, 0}, {1, 40, 0}, {0, 0, 40}, {UNKNOWN, NL_NULL_I64, NL_NULL_I64}};
    static const struct spec none[MOST_PARTS] = {{0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        for (int side = 0; side < 2; side++) {
            struct spec specs[MOST_PARTS] = {{.name = "a", .mean = 40, .count = cases[i].count}};
            int64_t sign = side ? 1 : -1;
            struct pair pair;
            pair_specs(&pair, side ? none : specs, side ? specs : none, 1, 1);
            REQUIRE(pair.rows.count == 1);
            CHECK_INT(pair.rows.items[0].match, side ? DIFF_ADDED : DIFF_REMOVED);
            bool known = cases[i].count != UNKNOWN;
            CHECK_INT(pair.rows.items[0].by_count, known ? sign * cases[i].by_count : NL_NULL_I64);
            CHECK_INT(pair.rows.items[0].by_time, known ? sign * cases[i].by_time : NL_NULL_I64);
            release(&pair);
        }
}

/* Times, lengths, counts and blocks of a row are those of all its parts; one unknown count makes
 * all of its side unknown. */
static void adds_up(void)
{
    struct spec base[MOST_PARTS] = {{.name = "f(int)", .mean = 10, .gross = 100, .count = 2},
                                    {.name = "f(long)", .mean = 30, .gross = 300, .count = 5}},
                changed[MOST_PARTS] = {{.name = "f(char)", .mean = 7, .gross = 70, .count = 11},
                                       {.name = "f(short)", .mean = 1, .gross = 10, .count = 13}};
    for (int unknown = 0; unknown < 5; unknown++) {
        struct pair pair;
        base[0].count = unknown == 1 ? UNKNOWN : 2;
        base[1].count = unknown == 2 ? UNKNOWN : 5;
        changed[0].count = unknown == 3 ? UNKNOWN : 11;
        changed[1].count = unknown == 4 ? UNKNOWN : 13;
        pair_specs(&pair, base, changed, 1, 1);
        REQUIRE(pair.rows.count == 1);
        const struct diff_row *row = &pair.rows.items[0];
        CHECK_INT(row->base_parts, 2);
        CHECK_INT(row->changed_parts, 2);
        CHECK_INT(row->base_ns, 40);
        CHECK_INT(row->changed_ns, 8);
        CHECK_INT(row->base_gross, 400);
        CHECK_INT(row->changed_gross, 80);
        CHECK(row->base_count == (unknown == 1 || unknown == 2 ? UNKNOWN : 7));
        CHECK(row->changed_count == (unknown >= 3 ? UNKNOWN : 24));
        for (int64_t k = 0; k < DIFF_BLOCKS; k++) {
            CHECK_INT(row->base_blocks[k], 40 * (k + 1));
            CHECK_INT(row->changed_blocks[k], 8 * (k + 1));
        }
        CHECK(isnan(row->low) && isnan(row->high) && isnan(row->p) && !row->flagged);
        release(&pair);
    }
}

/* The largest change first, whichever way; then the largest time, the group, the names. */
static void order_of_rows(void)
{
    static const struct {
        const char *what;
        struct spec base[MOST_PARTS], changed[MOST_PARTS];
        const char *names; /* of base, else of changed */
    } cases[] = {
        {"by change",
         {{.name = "a", .mean = 10}, {.name = "b", .mean = 12}},
         {{.name = "a", .mean = 12}, {.name = "b", .mean = 9}},
         "b a"},
        {"by time",
         {{.name = "a", .mean = 10}, {.name = "b", .mean = 12}},
         {{.name = "a", .mean = 12}, {.name = "b", .mean = 10}},
         "a b"},
        {"the longer",
         {{.name = "a", .mean = 10}, {.name = "b", .mean = 13}},
         {{.name = "a", .mean = 12}, {.name = "b", .mean = 11}},
         "b a"},
        {"by group",
         {{.name = "a", .mean = 1, .group = DIFF_IDLE},
          {.name = "b", .mean = 1, .group = DIFF_COMM}},
         {{.name = "a", .mean = 1, .group = DIFF_IDLE},
          {.name = "b", .mean = 1, .group = DIFF_COMM}},
         "b a"},
        {"by name",
         {{.name = "b", .mean = 2}, {.name = "c", .mean = 2}, {.name = "a", .mean = 2}},
         {{0}},
         "a b c"},
        {"by the other's name",
         {{0}},
         {{.name = "b", .mean = 2}, {.name = "c", .mean = 2}, {.name = "a", .mean = 2}},
         "a b c"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct pair pair;
        char names[40] = "";
        check_case(cases[i].what);
        pair_specs(&pair, cases[i].base, cases[i].changed, 1, 1);
        for (size_t k = 0; k < pair.rows.count; k++) {
            const struct diff_row *row = &pair.rows.items[k];
            struct nl_str name = row->base.ptr ? row->base : row->changed;
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.*s", k ? " " : "",
                     (int)name.len, name.ptr);
        }
        CHECK_TEXT(names, cases[i].names);
        release(&pair);
    }
}

/* ---- places ---- */

/* Parts of a name of one letter each, launched in the order of `order`. */
static void fill_order(struct diff_parts *parts, const char *order, char group_of)
{
    *parts = (struct diff_parts){0};
    for (size_t i = 0; order[i]; i++) {
        size_t at = 0;
        while (at < parts->count && parts->items[at].name.ptr[0] != order[i])
            at++;
        if (at == parts->count)
            diff_part_add(parts, order[i] == group_of ? DIFF_COMM : DIFF_COMPUTE,
                          (struct nl_str){order + i, 1});
        nl_grow(&parts->order, &parts->order_cap, parts->order_count + 1);
        parts->order[parts->order_count++] = (uint32_t)at;
    }
}

/* Capitals are of both sides; what stands first between the same two of these is paired. */
static void places(void)
{
    static const struct {
        const char *base, *changed;
        char communicates;
        bool own;
        const char *paired; /* of small letters */
    } cases[] = {
        {"AxB", "AyB", 0, true, "xy"},       {"xB", "yB", 0, true, "xy"},
        {"Ax", "Ay", 0, true, "xy"},         {"x", "y", 0, true, ""},
        {"AxB", "AyB", 0, false, ""},        {"AxB", "ABy", 0, true, ""},
        {"AxBC", "ABCy", 0, true, ""},       {"AxBy", "AzBv", 0, true, "xzyv"},
        {"AxBx", "AyB", 0, true, "xy"},      {"AxBx", "ABy", 0, true, ""},
        {"AxB", "AyB", 'y', true, ""},       {"AxBAyB", "AzB", 0, true, "xzyz"},
        {"xAB", "AyB", 0, true, ""},         {"AxB", "AByA", 0, true, ""},
        {"AxByC", "AvBwC", 0, true, "xvyw"},
    };
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", 0, 2, 10, 10);
    struct nl_trace *trace = gputrace_close(&make);
    struct nl_window window = {0};
    REQUIRE(trace);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct pair pair = {0};
        struct diff_side a, b;
        diff_side_open(&a, trace, &window);
        diff_side_open(&b, trace, &window);
        a.units = b.units = 1;
        fill_order(&pair.base, cases[i].base, cases[i].communicates);
        fill_order(&pair.changed, cases[i].changed, cases[i].communicates);
        diff_pair(&pair.rows, &a, &pair.base, &b, &pair.changed, cases[i].own);
        check_case(cases[i].base);
        for (size_t k = 0; k < pair.base.count; k++)
            for (size_t n = 0; n < pair.changed.count; n++) {
                char x = pair.base.items[k].name.ptr[0], y = pair.changed.items[n].name.ptr[0];
                bool paired = x == y;
                for (const char *p = cases[i].paired; *p; p += 2)
                    paired |= p[0] == x && p[1] == y;
                CHECK_INT(pair.base.items[k].row == pair.changed.items[n].row, paired);
            }
        release(&pair);
        diff_side_release(&a);
        diff_side_release(&b);
    }
    nl_trace_free(trace);
}

CHECK_MAIN("diffpair", {"words", words}, {"ways to pair", ways_to_pair},
           {"categories of an operator first", categories_of_an_operator_first},
           {"limits of renaming", limits_of_renaming},
           {"several are not renamed", several_are_not_renamed},
           {"divides changes", divides_changes},
           {"divides what is on one side", divides_what_is_on_one_side}, {"adds up", adds_up},
           {"order of rows", order_of_rows}, {"places", places})

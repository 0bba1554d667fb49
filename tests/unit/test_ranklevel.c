/* Who is fastest in which part (compare/ranklevel.c), of candidates whose parts are made by hand:
 * which of them are one row, in what order, who leads, and how sure that is. */
#include <math.h>

#include "base/mem.h"
#include "check.h"
#include "compare/diffparts.h"
#include "compare/rankinner.h"
#include "compare/replicate.h"
#include "tables/lookup.h"

#define MOST_PARTS 8
#define NONE       NL_NULL_I64

/* A part in a few words; without a name there is none. */
struct spec {
    const char *name;
    int64_t mean;
    const char *owner;
    enum diff_group group;
    bool nobody;
};

/* Candidates a, b, c in the order of their places, which is `places` if given. */
struct made {
    struct nl_diff_input inputs[3];
    struct nl_report report;
    struct ranking ranking;
};

static void open_ranking(struct made *made, const struct spec parts[][MOST_PARTS], size_t count,
                         const char *places, enum diff_unit unit)
{
    static const char *const words[] = {"a", "b", "c"};
    *made = (struct made){.ranking = {.count = count, .unit = unit}};
    struct ranking *r = &made->ranking;
    nl_arena_init(&made->report.arena);
    r->report = &made->report;
    for (size_t i = 0; i < count; i++) {
        struct rank_candidate *c = &r->items[i];
        made->inputs[i].word = words[i];
        c->input = &made->inputs[i];
        c->place = places ? (size_t)(places[i] - '0') : i;
        c->side.unit = unit;
        c->side.units = 1;
        c->time = 1000;
        r->order[c->place] = c;
        for (size_t k = 0; parts && k < MOST_PARTS && parts[i][k].name; k++) {
            const struct spec *spec = &parts[i][k];
            struct diff_part *part = diff_part_add(&c->parts, spec->group, nl_str(spec->name));
            part->mean = spec->mean;
            part->owner = nl_str(spec->owner ? spec->owner : "");
            part->nobody = spec->nobody;
            for (int64_t block = 0; block < DIFF_BLOCKS; block++)
                part->blocks[block] = spec->mean * (block + 1);
        }
    }
    if (parts)
        rank_levels_find(r);
}

static void close_ranking(struct made *made)
{
    rank_levels_release(&made->ranking);
    for (size_t i = 0; i < made->ranking.count; i++)
        diff_parts_release(&made->ranking.items[i].parts);
    nl_arena_free(&made->report.arena);
}

/* A row as expected: who is fastest and slowest by number, or alone. */
struct row {
    const char *name;
    int64_t times[3];
    int64_t lead;
    size_t fastest, slowest;
    bool alone, tie;
};

static void check_rows(const struct made *made, size_t at, const struct row *rows, size_t count)
{
    const struct rank_level *level = &made->ranking.levels[at];
    CHECK_INT(level->count, count);
    for (size_t i = 0; i < count && i < level->count; i++) {
        const struct rank_row *row = &level->rows[i];
        CHECK_STR(row->name, rows[i].name);
        for (size_t k = 0; k < made->ranking.count; k++)
            CHECK_INT(row->times[k], rows[i].times[k]);
        CHECK_INT(row->lead, rows[i].lead);
        CHECK_INT(row->fastest, rows[i].fastest);
        CHECK_INT(row->slowest, rows[i].slowest);
        CHECK_INT(row->alone, rows[i].alone);
        CHECK_INT(row->tie, rows[i].tie);
    }
}

/* Which parts of two candidates are one row. */
static void rows_of_two(void)
{
    static const struct {
        const char *what;
        struct spec parts[2][MOST_PARTS];
        size_t count;
        struct row rows[8];
    } cases[] = {
        {"one name",
         {{{.name = "x", .mean = 10}}, {{.name = "x", .mean = 30}}},
         1,
         {{"x", {10, 30}, 20, 0, 1, false, false}}},
        {"one name of two groups",
         {{{.name = "x", .mean = 10}}, {{.name = "x", .mean = 30, .group = DIFF_COMM}}},
         2,
         {{"x", {NONE, 30}, 0, 1, 1, true, false}, {"x", {10, NONE}, 0, 0, 0, true, false}}},
        {"several parts are named after the largest",
         {{{.name = "f(int)", .mean = 10}, {.name = "f(long)", .mean = 11}},
          {{.name = "f(char)", .mean = 50}}},
         1,
         {{"f(long) + 1 more", {21, 50}, 29, 0, 1, false, false}}},
        {"of equals after the first",
         {{{.name = "f(long)", .mean = 10},
           {.name = "f(int)", .mean = 10},
           {.name = "f", .mean = 1}},
          {{.name = "f(char)", .mean = 50}}},
         1,
         {{"f(long) + 2 more", {21, 50}, 29, 0, 1, false, false}}},
        {"six parts are one row",
         {{{.name = "f(int)", .mean = 1}, {.name = "f(long)", .mean = 2}, {.name = "f", .mean = 3}},
          {{.name = "f(char)", .mean = 10},
           {.name = "f(bool)", .mean = 10},
           {.name = "f(half)", .mean = 10}}},
         1,
         {{"f + 2 more", {6, 30}, 24, 0, 1, false, false}}},
        {"one beside six is",
         {{{.name = "f(int)", .mean = 7}},
          {{.name = "f(a)", .mean = 10},
           {.name = "f(b)", .mean = 10},
           {.name = "f(c)", .mean = 10},
           {.name = "f(d)", .mean = 10},
           {.name = "f(e)", .mean = 10},
           {.name = "f(g)", .mean = 10}}},
         1,
         {{"f(int)", {7, 60}, 53, 0, 1, false, false}}},
        {"two beside five are not",
         {{{.name = "x", .mean = 100},
           {.name = "f(int)", .mean = 1},
           {.name = "f(long)", .mean = 2}},
          {{.name = "x", .mean = 200},
           {.name = "f(a)", .mean = 10},
           {.name = "f(b)", .mean = 11},
           {.name = "f(c)", .mean = 12},
           {.name = "f(d)", .mean = 13},
           {.name = "f(e)", .mean = 14}}},
         8,
         {{"x", {100, 200}, 100, 0, 1, false, false},
          {"f(e)", {NONE, 14}, 0, 1, 1, true, false},
          {"f(d)", {NONE, 13}, 0, 1, 1, true, false},
          {"f(c)", {NONE, 12}, 0, 1, 1, true, false},
          {"f(b)", {NONE, 11}, 0, 1, 1, true, false},
          {"f(a)", {NONE, 10}, 0, 1, 1, true, false},
          {"f(long)", {2, NONE}, 0, 0, 0, true, false},
          {"f(int)", {1, NONE}, 0, 0, 0, true, false}}},
        {"the largest lead first, alone all of its time",
         {{{.name = "x", .mean = 10}, {.name = "y", .mean = 90}, {.name = "z", .mean = 25}},
          {{.name = "x", .mean = 34}, {.name = "y", .mean = 67}}},
         3,
         {{"z", {25, NONE}, 0, 0, 0, true, false},
          {"x", {10, 34}, 24, 0, 1, false, false},
          {"y", {90, 67}, 23, 1, 0, false, false}}},
        {"equal leads by name",
         {{{.name = "y", .mean = 10}, {.name = "x", .mean = 40}},
          {{.name = "y", .mean = 30}, {.name = "x", .mean = 60}}},
         2,
         {{"x", {40, 60}, 20, 0, 1, false, false}, {"y", {10, 30}, 20, 0, 1, false, false}}},
        {"a tie: less than t(8 degrees of freedom) of 1.5 percent",
         {{{.name = "x", .mean = 1000}, {.name = "y", .mean = 1000}},
          {{.name = "x", .mean = 1050}, {.name = "y", .mean = 1051}}},
         2,
         {{"y", {1000, 1051}, 51, 0, 1, false, false}, {"x", {1000, 1050}, 50, 0, 1, false, true}}},
        {"equals: faster is who is in all",
         {{{.name = "x", .mean = 10}}, {{.name = "x", .mean = 10}}},
         1,
         {{"x", {10, 10}, 0, 0, 0, false, true}}},
        {"nothing beside something is no tie",
         {{{.name = "x", .mean = 0}}, {{.name = "x", .mean = 1}}},
         1,
         {{"x", {0, 1}, 1, 0, 1, false, false}}},
        {"nothing on both sides is",
         {{{.name = "x", .mean = 0}}, {{.name = "x", .mean = 0}}},
         1,
         {{"x", {0, 0}, 0, 0, 0, false, true}}},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct made made;
        check_case(cases[i].what);
        open_ranking(&made, cases[i].parts, 2, NULL, DIFF_BY_FUNCTION);
        check_rows(&made, RANK_OPERATORS, cases[i].rows, cases[i].count);
        CHECK_INT(made.ranking.levels[RANK_TYPES].count, 0);
        CHECK_INT(made.ranking.levels[RANK_KERNELS].count, 0);
        CHECK(rank_telling_level(&made.ranking) == &made.ranking.levels[RANK_OPERATORS]);
        close_ranking(&made);
    }
}

/* What the fastest lacks is one row by its name alone, and work that nobody launched only with its
 * like. */
static void rows_of_three(void)
{
    static const struct spec parts[3][MOST_PARTS] = {
        {{.name = "x", .mean = 30}, {.name = "f(int)", .mean = 4}},
        {{.name = "y", .mean = 50},
         {.name = "x", .mean = 10},
         {.name = "n", .mean = 5},
         {.name = "f(long)", .mean = 1}},
        {{.name = "y", .mean = 90},
         {.name = "n", .mean = 6, .nobody = true},
         {.name = "f(char)", .mean = 3}}};
    static const struct row by_place[] = {{"y", {NONE, 50, 90}, 40, 1, 2, false, false},
                                          {"x", {30, 10, NONE}, 20, 1, 0, false, false},
                                          {"n", {NONE, NONE, 6}, 0, 2, 2, true, false},
                                          {"n", {NONE, 5, NONE}, 0, 1, 1, true, false},
                                          {"f(int)", {4, 1, 3}, 3, 1, 0, false, false}},
                            turned[] = {{"y", {NONE, 50, 90}, 40, 1, 2, false, false},
                                        {"x", {30, 10, NONE}, 20, 1, 0, false, false},
                                        {"f(char)", {4, 1, 3}, 3, 1, 0, false, false},
                                        {"n", {NONE, 5, 6}, 1, 1, 2, false, false}};
    struct made made;
    open_ranking(&made, parts, 3, "012", DIFF_BY_FUNCTION);
    check_rows(&made, RANK_OPERATORS, by_place, CHECK_LENGTH(by_place));
    for (size_t i = 0; i < made.ranking.levels[RANK_OPERATORS].count; i++) {
        const struct rank_row *row = &made.ranking.levels[RANK_OPERATORS].rows[i];
        for (size_t k = 0; k < 3; k++)
            for (int64_t block = 0; block < DIFF_BLOCKS; block++)
                CHECK_INT(row->blocks[k][block],
                          row->times[k] == NONE ? 0 : row->times[k] * (block + 1));
    }
    close_ranking(&made);
    open_ranking(&made, parts, 3, "210", DIFF_BY_FUNCTION);
    check_rows(&made, RANK_OPERATORS, turned, CHECK_LENGTH(turned));
    close_ranking(&made);
}

/* Each part is told its row. */
static void rows_of_parts(void)
{
    static const struct spec parts[2][MOST_PARTS] = {
        {{.name = "x", .mean = 30}, {.name = "y", .mean = 4}},
        {{.name = "z", .mean = 7}, {.name = "y", .mean = 50}, {.name = "x", .mean = 10}}};
    static const char *const names[2][3] = {{"x", "y"}, {"z", "y", "x"}};
    struct made made;
    open_ranking(&made, parts, 2, NULL, DIFF_BY_LAYER);
    const struct rank_level *level = &made.ranking.levels[RANK_OPERATORS];
    CHECK_INT(level->count, 3);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2 + i; k++)
            for (size_t row = 0; row < level->count; row++)
                CHECK_INT(level->rows[row].id == level->row_of[i][k],
                          nl_str_is(level->rows[row].name, names[i][k]));
    close_ranking(&made);
}

/* Kinds of nodes, where every candidate has some. */
static void types(void)
{
    static const struct spec parts[2][MOST_PARTS] = {
        {{.name = "conv1", .mean = 10, .owner = "Conv"},
         {.name = "relu1", .mean = 5, .owner = "Relu"},
         {.name = "conv2", .mean = 20, .owner = "Conv"},
         {.name = "x", .mean = 2}},
        {{.name = "conv1", .mean = 90, .owner = "Conv"}, {.name = "x", .mean = 3}}};
    static const struct spec untyped[2][MOST_PARTS] = {
        {{.name = "conv1", .mean = 10, .owner = "Conv"}}, {{.name = "conv1", .mean = 90}}};
    static const struct row rows[] = {{"Conv", {30, 90}, 60, 0, 1, false, false},
                                      {"Relu", {5, NONE}, 0, 0, 0, true, false},
                                      {"(no type)", {2, 3}, 1, 0, 1, false, false}};
    for (unsigned unit = DIFF_BY_HOST; unit <= DIFF_BY_FUNCTION; unit++) {
        struct made made;
        bool typed = unit != DIFF_BY_FUNCTION;
        open_ranking(&made, parts, 2, NULL, (enum diff_unit)unit);
        check_rows(&made, RANK_TYPES, rows, typed ? CHECK_LENGTH(rows) : 0);
        CHECK_INT(made.ranking.levels[RANK_OPERATORS].count, 4);
        CHECK(rank_telling_level(&made.ranking) ==
              &made.ranking.levels[typed ? RANK_TYPES : RANK_OPERATORS]);
        for (int64_t block = 0; typed && block < DIFF_BLOCKS; block++)
            CHECK_INT(made.ranking.levels[RANK_TYPES].rows[0].blocks[0][block], 30 * (block + 1));
        close_ranking(&made);
        open_ranking(&made, untyped, 2, NULL, (enum diff_unit)unit);
        CHECK_INT(made.ranking.levels[RANK_TYPES].count, 0);
        CHECK_INT(made.ranking.levels[RANK_OPERATORS].count, 1);
        close_ranking(&made);
    }
}

/* ---- how sure ---- */

/* The values that blocks of one candidate stand for; the other has one of 1000 ns. */
static void intervals(void)
{
    static const struct {
        const char *what;
        size_t blocks;
        bool captures;
        int64_t sums[4];
        uint64_t units[4];
        int64_t time;
        size_t count;
        struct nl_value values[4]; /* not yet the logarithm */
    } cases[] = {
        {"no blocks", 0, false, {0}, {0}, 500, 1, {{500, 0}}},
        {"no time either", 0, false, {0}, {0}, 0, 0, {{0, 0}}},
        {"nothing in any", 2, false, {0, 0}, {1, 1}, 0, 0, {{0, 0}}},
        {"nothing in any, but in all", 2, false, {0, 0}, {1, 1}, 7, 1, {{7, 0}}},
        {"one", 1, false, {600}, {2}, 1, 1, {{300, 0}}},
        {"captures", 3, true, {600, 800, 1000}, {1, 2, 4}, 1, 3, {{600, 0}, {400, 0}, {250, 0}}},
        {"one capture", 1, true, {600}, {3}, 1, 1, {{200, 0}}},
        /* of which one has none: 20, (400 + 100 + 100) / 2 = 300, root of 300 / 3 = 10 */
        {"one has none", 3, false, {0, 30, 60}, {1, 1, 2}, 1, 1, {{20, 0.5}}},
        {"one has no units", 3, true, {50, 30, 60}, {0, 1, 2}, 1, 1, {{20, 0.5}}},
        /* alike in two blocks: 0 */
        {"stretches", 2, false, {600, 300}, {2, 1}, 1, 1, {{300, 0}}},
        /* root of 100 · 400 = 200; ± log 2 of it: variance 2 log² 2, over two of them */
        {"unlike stretches", 2, false, {100, 400}, {1, 1}, 1, 1, {{200, 0.69314718055994531}}},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        for (size_t from = 0; from < 2; from++) {
            struct made made;
            struct rank_row row = {.times = {1000, 1000}};
            struct nl_value values[4], one = {log(1000), 0};
            open_ranking(&made, NULL, 2, NULL, DIFF_BY_STEP);
            struct diff_side *side = &made.ranking.items[from].side;
            check_case(cases[i].what);
            side->blocks.count = cases[i].blocks;
            side->captures = cases[i].captures ? side : NULL; /* only asked for whether it is */
            row.times[from] = cases[i].time;
            for (size_t k = 0; k < cases[i].blocks; k++) {
                side->blocks.units[k] = cases[i].units[k];
                row.blocks[from][k] = cases[i].sums[k];
            }
            for (size_t k = 0; k < cases[i].count; k++)
                values[k] = (struct nl_value){log(cases[i].values[k].log), cases[i].values[k].se};
            made.ranking.items[0].noise = (struct nl_noise){.sd = 0.1, .df = 5};
            made.ranking.items[1].noise = (struct nl_noise){.sd = 0.3, .df = 7};
            const struct nl_noise *noise = &made.ranking.items[from].noise;
            struct nl_apart got = rank_row_apart(&made.ranking, &row, from, 1 - from),
                            want = nl_apart_of(values, cases[i].count, &one, 1, noise);
            CHECK_NEAR(got.shift, want.shift, 1e-12);
            CHECK_NEAR(got.low, want.low, 1e-12);
            CHECK_NEAR(got.high, want.high, 1e-12);
            noise = &made.ranking.items[1 - from].noise;
            got = rank_row_apart(&made.ranking, &row, 1 - from, from);
            want = nl_apart_of(&one, 1, values, cases[i].count, noise);
            CHECK_NEAR(got.shift, want.shift, 1e-12);
            CHECK_NEAR(got.low, want.low, 1e-12);
            CHECK_NEAR(got.high, want.high, 1e-12);
            side->captures = NULL;
            close_ranking(&made);
        }
}

/* ---- tables ---- */

static void check_text(const struct nl_result *result, size_t row, const char *column,
                       const char *want)
{
    struct nl_str got = nl_lookup_text(result, row, column);
    CHECK_STR(((struct nl_str){got.len ? got.ptr : "", got.len}), want);
}

/* b is first, a second, c third. */
static void tables(void)
{
    static const struct spec parts[3][MOST_PARTS] = {
        {{.name = "x", .mean = 1000}, {.name = "", .mean = 7}, {.name = "nothing", .mean = 0}},
        {{.name = "x", .mean = 500}, {.name = "y", .mean = 40}, {.name = "nothing", .mean = 0}},
        {{.name = "x", .mean = 505}, {.name = "y", .mean = 41}}};
    static const struct {
        const char *name, *fastest, *tie;
        int64_t lead, times[3];
        double speedup;
    } rows[] = {{"x", "b", "yes", 500, {500, 1000, 505}, 2},
                {"(no name)", "", "", NONE, {NONE, 7, NONE}, NAN},
                {"y", "b", "yes", 1, {40, NONE, 41}, 41 / 40.0}};
    static const struct {
        const char *name, *candidate, *tie;
        int64_t time;
        double ratio;
    } speedups[] = {{"x", "b", "", 500, 1},       {"x", "a", "no", 1000, 2},
                    {"x", "c", "yes", 505, 1.01}, {"(no name)", "a", "", 7, 1},
                    {"y", "b", "", 40, 1},        {"y", "c", "yes", 41, 41 / 40.0}};
    /* of one measurement each: ± t(8) · 1.5 % · √2 */
    double apart = exp(2.3060041350333704 * 0.015 * sqrt(2));
    struct made made;
    open_ranking(&made, parts, 3, "102", DIFF_BY_FUNCTION);
    struct nl_result *result = rank_level_table(&made.ranking, RANK_OPERATORS);
    CHECK_TEXT(result->name, "operators");
    CHECK_INT(result->rows, CHECK_LENGTH(rows));
    CHECK_INT(result->column_count, 8 + 3);
    for (size_t i = 0; i < CHECK_LENGTH(rows) && i < result->rows; i++) {
        check_case(rows[i].name);
        check_text(result, i, "name", rows[i].name);
        check_text(result, i, "fastest", rows[i].fastest);
        check_text(result, i, "tie", rows[i].tie);
        CHECK_INT(nl_lookup_i64(result, i, "lead_ns"), rows[i].lead);
        CHECK_INT(nl_lookup_i64(result, i, "time_1_ns"), rows[i].times[0]);
        CHECK_INT(nl_lookup_i64(result, i, "time_2_ns"), rows[i].times[1]);
        CHECK_INT(nl_lookup_i64(result, i, "time_3_ns"), rows[i].times[2]);
        CHECK_NEAR(nl_lookup_f64(result, i, "speedup"), rows[i].speedup, 1e-9);
        CHECK_NEAR(nl_lookup_f64(result, i, "speedup_low"), rows[i].speedup / apart, 1e-9);
        CHECK_NEAR(nl_lookup_f64(result, i, "speedup_high"), rows[i].speedup * apart, 1e-9);
    }
    nl_result_free(result);
    result = rank_speedups_table(&made.ranking);
    CHECK_INT(result->rows, CHECK_LENGTH(speedups));
    for (size_t i = 0; i < CHECK_LENGTH(speedups) && i < result->rows; i++) {
        bool first = speedups[i].ratio == 1;
        check_case(speedups[i].candidate);
        check_text(result, i, "level", "operators");
        check_text(result, i, "name", speedups[i].name);
        check_text(result, i, "candidate", speedups[i].candidate);
        check_text(result, i, "tie", speedups[i].tie);
        CHECK_INT(nl_lookup_i64(result, i, "time_ns"), speedups[i].time);
        CHECK_NEAR(nl_lookup_f64(result, i, "ratio"), speedups[i].ratio, 1e-9);
        CHECK_NEAR(nl_lookup_f64(result, i, "ratio_low"), first ? NAN : speedups[i].ratio / apart,
                   1e-9);
        CHECK_NEAR(nl_lookup_f64(result, i, "ratio_high"), first ? NAN : speedups[i].ratio * apart,
                   1e-9);
    }
    nl_result_free(result);
    close_ranking(&made);
}

CHECK_MAIN("ranklevel", {"rows of two", rows_of_two}, {"rows of three", rows_of_three},
           {"rows of parts", rows_of_parts}, {"types", types}, {"intervals", intervals},
           {"tables", tables})

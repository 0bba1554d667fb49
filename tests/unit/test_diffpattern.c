/*
 * What a change looks like as a whole (compare/diffpattern.c): clocks that moved, and work that
 * changed where the step does not show it; each limit from both sides, worked out by hand.
 */
#include "check.h"

#include <math.h>

#include "compare/diffdoc.h"

/* A kernel on both sides: ns of a call, its time in A and B together. */
struct kernel {
    int64_t before, after, weight;
    enum diff_match match;
    enum diff_group group;
};

static const struct {
    const char *what;
    struct kernel kernels[6];
    bool by_step, incomparable;
    double mean, typical; /* B/A of mean and of typical steps */
    bool found;
    double ratio;
    size_t alike, names;
} clocks[] = {
    {"three by a tenth",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}, {500, 550, 100, 0, 0}},
     false,
     false,
     1.1,
     1.1,
     true,
     1.1,
     3,
     3},
    {"faster by a tenth",
     {{1100, 1000, 100, 0, 0}, {2200, 2000, 100, 0, 0}, {550, 500, 100, 0, 0}},
     false,
     false,
     1 / 1.1,
     1 / 1.1,
     true,
     1 / 1.1,
     3,
     3},
    {"two are too few",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}},
     false,
     false,
     1.1,
     1.1,
     false,
     1.1,
     2,
     2},
    {"1.5 % as a logarithm are too little",
     {{1000, 1015, 100, 0, 0}, {1000, 1015, 100, 0, 0}, {1000, 1015, 100, 0, 0}},
     false,
     false,
     1,
     1,
     false,
     1.015,
     3,
     3},
    {"1.6 % are not",
     {{1000, 1016, 100, 0, 0}, {1000, 1016, 100, 0, 0}, {1000, 1016, 100, 0, 0}},
     false,
     false,
     1,
     1,
     true,
     1.016,
     3,
     3},
    /* 1 % from the common change */
    {"0.99 % beside it",
     {{10000, 11000, 100, 0, 0}, {10000, 11000, 100, 0, 0}, {10000, 11109, 100, 0, 0}},
     false,
     false,
     1.1,
     1.1,
     true,
     1.1,
     3,
     3},
    {"1.01 % beside it",
     {{10000, 11000, 100, 0, 0}, {10000, 11000, 100, 0, 0}, {10000, 11112, 100, 0, 0}},
     false,
     false,
     1.1,
     1.1,
     false,
     1.1,
     2,
     3},
    /* four fifths of the time of all kernels, also of those on one side */
    {"80 of 100",
     {{1000, 1100, 30, 0, 0},
      {1000, 1100, 30, 0, 0},
      {1000, 1100, 20, 0, 0},
      {1000, 1500, 20, 0, 0}},
     false,
     false,
     1.1,
     1.1,
     true,
     1.1,
     3,
     4},
    {"79 of 100",
     {{1000, 1100, 30, 0, 0},
      {1000, 1100, 30, 0, 0},
      {1000, 1100, 19, 0, 0},
      {1000, 1500, 21, 0, 0}},
     false,
     false,
     1.1,
     1.1,
     false,
     1.1,
     3,
     4},
    {"80 of 100, the rest on one side",
     {{1000, 1100, 30, 0, 0},
      {1000, 1100, 30, 0, 0},
      {1000, 1100, 20, 0, 0},
      {1000, 1100, 20, DIFF_ADDED, 0}},
     false,
     false,
     1.1,
     1.1,
     true,
     1.1,
     3,
     3},
    {"79 of 100, the rest on one side",
     {{1000, 1100, 30, 0, 0},
      {1000, 1100, 30, 0, 0},
      {1000, 1100, 19, 0, 0},
      {1000, 1100, 21, DIFF_ADDED, 0}},
     false,
     false,
     1.1,
     1.1,
     false,
     1.1,
     3,
     3},
    {"what is no kernel does not count",
     {{1000, 1100, 30, 0, 0},
      {1000, 1100, 30, 0, 0},
      {1000, 1100, 20, 0, 0},
      {1000, 1500, 9999, 0, DIFF_IDLE}},
     false,
     false,
     1.1,
     1.1,
     true,
     1.1,
     3,
     3},
    /* the median by time */
    {"half of the time",
     {{1000, 1200, 50, 0, 0}, {1000, 1100, 50, 0, 0}},
     false,
     false,
     1,
     1,
     false,
     1.1,
     1,
     2},
    {"less than half",
     {{1000, 1200, 52, 0, 0}, {1000, 1100, 48, 0, 0}},
     false,
     false,
     1,
     1,
     false,
     1.2,
     1,
     2},
    /* single slow steps move the mean: typical steps must move by half as much */
    {"typical steps by 4 %",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}, {500, 550, 100, 0, 0}},
     true,
     false,
     1.1,
     1.04,
     false,
     1.1,
     3,
     3},
    {"typical steps by 5 %",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}, {500, 550, 100, 0, 0}},
     true,
     false,
     1.1,
     1.05,
     true,
     1.1,
     3,
     3},
    {"no steps",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}, {500, 550, 100, 0, 0}},
     false,
     false,
     1.1,
     1.04,
     true,
     1.1,
     3,
     3},
    {"a mean that hardly moved",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}, {500, 550, 100, 0, 0}},
     true,
     false,
     1.015,
     1,
     true,
     1.1,
     3,
     3},
    {"what cannot be compared",
     {{1000, 1100, 100, 0, 0}, {2000, 2200, 100, 0, 0}, {500, 550, 100, 0, 0}},
     false,
     true,
     1.1,
     1.1,
     false,
     1.1,
     3,
     3},
    {"nothing", {{0, 0, 0, 0, 0}}, false, false, 1, 1, false, 1, 0, 0},
};

static void clocks_that_moved(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(clocks); i++) {
        static struct diff_doc doc;
        struct diff_row rows[6] = {0};
        memset(&doc, 0, sizeof doc);
        doc.rows.items = rows;
        for (const struct kernel *k = clocks[i].kernels; k->before; k++)
            rows[doc.rows.count++] = (struct diff_row){.group = k->group ? k->group : DIFF_COMPUTE,
                                                       .match = k->match ? k->match : DIFF_SAME,
                                                       .base_count = 10,
                                                       .changed_count = 20,
                                                       .base_gross = 10 * k->before,
                                                       .changed_gross = 20 * k->after,
                                                       .base_ns = k->weight / 2,
                                                       .changed_ns = k->weight - k->weight / 2};
        doc.base.by_step = clocks[i].by_step;
        doc.base.mean = 1000000;
        doc.changed.mean = (int64_t)llround(1e6 * clocks[i].mean);
        doc.sureness.ratio = clocks[i].typical;
        doc.sureness.verdict = clocks[i].incomparable ? DIFF_INCOMPARABLE : DIFF_NO_CHANGE;
        struct diff_clocks got = diff_find_clocks(&doc);
        check_case(clocks[i].what);
        CHECK_INT(got.found, clocks[i].found);
        CHECK_NEAR(got.ratio, clocks[i].ratio, 1e-9);
        CHECK_INT(got.alike, clocks[i].alike);
        CHECK_INT(got.names, clocks[i].names);
    }
}

/* ---- Work that changed where the step does not show it ---- */

static const struct {
    const char *what;
    struct {
        int64_t before, after; /* in all its ten calls */
        int64_t shown;         /* of it in the step */
        enum diff_match match;
    } rows[3];
    int64_t base_mean, changed_mean;
    uint64_t units; /* of A */
    enum diff_unit unit;
    int found; /* place; -1 none */
} hidden[] = {
    {"60 of 6000", {{1000000, 1060000, 0, 0}}, 6000000, 6000000, 1, 0, 0},
    {"less than a hundredth of the step", {{1000000, 1060000, 0, 0}}, 6000100, 5000000, 1, 0, -1},
    {"of B's, if it is longer", {{1000000, 1060000, 0, 0}}, 5000000, 6000100, 1, 0, -1},
    {"a call by 4.9 %, as a logarithm", {{1000000, 1050000, 0, 0}}, 1000000, 1000000, 1, 0, -1},
    {"a call by 5.1 %", {{1000000, 1052000, 0, 0}}, 1000000, 1000000, 1, 0, 0},
    {"less, too", {{1060000, 1000000, 0, 0}}, 1000000, 1000000, 1, 0, 0},
    {"half of it shows", {{1000000, 1060000, 30000, 0}}, 1000000, 1000000, 1, 0, 0},
    {"more shows", {{1000000, 1060000, 30001, 0}}, 1000000, 1000000, 1, 0, -1},
    {"the other way round half", {{1000000, 1060000, -30000, 0}}, 1000000, 1000000, 1, 0, 0},
    {"on one side alone", {{1000000, 1060000, 0, DIFF_ADDED}}, 1000000, 1000000, 1, 0, -1},
    {"the most hidden",
     {{1000000, 1060000, 0, 0}, {1000000, 1070000, 0, 0}, {1000000, 1065000, 0, 0}},
     1000000,
     1000000,
     1,
     0,
     1},
    {"of equal ones the first",
     {{1000000, 1060000, 0, 0}, {1000000, 1060000, 0, 0}},
     1000000,
     1000000,
     1,
     0,
     0},
    /* 1,000,000 in two units is 500,000 in each: 560,000 more, of which nothing shows */
    {"of two units", {{1000000, 1060000, 0, 0}}, 56000000, 1, 2, 0, 0},
    {"of two units, less than a hundredth", {{1000000, 1060000, 0, 0}}, 56000100, 1, 2, 0, -1},
    {"by wall time", {{1000000, 1060000, 0, 0}}, 1000000, 1000000, 1, DIFF_BY_WALL, 0},
    {"by what is no time of a device",
     {{1000000, 1060000, 0, 0}},
     1000000,
     1000000,
     1,
     (enum diff_unit)(DIFF_BY_WALL + 1),
     -1},
    {"nothing", {{0, 0, 0, 0}}, 1, 1, 1, 0, -1},
};

static void work_that_does_not_show(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(hidden); i++) {
        static struct diff_doc doc;
        struct diff_row rows[3] = {0};
        memset(&doc, 0, sizeof doc);
        doc.rows.items = rows;
        for (size_t k = 0; k < 3 && hidden[i].rows[k].before; k++)
            rows[doc.rows.count++] = (struct diff_row){
                .match = hidden[i].rows[k].match ? hidden[i].rows[k].match : DIFF_SAME,
                .base_count = 10,
                .changed_count = 10,
                .base_gross = hidden[i].rows[k].before,
                .changed_gross = hidden[i].rows[k].after,
                .base_ns = 100000,
                .changed_ns = 100000 + hidden[i].rows[k].shown};
        doc.base.units = hidden[i].units;
        doc.changed.units = 1;
        doc.base.unit = hidden[i].unit;
        doc.base.mean = hidden[i].base_mean;
        doc.changed.mean = hidden[i].changed_mean;
        const struct diff_row *got = diff_find_hidden(&doc);
        check_case(hidden[i].what);
        CHECK_INT(got ? got - rows : -1, hidden[i].found);
    }
}

CHECK_MAIN("diffpattern", {"clocks that moved", clocks_that_moved},
           {"work that does not show", work_that_does_not_show})

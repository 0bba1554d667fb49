/* The median's interval: ranks and small cases by hand, coverage by counting. */
#include <math.h>

#include "base/medianrange.h"
#include "check.h"

/* By the binomial sums: P(B <= k - 1) <= 0.025 < P(B <= k); of 20: 0.0207 with k = 6. */
static void ranks(void)
{
    static const size_t expected[][2] = {{1, 0},  {5, 0},  {6, 1},  {8, 1},   {9, 2},   {11, 2},
                                         {12, 3}, {20, 6}, {25, 8}, {50, 18}, {100, 40}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        CHECK_INT(nl_median_rank(expected[i][0]), expected[i][1]);
}

/* Where the exact sums end and the normal law begins, no rank is skipped by more than one. */
static void seam(void)
{
    for (size_t n = 6; n < 3000; n++) {
        size_t here = nl_median_rank(n), next = nl_median_rank(n + 1);
        CHECK(next >= here && next <= here + 1);
        CHECK(here >= 1 && 2 * here < n);
    }
}

static void few(void)
{
    int64_t one[] = {7}, two[] = {9, 4}, six[] = {6, 1, 5, 2, 4, 3};
    struct nl_median_range range = nl_median_range_of(one, 1);
    CHECK_INT(range.median, 7);
    CHECK_INT(range.low, INT64_MIN);
    CHECK(isnan(nl_median_range_width(&range)));
    range = nl_median_range_of(two, 2);
    CHECK_INT(range.median, 6);
    CHECK_INT(range.lowest, 4);
    CHECK_INT(range.highest, 9);
    range = nl_median_range_of(six, 6);
    CHECK_INT(range.low, 1);
    CHECK_INT(range.high, 6);
    CHECK_INT(range.median, 3);
}

/* Of samples from a skewed law whose median is known, the interval holds it at least as often as it
 * says. */
static void coverage(void)
{
    enum { TRIALS = 4000, COUNT = 31 };
    uint64_t state = 88172645463325252U;
    int hits = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t values[COUNT];
        for (int i = 0; i < COUNT; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            double uniform = (double)(state >> 11) * 0x1p-53;
            values[i] = (int64_t)(1e6 * -log(1 - uniform)); /* median 1e6 ln 2 */
        }
        struct nl_median_range range = nl_median_range_of(values, COUNT);
        hits += range.low <= 693147 && 693147 <= range.high;
    }
    CHECK(hits >= TRIALS * 94 / 100);
    CHECK(hits <= TRIALS * 99 / 100);
}

CHECK_MAIN("medianrange", {"ranks", ranks}, {"no rank is skipped", seam}, {"few values", few},
           {"the interval holds the median", coverage})

/* Sums that stay at the largest number instead of wrapping. */
#include <math.h>

#include "check.h"

#include "base/sum.h"

static void never_wraps(void)
{
    static const struct {
        int64_t a, b, sum;
    } rows[] = {
        {1, 2, 3},
        {-5, 3, -2},
        {INT64_MAX, 0, INT64_MAX},
        {INT64_MAX, -1, INT64_MAX - 1},
        {INT64_MAX - 1, 2, INT64_MAX},
        {(int64_t)1 << 62, (int64_t)1 << 62, INT64_MAX},
        {INT64_MIN + 1, -1, INT64_MIN + 1}, /* INT64_MIN means unknown */
        {-((int64_t)1 << 62) - 5, -((int64_t)1 << 62), INT64_MIN + 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t sum = rows[i].a;
        nl_sum_add(&sum, rows[i].b);
        CHECK_INT(sum, rows[i].sum);
    }
}

static void takes_unsigned(void)
{
    int64_t sum = 5;
    nl_sum_add_u64(&sum, 7);
    CHECK_INT(sum, 12);
    nl_sum_add_u64(&sum, UINT64_MAX - 1);
    CHECK_INT(sum, INT64_MAX);
}

static void takes_shares(void)
{
    CHECK_INT(nl_sum_near((double)INT64_MAX), INT64_MAX); /* that is 2^63 */
    CHECK_INT(nl_sum_near(-1e300), INT64_MIN + 1);
    CHECK_INT(nl_sum_near((double)NAN), 0);
    CHECK_INT(nl_sum_near(12.7), 12);
    CHECK_INT(nl_sum_near(-12.7), -12);
}

static void takes_any_double(void)
{
    CHECK_INT(nl_whole_i64(12.5), 13);
    CHECK_INT(nl_whole_i64(-12.5), -13);
    CHECK_INT(nl_whole_i64((double)NAN), 0);
    CHECK_INT(nl_whole_i64((double)INFINITY), INT64_MAX);
    CHECK_INT(nl_whole_i64(-(double)INFINITY), INT64_MIN + 1);
    CHECK(nl_whole_u64(0x1p64) == UINT64_MAX);
    CHECK(nl_whole_u64(0x1p63) == (uint64_t)1 << 63);
    CHECK(nl_whole_u64(-1) == 0 && nl_whole_u64((double)NAN) == 0);
    CHECK(nl_whole_u64(41.9) == 41);
}

CHECK_MAIN("sum", {"never wraps", never_wraps}, {"takes unsigned numbers", takes_unsigned},
           {"takes shares", takes_shares}, {"takes any double", takes_any_double})

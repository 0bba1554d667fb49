/* Medians by their names: of odd and even counts, of extremes, and against sorting
 * every order of few values. */
#include <math.h>

#include "base/median.h"
#include "check.h"

static void of_few(void)
{
    int64_t one[] = {7}, two[] = {9, 4}, three[] = {5, 1, 3}, four[] = {8, 1, 2, 5};
    CHECK(nl_median_lower(one, 1) == 7 && nl_median_upper(one, 1) == 7 &&
          nl_median_i64(one, 1) == 7);
    CHECK(nl_median_lower(two, 2) == 4 && nl_median_upper(two, 2) == 9);
    CHECK(nl_median_i64(two, 2) == 6); /* 6.5, down */
    CHECK(nl_median_lower(three, 3) == 3 && nl_median_upper(three, 3) == 3 &&
          nl_median_i64(three, 3) == 3);
    CHECK(nl_median_lower(four, 4) == 2 && nl_median_upper(four, 4) == 5 &&
          nl_median_i64(four, 4) == 3);
    CHECK(nl_median_lower_at(4) == 1 && nl_median_upper_at(4) == 2 && nl_median_lower_at(5) == 2 &&
          nl_median_upper_at(5) == 2);
}

static void of_doubles(void)
{
    double two[] = {9, 4}, three[] = {5, 1, 3}, large[] = {1.7e308, 1.5e308, -1.7e308, 1.7e308},
           least[] = {5e-324};
    CHECK(isnan(nl_median_f64(two, 0)));
    CHECK(nl_median_f64(two, 2) == 6.5 && nl_median_f64(three, 3) == 3);
    CHECK(nl_median_f64(large, 4) == 1.6e308);
    CHECK(nl_median_f64(least, 1) == 5e-324);
}

static void of_extremes(void)
{
    int64_t wide[] = {INT64_MAX, INT64_MIN}, below[] = {-3, -4}, top[] = {INT64_MAX, INT64_MAX - 1};
    CHECK(nl_median_i64(wide, 2) == -1); /* of -1/2, down */
    CHECK(nl_median_lower(wide, 2) == INT64_MIN && nl_median_upper(wide, 2) == INT64_MAX);
    CHECK(nl_median_i64(below, 2) == -4);
    CHECK(nl_median_i64(top, 2) == INT64_MAX - 1);
}

CHECK_MAIN("median", {"of few", of_few}, {"of doubles", of_doubles}, {"of extremes", of_extremes})

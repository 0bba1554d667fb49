/*
 * Hodges–Lehmann and its interval: against all differences sorted, and against the reference values of
 * ../shared/oracles/stats_expected.json (scipy's).
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/mem.h"
#include "check.h"
#include "compare/shift.h"

#define STATISTICS "/../../shared/oracles/stats_expected.json"

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* All n × m differences, sorted. */
static double *differences(const double *from, size_t n, const double *to, size_t m)
{
    double *all = nl_alloc((n * m + 1) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            all[i * m + j] = to[j] - from[i];
    qsort(all, n * m, sizeof *all, ascending);
    return all;
}

static void agree(double *from, size_t n, double *to, size_t m)
{
    double *all = differences(from, n, to, m);
    struct nl_shift shift = nl_shift_of(from, n, to, m);
    size_t pairs = n * m;
    double median = pairs % 2 ? all[pairs / 2] : (all[pairs / 2 - 1] + all[pairs / 2]) / 2;
    double a = (double)n, b = (double)m;
    double rank = floor(a * b / 2 - 1.959963984540054 * sqrt(a * b * (a + b + 1) / 12));
    CHECK(shift.point == median);
    if (rank < 1) {
        CHECK(isnan(shift.low) && isnan(shift.high));
    } else {
        CHECK(shift.low == all[(size_t)rank - 1]);
        CHECK(shift.high == all[pairs - (size_t)rank]);
    }
    nl_free(all);
}

static void agrees_with_all_differences(void)
{
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 200; round++) {
        double from[40], to[40];
        size_t n = 1 + (size_t)round % 40, m = 1 + (size_t)(round * 7) % 40;
        for (size_t i = 0; i < 40; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            from[i] = (double)(state % 1000) / 8 - 60; /* with ties and negatives */
            to[i] = (double)(state >> 32) / 4e9;
        }
        agree(from, n, to, m);
    }
}

static void knows_too_few(void)
{
    double one[] = {1}, three[] = {5, 4, 6};
    struct nl_shift shift = nl_shift_of(one, 0, three, 3);
    CHECK(isnan(shift.point));
    shift = nl_shift_of(one, 1, three, 3);
    CHECK(shift.point == 4);
    CHECK(isnan(shift.low));
    CHECK(isnan(nl_median_f64(one, 0)));
    double four[] = {4, 1, 3, 2}, more[] = {14, 11, 13, 12};
    shift = nl_shift_of(four, 4, more, 4);
    CHECK(shift.point == 10 && shift.low == 7 && shift.high == 13);
}

static size_t numbers(const json_t *array, double *out)
{
    size_t count = json_array_size(array);
    for (size_t i = 0; i < count; i++)
        out[i] = json_number_value(json_array_get(array, i));
    return count;
}

static void agrees_with_scipy(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", check_folder, STATISTICS);
    json_t *cases = json_load_file(path, 0, NULL);
    if (!cases) {
        check_skip("no ../shared/oracles");
        return;
    }
    CHECK(json_array_size(cases) >= 8);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        double a[512], b[512];
        const json_t *one = json_array_get(cases, i);
        size_t n = numbers(json_object_get(one, "a"), a), m = numbers(json_object_get(one, "b"), b);
        double expected = json_number_value(json_object_get(one, "hodges_lehmann"));
        CHECK(fabs(nl_shift_of(a, n, b, m).point - expected) < 1e-9);
        CHECK(fabs(nl_median_f64(a, n) - json_number_value(json_object_get(one, "median_a"))) <
              1e-9);
        CHECK(fabs(nl_median_f64(b, m) - json_number_value(json_object_get(one, "median_b"))) <
              1e-9);
    }
    json_decref(cases);
}

CHECK_MAIN("shift", {"agrees with all differences", agrees_with_all_differences},
           {"knows too few", knows_too_few}, {"agrees with scipy", agrees_with_scipy})

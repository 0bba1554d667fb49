/* median — see median.h. */
#include "base/median.h"

#include <math.h>
#include <stdlib.h>

#include "base/sort.h"

int64_t nl_median_lower(int64_t *values, size_t count)
{
    nl_sort_i64(values, count);
    return values[nl_median_lower_at(count)];
}

int64_t nl_median_upper(int64_t *values, size_t count)
{
    nl_sort_i64(values, count);
    return values[nl_median_upper_at(count)];
}

int64_t nl_median_i64(int64_t *values, size_t count)
{
    int64_t low = nl_median_lower(values, count), high = values[nl_median_upper_at(count)];
    return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double nl_median_f64(double *values, size_t count)
{
    if (!count)
        return NAN;
    qsort(values, count, sizeof *values, ascending);
    double low = values[nl_median_lower_at(count)], high = values[nl_median_upper_at(count)];
    return count % 2 ? low : low / 2 + high / 2;
}

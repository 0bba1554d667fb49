/* median — see median.h. */
#include "compare/median.h"

#include <math.h>
#include <stdlib.h>

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
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

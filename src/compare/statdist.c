/* Continued fraction by Lentz's method (as Thompson and Barnett, J. Comput.
 * Phys. 64, 1986, have it). */
#include "compare/statdist.h"

#include <math.h>

#define MIN_NONZERO 1e-300
#define CONVERGED   1e-16
#define TERMS       10000

static double away_from_zero(double value)
{
    return fabs(value) < MIN_NONZERO ? MIN_NONZERO : value;
}

/* The fraction for x below (a + 1) / (a + b + 2), where it converges quickly. */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m < TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < CONVERGED)
            break;
    }
    return value;
}

double nl_incomplete_beta(double a, double b, double x)
{
    if (!(x > 0))
        return x == 0 ? 0 : NAN;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * fraction(a, b, x) / a;
    return 1 - front * fraction(b, a, 1 - x) / b;
}

double nl_normal_above(double z)
{
    return erfc(z / sqrt(2)) / 2;
}

double nl_student_above(double t, double df)
{
    if (isnan(t) || !(df > 0))
        return NAN;
    if (isinf(t))
        return t > 0 ? 0 : 1;
    double tail = nl_incomplete_beta(df / 2, 0.5, df / (df + t * t)) / 2;
    return t > 0 ? tail : 1 - tail;
}

double nl_student_quantile(double tail, double df)
{
    double low = 0, high = 1;
    while (nl_student_above(high, df) > tail && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
        double middle = (low + high) / 2;
        if (nl_student_above(middle, df) > tail)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

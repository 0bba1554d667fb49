/*
 * statdist — the distributions that the tests of comparisons need: normal, Student's t, and the
 * regularised incomplete beta function that the latter needs. Good to about 14 digits, also far out
 * in the tails (probabilities of 1e-300 keep their digits).
 */
#ifndef NL_COMPARE_STATDIST_H
#define NL_COMPARE_STATDIST_H

/* I_x(a, b), 0 <= x <= 1, a, b > 0: Abramowitz and Stegun 26.5.8, as a continued fraction. */
double nl_incomplete_beta(double a, double b, double x);

/* P(Z > z) of the standard normal distribution. */
double nl_normal_above(double z);

/* P(T > t) of Student's t with `df` > 0 degrees of freedom, which need not be whole. */
double nl_student_above(double t, double df);

/* The t that is exceeded with probability `tail`, 0 < tail < 0.5. */
double nl_student_quantile(double tail, double df);

#endif

/*
 * gatenoise — what a side says about the gate's circumstances: whether it has steps, what its
 * captures take, and how they differ.
 */
#ifndef NL_COMPARE_GATENOISE_H
#define NL_COMPARE_GATENOISE_H

#include "compare/diff.h"

/* Whether every capture has steady steps. */
bool nl_gate_has_steps(const struct nl_diff_input *input);

/* The captures of a side in one number each: the typical step, and how they differ. */
struct nl_gate_typical {
    const char *metric; /* step.p50, or run.duration where a capture has no steady steps */
    size_t captures;
    double ns;        /* geometric mean over captures; NaN not known */
    double low, high; /* of it, 95 % (Student's t); NaN with one capture */
    double sd;        /* of the captures' logarithms; NaN with one */
    /* share of the time that other programs took and that is left out; NaN not known */
    double kept;
};

struct nl_gate_typical nl_gate_typical_of(const struct nl_diff_input *input);

/* Standard deviation of the logarithms of the captures' typical steps; NaN with fewer than two. */
double nl_gate_noise(const struct nl_diff_input *input);

#endif

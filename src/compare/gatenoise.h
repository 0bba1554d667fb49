/*
 * gatenoise — what a side tells about the gate's circumstances: whether it has steps, and how its captures
 * differ.
 */
#ifndef NL_COMPARE_GATENOISE_H
#define NL_COMPARE_GATENOISE_H

#include "compare/diff.h"

/* Whether every capture has steady steps. */
bool nl_gate_has_steps(const struct nl_diff_input *input);

/* Standard deviation of the logarithms of the captures' typical steps; NaN with fewer than two. */
double nl_gate_noise(const struct nl_diff_input *input);

#endif

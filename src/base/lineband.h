/*
 * lineband — the straight lines that pass above some points and below others.
 *
 * The question about clocks: what is known of the difference of two clocks is an interval at some
 * moments (both were read together), or one side of it (a thing cannot end before it began). When
 * the difference changes evenly, it is one of the lines that respect all of that. Their extremes at
 * a moment are the tightest bounds that can be given there; if there is no such line, something is
 * wrong by at least `gap`.
 *
 * A linear program in two unknowns, solved exactly (finitely many tangents, no grid): about ten
 * passes over the points. Borrows the points; allocates nothing.
 */
#ifndef NL_LINEBAND_H
#define NL_LINEBAND_H

#include <stdbool.h>
#include <stddef.h>

struct nl_bandpoint {
    double x, low, high; /* low -INFINITY or high INFINITY: no bound on that side */
};

struct nl_band {
    double low, high; /* of all lines at x; without any, both the middle of the best one */
    double slope;     /* of the line that keeps farthest from its bounds */
    double gap;       /* by how much all points must give way for a line to pass; 0 = one does */
};

/* Lines whose slope is within ±most_slope. True when there is one. */
bool nl_lineband(const struct nl_bandpoint *points, size_t count, double x, double most_slope,
                 struct nl_band *band);

#endif

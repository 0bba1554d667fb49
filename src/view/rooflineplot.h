/*
 * rooflineplot — the roofline model as a picture: operations per byte to the right, operations per
 * second upwards, both logarithmic. Roofs are lines (memory bandwidth rises, arithmetic is level);
 * each operator is a letter where its calls stand, 1 to 9 by headroom, the rest a dot. A list
 * below says who they are.
 *
 *     nl_rooflineplot_table(&out, result, &style);    // the result of analysis `roofline`
 *
 * Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.
 */
#ifndef NL_ROOFLINEPLOT_H
#define NL_ROOFLINEPLOT_H

#include "view/plot.h"

struct nl_roofline_roof {
    const char *name;
    double flops_per_s, bytes_per_s;
};

#define NL_ROOFLINE_ROOFS 8 /* at most; further ones are left out */

struct nl_roofline_points {
    const double *intensity, *flops_per_s; /* by importance; NaN and 0 are left out */
    const char *marks;                     /* a letter per point */
    size_t count;
};

/* The picture and the names of its roofs; nothing without a roof. */
void nl_rooflineplot(struct nl_buf *out, const struct nl_roofline_roof *roofs, size_t count,
                     const struct nl_roofline_points *points, const struct nl_plot_style *style);

/* The same of a table with the columns of analysis `roofline`, and a line per numbered operator.
 * Nothing when the table has no operator with FLOPs and a roof. */
void nl_rooflineplot_table(struct nl_buf *out, const struct nl_result *result,
                           const struct nl_plot_style *style);

#endif

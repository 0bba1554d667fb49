/*
 * diffefficiency — how the use of the devices changed between two sides: HFU, MFU, and per
 * operator, family of models and device the share of the roof reached, rates and headroom
 * (work/roofline.h). Of several captures the first of a side stands for it.
 */
#ifndef NL_COMPARE_DIFFEFFICIENCY_H
#define NL_COMPARE_DIFFEFFICIENCY_H

#include "compare/diffside.h"

/* Table "efficiency": a row per device model use and per operator that has a roof on both
 * sides, or on one; by how much time the change of its share of the roof makes. Without rows
 * when neither side has roofs. */
struct nl_result *diff_efficiency(struct diff_side *base, struct diff_side *changed);

#endif

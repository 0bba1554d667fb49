/*
 * difffacts — facts of hardware, software and workload, of both sides of a diff. Any difference is
 * reported, none is judged.
 */
#ifndef NL_COMPARE_DIFFFACTS_H
#define NL_COMPARE_DIFFFACTS_H

#include "compare/diffside.h"

/* Table "facts": what is known of both and differs, or is known of one. */
struct nl_result *diff_facts(struct diff_side *base, struct diff_side *changed);

#endif

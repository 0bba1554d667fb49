/*
 * diffworkload — what two programs were given to do, and with what: batch size, shapes of inputs,
 * precision, framework, driver, versions; as the profiles give it, and as the ledger's runs have it
 * besides. What is not known on a side decides nothing.
 *
 * Shapes: of every operator that both have, the most frequent shapes are compared with each other.
 * Where most of those that differ do so by one factor, that is another batch (or sequence length):
 * the first number that differs is reported of both.
 */
#ifndef NL_COMPARE_DIFFWORKLOAD_H
#define NL_COMPARE_DIFFWORKLOAD_H

#include "compare/diffside.h"

enum diff_decides { DIFF_TOLD, DIFF_DECIDES_IN_CHECK, DIFF_DECIDES };

struct diff_workload_fact {
    const char *name, *base, *changed; /* values NULL = not known */
    enum diff_decides decides;
    bool agrees;
};

struct diff_workload {
    struct diff_workload_fact items[24];
    size_t count;
    struct nl_arena arena;
};

/* The inputs may be NULL: nothing is known besides the profiles. */
void diff_workload_find(struct diff_workload *workload, struct diff_side *base,
                        const struct nl_diff_input *base_input, struct diff_side *changed,
                        const struct nl_diff_input *changed_input);
void diff_workload_release(struct diff_workload *workload);

#endif

/*
 * edgesall — every profile with a number that a threshold is about: a row each, and how it is made.
 */
#ifndef EDGESALL_H
#define EDGESALL_H

#include "edgessampled.h"

static const struct {
    const char *cause, *names, *what; /* names: of the constants that it is about */
    void (*fill)(struct gputrace *make, int64_t x, const char *arg);
    const char *arg;
    int64_t silent, said, warning, critical;
} edges[] = {
#define EDGE(cause, names, what, fill, arg, silent, said, warning, critical)                       \
    {cause, names, what, fill, arg, silent, said, warning, critical},
#include "edgesdevice.def"
#include "edgesgaps.def"
#include "edgescpu.def"
#include "edgeswork.def"
#include "edgessampled.def"
#undef EDGE
};

#define EDGES (sizeof edges / sizeof edges[0])

/* The profile of a row with that number; NULL, with the reason printed, on failure. */
static inline struct nl_trace *edge_build(size_t row, int64_t x)
{
    struct gputrace make;
    gputrace_open(&make);
    edges[row].fill(&make, x, edges[row].arg);
    return gputrace_close(&make);
}

#endif

/*
 * absent — what a format has no place for at all: whole tables, and properties of slices.
 *
 * A row of exporters.def names them by bits; after writing, the command counts the rows that the
 * window has and lists them with what the writer itself had to leave out (nl_export_lost).
 *
 *     nl_export_count_absent(&export, exporter->lacks);
 */
#ifndef NL_ABSENT_H
#define NL_ABSENT_H

#include "export/export.h"

enum {
    NL_LACKS_SLICES = 1 << 0,      /* slices: the file has sums */
    NL_LACKS_HOST = 1 << 1,        /* slices of threads */
    NL_LACKS_DETAILS = 1 << 2,     /* grids, bytes, shapes, … of slices */
    NL_LACKS_LINKS = 1 << 3,       /* from launches to their work */
    NL_LACKS_FLOWS = 1 << 4,       /* other flows */
    NL_LACKS_COUNTERS = 1 << 5,    /* values over time */
    NL_LACKS_MEMORY = 1 << 6,      /* allocations */
    NL_LACKS_SAMPLES = 1 << 7,     /* samples of call stacks */
    NL_LACKS_SLICESTACKS = 1 << 8, /* call stacks at which slices were recorded */
    NL_LACKS_METRICS = 1 << 9,     /* hardware metrics of kernels */
    NL_LACKS_CALLS = 1 << 10,      /* sums of function calls */
    NL_LACKS_SHAPES = 1 << 11,     /* shapes and types of operators */
    NL_LACKS_SIZES = 1 << 12,      /* sizes of collectives */

    /* Formats with a timeline, and more. */
    NL_LACKS_REST = NL_LACKS_SLICESTACKS | NL_LACKS_METRICS | NL_LACKS_CALLS,
    NL_LACKS_STACKS = NL_LACKS_SAMPLES | NL_LACKS_REST,
    NL_LACKS_IN_SPANS = NL_LACKS_STACKS | NL_LACKS_FLOWS | NL_LACKS_MEMORY,
    NL_LACKS_IN_NSYS = NL_LACKS_IN_SPANS | NL_LACKS_COUNTERS | NL_LACKS_SHAPES | NL_LACKS_SIZES,
    NL_LACKS_IN_SPEEDSCOPE =
        NL_LACKS_REST | NL_LACKS_DETAILS | NL_LACKS_LINKS | NL_LACKS_FLOWS | NL_LACKS_COUNTERS,
    NL_LACKS_IN_STACKS = NL_LACKS_REST | NL_LACKS_FLOWS | NL_LACKS_COUNTERS,
    NL_LACKS_IN_SUMS =
        NL_LACKS_STACKS | NL_LACKS_SLICES | NL_LACKS_FLOWS | NL_LACKS_COUNTERS | NL_LACKS_MEMORY
};

/* Counts what the window has of each, as lost. */
void nl_export_count_absent(struct nl_export *export, unsigned lacks);

#endif

/*
 * signature — kernels of a trace by what a kernel profiler and a timeline both record of a launch:
 * name, grid and block. Per source for reports (two reports are two measurements).
 */
#ifndef NL_SIGNATURE_H
#define NL_SIGNATURE_H

#include "store/trace.h"

struct nl_signature {
    uint32_t name;     /* of the trace's dictionary */
    uint32_t shape[6]; /* grid, block */
    uint32_t source;   /* of a report; 0 in the run */
    uint32_t first;    /* of its kernels in members */
    uint32_t kernels;
    uint32_t partner; /* of a report: signature of the run, or NL_NULL_ROW */
    bool ambiguous;   /* of a report: several signatures could be meant */
    bool whole;       /* name, grid and block are known; else it has no partner */
};

struct nl_signatures {
    struct nl_signature *items;
    size_t count, cap;
    uint32_t *members; /* kernel rows, by signature, in their order */
};

void nl_signatures_find(struct nl_signatures *signatures, const struct nl_trace *trace,
                        bool per_source);
void nl_signatures_release(struct nl_signatures *signatures);

/*
 * Finds the partner of every signature of `report` within `run`: equal grid and block, and names
 * equal as they are or, where that is unique on both sides, in one of the forms of kernelname.h.
 * Base names alone decide only when one of the tools wrote no more than the base.
 */
void nl_signatures_match(const struct nl_trace *run, const struct nl_signatures *run_signatures,
                         const struct nl_trace *report, struct nl_signatures *report_signatures);

#endif

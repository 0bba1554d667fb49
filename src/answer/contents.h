/*
 * contents — what a profile has most of, and how long it is, in the words of the first line about
 * it. Slices as a rule; but a memory snapshot of thousands of allocations with one annotation is
 * no profile of one slice.
 */
#ifndef NL_CONTENTS_H
#define NL_CONTENTS_H

#include "store/trace.h"

struct nl_contents {
    /* 0 = no events; the words are then those of slices, which are events to users */
    uint64_t count;
    const char *one, *many;
    bool slices; /* it is slices that are counted */
    /* from the first to the last of what is counted and of slices; 0 = without times */
    int64_t span_ns;
};

struct nl_contents nl_contents_of(const struct nl_trace *trace);

#endif

/*
 * link — device work and the calls that launched it, flows and the slices they start and end
 * in. Not for other rooms.
 */
#ifndef NL_LINK_H
#define NL_LINK_H

#include "store/trace.h"

struct nl_launches {
    uint64_t unlinked;   /* device work whose call is not in the file */
    uint64_t duplicates; /* calls with the id of another one */
};

/* slice.link of device work and of the calls that launched it, by their ids; of the trace it writes
 * nothing else. `per_process` is indexed by source. */
struct nl_launches nl_link_launches(struct nl_trace *trace, const bool *per_process);

/* The slices that flows start and end in, and launches that are flows. After the above. */
void nl_link_flows(struct nl_trace *trace, unsigned threads);

/* Makes external ids of device work and API calls of the marked sources unknown. */
void nl_forget_external_ids(struct nl_trace *trace, const bool *forget);

#endif

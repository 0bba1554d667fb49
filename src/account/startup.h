/*
 * startup — when a rank without steps has started up: where its steady part begins.
 */
#ifndef NL_STARTUP_H
#define NL_STARTUP_H

#include "store/trace.h"
#include "timeline/apirole.h"

/* Where the device work of a rank begins, where start-up is over, and where the work ends. start >=
 * end: the rank has no device work. */
struct nl_startup {
    int64_t rank, start, steady, end;
};

/* One per rank of the trace's lanes, and of unknown rank, ascending; nl_free it. Start-up lasts
 * until the first kernel (copies before it bring the model in); on to the end of calls that load or
 * compile code, or capture graphs, while they take at least 30 % of the time since the first work;
 * and on past device gaps, each of at least 10 % of the time from the first to the last work, while
 * these gaps are at least 80 % of the time so far and half of the whole. */
struct nl_startup *nl_startups(const struct nl_trace *trace, const struct nl_api_roles *roles,
                               size_t *count);

#endif

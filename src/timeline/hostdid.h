/*
 * hostdid — what a thread was doing at a moment, as one of few activities and a name: the innermost
 * of its slices (timeline/hosttime.h) unless it was off the processors (timeline/offcpu.h), and
 * what the thread it waited for did where that is known (timeline/waitfor.h).
 *
 *     struct nl_hostdid host;
 *     nl_hostdid_init(&host, trace);
 *     for (int64_t until; now < end; now = until)
 *         did = nl_hostdid_at(&host, thread, now, &until);
 *
 * Off the processors is what a thread did, except inside calls of the device's API: those say more,
 * unless the thread only lacked a processor. Ask about one thread with ascending times: the cursors
 * then walk over its slices once. Everything that says what the CPU did asks here, so that a moment
 * has one activity everywhere.
 */
#ifndef NL_HOSTDID_H
#define NL_HOSTDID_H

#include "timeline/apirole.h"
#include "timeline/hosttime.h"
#include "timeline/offcpu.h"
#include "timeline/waitfor.h"
#include "timeline/waitname.h"

/* The names are in nl_activity_name. */
enum nl_activity {
    NL_ACTIVITY_NOTHING, /* nothing was recorded */
    NL_ACTIVITY_OP,
    NL_ACTIVITY_PYTHON,
    NL_ACTIVITY_LAYER,
    NL_ACTIVITY_RANGE, /* NVTX or annotation, nothing inside it */
    NL_ACTIVITY_LAUNCH,
    NL_ACTIVITY_SYNC,
    NL_ACTIVITY_COPY,
    NL_ACTIVITY_ALLOCATE,
    NL_ACTIVITY_MODULE,
    NL_ACTIVITY_GRAPH_BUILD,
    NL_ACTIVITY_API,
    NL_ACTIVITY_SYSTEM,
    NL_ACTIVITY_GC,
    NL_ACTIVITY_COMPILE,
    NL_ACTIVITY_OVERHEAD,
    NL_ACTIVITY_FUNCTION, /* a function, by CPU samples or sums */
    NL_ACTIVITY_OTHER,
    NL_ACTIVITY_OFF,     /* off the processors, why was not recorded */
    NL_ACTIVITY_WAITING, /* off the processors, or in a call or function that only waits */
    NL_ACTIVITY_READY,   /* off the processors though it could run */
    NL_ACTIVITY_QUEUED,  /* the launch had returned: the work was on its way, or waited */
    NL_ACTIVITY_UNKNOWN, /* the launch is not known, or the gap is short */
    NL_ACTIVITY_COUNT
};

/* "operator", "launch call". */
const char *nl_activity_name(enum nl_activity activity);

/* What a thread did for a while. */
struct nl_did {
    uint8_t activity; /* enum nl_activity */
    bool elsewhere;   /* not the thread itself did that, but one it waited for */
    uint32_t name;    /* dictionary id of the slice, NL_NO_NAME none */
    uint32_t slice;   /* of the thread itself, NL_NULL_ROW nothing recorded */
    uint32_t range; /* NVTX range, annotation or module around it on the thread, NL_NULL_ROW none */
};

struct nl_hostdid {
    const struct nl_trace *trace; /* borrowed */
    struct nl_host host;
    struct nl_offcpu off;
    struct nl_waitfor waits;
    struct nl_wait_names wait_names;
    const struct nl_api_roles *roles; /* borrowed */
};

void nl_hostdid_init(struct nl_hostdid *host, const struct nl_trace *trace,
                     const struct nl_api_roles *roles);
void nl_hostdid_release(struct nl_hostdid *host);

/* What `thread` (a row) does at `now`; it holds until *until, which is later. */
struct nl_did nl_hostdid_at(struct nl_hostdid *host, uint32_t thread, int64_t now, int64_t *until);

#endif

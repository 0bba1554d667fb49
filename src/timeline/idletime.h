/*
 * idletime — when a device has nothing to do, why, and what its host was doing meanwhile.
 *
 * A gap is a maximal stretch between the first and the last work of a device without any work on
 * any of its streams: kernels, copies, fills and whole graphs are work, waits are not. So the gaps
 * of a device add up to its idle_ns of time_breakdown, exactly. Gaps under NL_IDLE_SHORT_NS are
 * only counted and summed.
 *
 * The owner of a gap is the first work after it, and the gap's class follows from the owner's
 * launch (HTA's host_wait / kernel_wait / other, but per device and with waits resolved):
 *
 *   host_late        the launch began after the gap had begun: the device waited for the CPU
 *   dependency       launched before, and the owner's stream had been told to wait for an event
 *   launch_latency   launched before, and nothing is known that it waited for
 *   unknown          the owner's launch was not recorded
 *   short            under 1 µs: not looked at
 *
 * Every gap is divided, exactly, by what the launching thread did: the slice that was innermost
 * (timeline/hosttime.h) until the launching call returned; after it the work was queued. Where it was off
 * the processors (timeline/offcpu.h) that is what it did, except inside calls of the device's API: those
 * say more, unless the thread only lacked a processor. Where it waited for another thread that is known
 * (timeline/waitfor.h), what that one did counts, and `elsewhere` says so.
 *
 * Cost: one pass over the device's work; per gap a few cursor moves. All of a struct nl_idle is
 * owned by it.
 */
#ifndef NL_IDLETIME_H
#define NL_IDLETIME_H

#include "timeline/breakdown.h"

#define NL_IDLE_SHORT_NS 1000

enum nl_idle_class {
    NL_IDLE_HOST_LATE,
    NL_IDLE_DEPENDENCY,
    NL_IDLE_LAUNCH_LATENCY,
    NL_IDLE_UNKNOWN,
    NL_IDLE_SHORT,
    NL_IDLE_CLASSES
};

/* What the launching thread did. The names are in nl_idle_activity_name. */
enum nl_idle_activity {
    NL_DID_NOTHING, /* nothing was recorded */
    NL_DID_OP,
    NL_DID_PYTHON,
    NL_DID_LAYER,
    NL_DID_RANGE, /* NVTX or annotation, nothing inside it */
    NL_DID_LAUNCH,
    NL_DID_SYNC,
    NL_DID_COPY,
    NL_DID_ALLOCATE,
    NL_DID_MODULE,
    NL_DID_GRAPH_BUILD,
    NL_DID_API,
    NL_DID_SYSTEM,
    NL_DID_GC,
    NL_DID_COMPILE,
    NL_DID_OVERHEAD,
    NL_DID_OTHER,
    NL_DID_OFF,     /* off the processors, why was not recorded */
    NL_DID_WAITING, /* off the processors, or in a system call that only waits */
    NL_DID_READY,   /* off the processors though it could run */
    NL_DID_QUEUED,  /* the launch had returned: the work was on its way, or waited */
    NL_DID_UNKNOWN, /* the launch is not known, or the gap is short */
    NL_DID_COUNT
};

struct nl_idle_gap {
    int64_t start, end;     /* store time */
    int64_t activity_ns;    /* of the gap, under the activity it saw most of */
    uint32_t before, after; /* slices: the work that ended last, and the owner */
    uint32_t launch, sync;  /* slices or NL_NULL_ROW; sync: see below */
    uint32_t name;          /* of that activity: dictionary id */
    uint8_t class, activity;
    bool elsewhere; /* not the launching thread did that, but one it waited for */
};
/* sync is the blocking call on the launching thread that was open when a host_late gap began: the
 * CPU waited for the device to run dry. What it costs is the idle time from its end on. */

/* Idle time of one device under one class, activity, name and side. */
struct nl_idle_sum {
    uint8_t class, activity;
    bool elsewhere;
    uint32_t name;
    uint64_t gaps; /* in which it occurs */
    int64_t total_ns;
    size_t mark;       /* while gaps are divided */
    size_t longest[3]; /* gaps with most of it, indices into nl_idle.gaps; SIZE_MAX none */
    int64_t longest_ns[3];
};

struct nl_idle_device {
    uint32_t device, process; /* rows; NL_NULL_ROW unknown */
    int64_t rank, ordinal;    /* NL_NULL_I64 unknown */
    int64_t start_ns, wall_ns, idle_ns;
    int64_t class_ns[NL_IDLE_CLASSES];
    uint64_t class_count[NL_IDLE_CLASSES];
    int64_t sync_ns;        /* idle from the end of a blocking call to the next work */
    size_t first_gap, gaps; /* in order of time */
    size_t first_sum, sums; /* longest total first */
};

struct nl_idle {
    struct nl_idle_device *devices; /* sorted by (rank, device) */
    struct nl_idle_gap *gaps;       /* without the short ones */
    struct nl_idle_sum *sums;
    size_t device_count, gap_count, sum_count;
    size_t gap_cap, sum_cap;
};

struct nl_idle *nl_idle_new(const struct nl_trace *trace, const struct nl_window *window);
void nl_idle_free(struct nl_idle *idle);

/* "host_late", "operator". */
const char *nl_idle_class_name(enum nl_idle_class class);
const char *nl_idle_activity_name(enum nl_idle_activity activity);

/* Whose activity it was: "launching", "other" (one that it waited for), or NULL when nobody's. */
const char *nl_idle_thread_name(uint8_t activity, bool elsewhere);

/* Idle time of a gap from the end of its sync on; 0 without one. */
int64_t nl_idle_sync_cost(const struct nl_trace *trace, const struct nl_idle_gap *gap);

#endif

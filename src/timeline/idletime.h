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
 *   dependency       launched before, and the owner's stream had to wait for an event
 *   launch_latency   launched before, nothing is known that it waited for, and the gap is no longer than
 *                    a launch takes to reach the device (30 µs: HTA's kernel_wait)
 *   queued           the same, but longer: it waited for something that was not recorded
 *   unknown          the owner's launch was not recorded; such a gap is divided by what the thread did
 *                    that feeds the device (timeline/feeder.h), where one is known
 *   short            under 1 µs: not looked at
 *
 * Every gap is divided, exactly, by what the launching thread did: the slice that was innermost
 * (timeline/hostdid.h) until the launching call returned; after it the work was queued.
 *
 * Cost: one pass over the device's work; per gap a few cursor moves. All of a struct nl_idle is
 * owned by it.
 */
#ifndef NL_IDLETIME_H
#define NL_IDLETIME_H

#include "timeline/breakdown.h"
#include "timeline/hostdid.h"

struct nl_work_lane;

#define NL_IDLE_SHORT_NS   1000
#define NL_IDLE_LATENCY_NS 30000

enum nl_idle_class {
    NL_IDLE_HOST_LATE,
    NL_IDLE_DEPENDENCY,
    NL_IDLE_LAUNCH_LATENCY,
    NL_IDLE_QUEUED,
    NL_IDLE_UNKNOWN,
    NL_IDLE_SHORT,
    NL_IDLE_CLASSES
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
 * CPU waited for the device to run dry. Without it the CPU could have run ahead by as long as the
 * device worked during the call: from its return on, that much of the gap would have been hidden
 * (clipped to the gap's end). The rest is what the CPU did, whether it waits or not. */

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

/* Between the device's first and last work, before, or after. */
enum nl_idle_where { NL_IDLE_INSIDE, NL_IDLE_BEFORE, NL_IDLE_AFTER };

/* A part of a gap under one activity, in order of time within a device. */
struct nl_idle_segment {
    const struct nl_idle_gap *gap;    /* NULL: a short gap, of which nothing is known */
    const struct nl_work_lane *lanes; /* of the device: the first of its group in nl_work_lanes */
    int64_t start, end;               /* store time */
    enum nl_idle_where where;
    struct nl_did did;
    /* the gap's sync where running ahead would have hidden the part, else NL_NULL_ROW */
    uint32_t wait;
};

/* Where the parts of all gaps go, when given: Σ of their lengths = idle_ns, per device. */
struct nl_idle_sink {
    void *context;
    void (*add)(void *context, const struct nl_idle_segment *segment);
    /* When given: the span of a device's account: time outside its work is also reported. */
    void (*span)(void *context, const struct nl_work_lane *lanes, size_t count, int64_t *start,
                 int64_t *end);
};

struct nl_idle *nl_idle_new_with_sink(const struct nl_trace *trace, const struct nl_window *window,
                                      const struct nl_api_roles *roles,
                                      const struct nl_idle_sink *sink);
struct nl_idle *nl_idle_new(const struct nl_trace *trace, const struct nl_window *window);
void nl_idle_free(struct nl_idle *idle);

/* "host_late". */
const char *nl_idle_class_name(enum nl_idle_class class);

/* Whose activity it was: "launching", "other" (one that it waited for), or NULL if of no thread. */
const char *nl_idle_thread_name(uint8_t activity, bool elsewhere);

/* Idle time of a gap from the end of its sync on; 0 without one. */
int64_t nl_idle_sync_cost(const struct nl_trace *trace, const struct nl_idle_gap *gap);

#endif

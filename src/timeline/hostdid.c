/* hostdid — see hostdid.h. */
#include "timeline/hostdid.h"

static const char *const activity_names[NL_ACTIVITY_COUNT] = {
    [NL_ACTIVITY_NOTHING] = "nothing recorded",
    [NL_ACTIVITY_OP] = "operator",
    [NL_ACTIVITY_PYTHON] = "python",
    [NL_ACTIVITY_LAYER] = "layer",
    [NL_ACTIVITY_RANGE] = "range",
    [NL_ACTIVITY_LAUNCH] = "launch call",
    [NL_ACTIVITY_SYNC] = "synchronisation",
    [NL_ACTIVITY_COPY] = "copy call",
    [NL_ACTIVITY_ALLOCATE] = "allocator call",
    [NL_ACTIVITY_MODULE] = "module loading",
    [NL_ACTIVITY_GRAPH_BUILD] = "graph capture",
    [NL_ACTIVITY_API] = "other call",
    [NL_ACTIVITY_SYSTEM] = "system call",
    [NL_ACTIVITY_GC] = "garbage collection",
    [NL_ACTIVITY_COMPILE] = "compilation",
    [NL_ACTIVITY_OVERHEAD] = "overhead",
    [NL_ACTIVITY_FUNCTION] = "function",
    [NL_ACTIVITY_OTHER] = "other",
    [NL_ACTIVITY_OFF] = "off-CPU",
    [NL_ACTIVITY_WAITING] = "off-CPU (waiting)",
    [NL_ACTIVITY_READY] = "off-CPU (ready to run)",
    [NL_ACTIVITY_QUEUED] = "queued",
    [NL_ACTIVITY_UNKNOWN] = "unknown",
};

/* Kinds that are not named: NL_ACTIVITY_OTHER. */
static const uint8_t kind_activity[UINT8_MAX + 1] = {
    [NL_KIND_OP] = NL_ACTIVITY_OP + 1,           [NL_KIND_PYTHON] = NL_ACTIVITY_PYTHON + 1,
    [NL_KIND_LAYER] = NL_ACTIVITY_LAYER + 1,     [NL_KIND_NVTX] = NL_ACTIVITY_RANGE + 1,
    [NL_KIND_OSRT] = NL_ACTIVITY_SYSTEM + 1,     [NL_KIND_GC] = NL_ACTIVITY_GC + 1,
    [NL_KIND_COMPILE] = NL_ACTIVITY_COMPILE + 1, [NL_KIND_OVERHEAD] = NL_ACTIVITY_OVERHEAD + 1,
};

static const uint8_t role_activity[] = {
    [NL_API_OTHER] = NL_ACTIVITY_API,           [NL_API_LAUNCH] = NL_ACTIVITY_LAUNCH,
    [NL_API_GRAPH_LAUNCH] = NL_ACTIVITY_LAUNCH, [NL_API_GRAPH_BUILD] = NL_ACTIVITY_GRAPH_BUILD,
    [NL_API_COPY] = NL_ACTIVITY_COPY,           [NL_API_FILL] = NL_ACTIVITY_LAUNCH,
    [NL_API_SYNC] = NL_ACTIVITY_SYNC,           [NL_API_STREAM_WAIT] = NL_ACTIVITY_API,
    [NL_API_ALLOCATE] = NL_ACTIVITY_ALLOCATE,   [NL_API_HOST_ALLOCATE] = NL_ACTIVITY_ALLOCATE,
    [NL_API_MODULE] = NL_ACTIVITY_MODULE,
};

/* Of which being off the processors says more than the slice around it. */
static const bool gives_way[NL_ACTIVITY_COUNT] = {
    [NL_ACTIVITY_NOTHING] = true, [NL_ACTIVITY_OP] = true,    [NL_ACTIVITY_PYTHON] = true,
    [NL_ACTIVITY_LAYER] = true,   [NL_ACTIVITY_RANGE] = true, [NL_ACTIVITY_SYSTEM] = true,
    [NL_ACTIVITY_OTHER] = true,
};

const char *nl_activity_name(enum nl_activity activity)
{
    return activity_names[activity];
}

static uint8_t activity_of(const struct nl_hostdid *host, uint32_t slice)
{
    const struct nl_trace *trace = host->trace;
    if (slice == NL_NULL_ROW)
        return NL_ACTIVITY_NOTHING;
    uint8_t kind = trace->slice.kind[slice];
    if (kind == NL_KIND_API)
        return role_activity[nl_api_slice_role(host->roles, trace, slice)];
    return kind_activity[kind] ? (uint8_t)(kind_activity[kind] - 1) : NL_ACTIVITY_OTHER;
}

/* A function that only waits, by its name; those of the system are blockingcalls.def. */
static bool is_wait(struct nl_hostdid *host, const struct nl_did *did)
{
    return (did->activity == NL_ACTIVITY_PYTHON || did->activity == NL_ACTIVITY_OTHER) &&
           nl_wait_names_has(&host->wait_names, did->name);
}

/* What `thread`, which is in `slice`, does from `now` until *until. */
static struct nl_did did_at(struct nl_hostdid *host, uint32_t thread, uint32_t slice, int64_t now,
                            int64_t *until)
{
    struct nl_did did = {activity_of(host, slice), false,
                         slice == NL_NULL_ROW ? NL_NO_NAME : host->trace->slice.name[slice], slice,
                         NL_NULL_ROW};
    switch (nl_offcpu_at(&host->off, thread, now, until)) {
    case NL_CPU_UNKNOWN:
        if (nl_offcpu_is_wait(&host->off, slice) || is_wait(host, &did))
            did.activity = NL_ACTIVITY_WAITING;
        break;
    case NL_CPU_ON: break;
    case NL_CPU_OFF: did.activity = gives_way[did.activity] ? NL_ACTIVITY_OFF : did.activity; break;
    case NL_CPU_WAITING:
        did.activity = gives_way[did.activity] ? NL_ACTIVITY_WAITING : did.activity;
        break;
    case NL_CPU_READY: did.activity = NL_ACTIVITY_READY; break;
    }
    return did;
}

struct nl_did nl_hostdid_at(struct nl_hostdid *host, uint32_t thread, int64_t now, int64_t *until)
{
    uint32_t slice = nl_host_at(&host->host, thread, now, until);
    struct nl_did did = did_at(host, thread, slice, now, until);
    uint32_t range = did.range = nl_host_range(&host->host, thread);
    if (did.activity == NL_ACTIVITY_READY)
        return did;
    uint32_t other = nl_waitfor_slice(&host->waits, thread, slice, now, until);
    if (other == NL_NULL_ROW)
        return did;
    uint32_t lane = host->trace->slice.lane[other];
    did = did_at(host, host->trace->lane.thread[lane], other, now, until);
    did.elsewhere = true;
    did.slice = slice;
    did.range = range;
    return did;
}

void nl_hostdid_init(struct nl_hostdid *host, const struct nl_trace *trace,
                     const struct nl_api_roles *roles)
{
    host->trace = trace;
    nl_host_init(&host->host, trace);
    nl_offcpu_init(&host->off, trace);
    nl_wait_names_init(&host->wait_names, trace);
    nl_waitfor_init(&host->waits, trace, &host->host, &host->off);
    host->roles = roles;
}

void nl_hostdid_release(struct nl_hostdid *host)
{
    nl_waitfor_release(&host->waits);
    nl_wait_names_release(&host->wait_names);
    nl_offcpu_release(&host->off);
    nl_host_release(&host->host);
}

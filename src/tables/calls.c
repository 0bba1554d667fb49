/*
 * calls — calls of the runtime by what they are for, and what they cost the device: graph launches,
 * waits, allocation, loading of code. Cost is idle time of devices under such a call, and for calls
 * that block, the idle time from their return to the next work; waiting for a busy device is free.
 */
#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "timeline/apirole.h"

#define ROLES   (NL_API_MODULE + 1)
#define WARM_UP 5 /* the first fifth of the time */

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(purpose, NULL, TEXT)                                                                         \
    C(count, NULL, COUNT)                                                                          \
    C(total_ns, "total", NS)                                                                       \
    C(max_ns, "max", NS)                                                                           \
    C(steady_count, "after first fifth", COUNT)                                                    \
    C(steady_ns, "their time", NS)                                                                 \
    C(blocking_count, "blocking", COUNT)                                                           \
    C(idle_during_ns, "device idle meanwhile", NS)                                                 \
    C(idle_after_ns, "device idle after blocking", NS)                                             \
    C(wall_share, "of wall", SHARE)
NL_COLUMNS(COLUMNS);

static const char *const purposes[ROLES] = {
    "other",    "launch",      "graph launch", "graph capture",          "copy",
    "fill",     "synchronise", "stream wait",  "allocate device memory", "allocate host memory",
    "load code"};

struct tally {
    int64_t rank;
    uint64_t count[ROLES], steady[ROLES], blocking[ROLES];
    int64_t total[ROLES], steady_ns[ROLES], most[ROLES], during[ROLES], after[ROLES];
    int64_t wall;
};

struct tallies {
    struct tally *items;
    size_t count, cap;
};

static struct tally *tally_of(struct tallies *tallies, int64_t rank)
{
    for (size_t i = 0; i < tallies->count; i++)
        if (tallies->items[i].rank == rank)
            return &tallies->items[i];
    nl_grow(&tallies->items, &tallies->cap, tallies->count + 1);
    struct tally *tally = &tallies->items[tallies->count++];
    *tally = (struct tally){.rank = rank};
    return tally;
}

static void count_calls(struct tallies *tallies, const struct nl_scope *scope,
                        const struct nl_api_roles *roles)
{
    const struct nl_trace *trace = scope->trace;
    int64_t steady = trace->first_ts + (trace->last_ts - trace->first_ts) / WARM_UP;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        int64_t dur = nl_scope_length(scope, slice);
        if (dur < 0)
            continue;
        struct tally *tally = tally_of(tallies, nl_lane_rank(trace, trace->slice.lane[slice]));
        enum nl_api_role role = nl_api_slice_role(roles, trace, slice);
        tally->count[role]++;
        nl_sum_add(&tally->total[role], dur);
        tally->most[role] = dur > tally->most[role] ? dur : tally->most[role];
        tally->blocking[role] += nl_api_slice_blocks(roles, trace, slice);
        if (trace->slice.ts[slice] >= steady) {
            tally->steady[role]++;
            nl_sum_add(&tally->steady_ns[role], dur);
        }
    }
}

static bool is_call(enum nl_activity activity)
{
    return activity == NL_ACTIVITY_LAUNCH || activity == NL_ACTIVITY_SYNC ||
           activity == NL_ACTIVITY_COPY || activity == NL_ACTIVITY_ALLOCATE ||
           activity == NL_ACTIVITY_MODULE || activity == NL_ACTIVITY_GRAPH_BUILD ||
           activity == NL_ACTIVITY_API;
}

static void count_idle(struct tallies *tallies, const struct nl_trace *trace,
                       const struct nl_idle *idle, const struct nl_api_roles *roles)
{
    for (size_t i = 0; i < idle->device_count; i++) {
        const struct nl_idle_device *device = &idle->devices[i];
        struct tally *tally = tally_of(tallies, device->rank);
        nl_sum_add(&tally->wall, device->wall_ns);
        for (size_t j = 0; j < device->sums; j++) {
            const struct nl_idle_sum *sum = &idle->sums[device->first_sum + j];
            if (is_call((enum nl_activity)sum->activity))
                nl_sum_add(&tally->during[roles->by_name[sum->name] & ~NL_API_BLOCKS],
                           sum->total_ns);
        }
        for (size_t j = 0; j < device->gaps; j++) {
            const struct nl_idle_gap *gap = &idle->gaps[device->first_gap + j];
            if (gap->sync != NL_NULL_ROW)
                tally->after[nl_api_slice_role(roles, trace, gap->sync)] +=
                    nl_idle_sync_cost(trace, gap);
        }
    }
}

static void calls_add_rows(struct nl_result *result, const struct tally *tally)
{
    for (size_t role = 0; role < ROLES; role++) {
        if (!tally->count[role])
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_rank] = nl_cell_i64(tally->rank);
        cells[AT_purpose] = nl_cell_static(purposes[role]);
        cells[AT_count] = nl_cell_count(tally->count[role]);
        cells[AT_total_ns] = nl_cell_i64(tally->total[role]);
        cells[AT_max_ns] = nl_cell_i64(tally->most[role]);
        cells[AT_steady_count] = nl_cell_count(tally->steady[role]);
        cells[AT_steady_ns] = nl_cell_i64(tally->steady_ns[role]);
        cells[AT_blocking_count] = nl_cell_count(tally->blocking[role]);
        cells[AT_idle_during_ns] = nl_cell_i64(tally->during[role]);
        cells[AT_idle_after_ns] = nl_cell_i64(tally->after[role]);
        cells[AT_wall_share] = nl_cell_share(tally->during[role] + tally->after[role], tally->wall);
    }
}

static struct nl_result *calls_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_window window = nl_analyze_host_window(options);
    struct nl_scope scope;
    struct tallies tallies = {0};
    nl_scope_init(&scope, trace, &window);
    const struct nl_api_roles *roles = nl_memo_roles(options->memo);
    const struct nl_idle *idle = nl_memo_idle(options->memo);
    count_calls(&tallies, &scope, roles);
    count_idle(&tallies, trace, idle, roles);
    struct nl_result *result = NL_ANSWER_NEW("calls", NULL, columns);
    for (size_t i = 0; i < tallies.count; i++)
        calls_add_rows(result, &tallies.items[i]);
    nl_free(tallies.items);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_calls = {
    .name = "calls",
    .key = "calls",
    .title = "CUDA/HIP calls by purpose, and what they cost the device",
    .needs = {{NL_T_api, NULL}},
    .need_count = 1,
    .run = calls_run,
    .doc = "Per rank and purpose of a call (launch, graph launch, synchronise, allocate, load "
           "code, …): count and time on the CPU, both also after the first fifth of the profile "
           "(steady state), idle time of devices while the launching thread is in such a call and, "
           "for calls that waited until the device ran out of work, the idle time from their "
           "return to the next operation. Waiting for a busy device costs nothing.",
};

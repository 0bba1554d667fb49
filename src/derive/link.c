/*
 * Links: device work → the API call that launched it, by correlation id within a file or a process;
 * one call may have launched many (graphs). Flows → the slices they start and end in.
 *
 * The join is one open-addressing table of (scope, correlation) → API slice, or, where all ids are
 * of one scope and numbered with few holes, an array by id. When several calls carry one id (a
 * runtime call and the driver call below it) the first in slice order, the outer one, is kept and
 * the others are counted. One thread joins: to share the ids among threads, each has to look at all
 * of them, which takes as long.
 */
#include "derive/link.h"

#include "base/mem.h"
#include "base/pool.h"
#include "store/copykind.h"

struct scopes {
    const struct nl_trace *trace;
    uint32_t *of; /* per lane */
    bool one;     /* all slices have the same, of[0]: no need to look */
};

/* Slots hold an API row + 1, 0 = free: a quarter of the memory of holding the keys, and memory is
 * what this join costs. */
struct call_table {
    const struct nl_trace *trace;
    const struct scopes *scopes;
    uint32_t *slots;
    uint64_t size, mask;
    bool dense; /* a slot per id from `first` on */
    uint64_t first;
    uint32_t none; /* 0: the slot of ids outside them */
    uint64_t calls, duplicates, unlinked;
};

/* Ids of one scope are nearly consecutive, so runs of 64 stay neighbours: the join walks memory in
 * order, while ids with a stride (pointers, on some ROCm versions) still spread. */
static uint64_t run_hash(uint64_t correlation, uint32_t scope)
{
    return nl_hash_number((correlation >> 6) + ((uint64_t)scope << 40));
}

static uint64_t call_hash(uint64_t correlation, uint32_t scope)
{
    uint64_t run = run_hash(correlation, scope);
    return (run ^ run >> 29) << 6 ^ (correlation & 63) ^ (uint64_t)scope << 6;
}

/* Where the correlation ids of a lane's slices are unique: the source, or the process (numbers do
 * not collide: processes are offset by 2^31). */
static uint32_t scope_of_lane(const struct nl_trace *t, const bool *per_process, uint32_t lane)
{
    uint32_t process = t->lane.process[lane];
    uint32_t source = process == NL_NULL_ROW ? NL_NULL_ROW : t->process.source[process];
    if (source == NL_NULL_ROW)
        return NL_NULL_ROW;
    return per_process[source] ? process | 0x80000000u : source;
}

static void find_scopes(struct scopes *scopes, const bool *per_process)
{
    const struct nl_trace *t = scopes->trace;
    uint32_t first = NL_NULL_ROW;
    scopes->of = nl_alloc((t->lane.rows + 1u) * sizeof *scopes->of);
    scopes->one = true;
    for (uint32_t lane = 0; lane < t->lane.rows; lane++) {
        scopes->of[lane] = scope_of_lane(t, per_process, lane);
        if (t->lane.count[lane] == 0)
            continue;
        first = first == NL_NULL_ROW ? lane : first;
        scopes->one &= scopes->of[lane] == scopes->of[first];
    }
    if (scopes->one && first != NL_NULL_ROW)
        scopes->of[0] = scopes->of[first];
}

static inline uint32_t scope_of(const struct call_table *table, uint32_t slice)
{
    return table->scopes->of[table->scopes->one ? 0 : table->trace->slice.lane[slice]];
}

static inline bool is_unknown(uint64_t correlation)
{
    return correlation == NL_NULL_U64 || correlation == 0;
}

/* A run that meets another one in its place goes on 64 slots further as a whole: one by one, each
 * of its ids would pass all of the other's. 65 is odd, so every slot is met. */
#define STEP 65

/* Slot of a key: the one that holds it, or the free one where it would go. */
static uint32_t *find_slot(struct call_table *table, uint64_t correlation, uint32_t scope)
{
    const struct nl_trace *t = table->trace;
    if (table->dense) {
        uint64_t place = correlation - table->first;
        return place < table->size ? &table->slots[place] : &table->none;
    }
    uint64_t at = call_hash(correlation, scope) & table->mask;
    for (; table->slots[at]; at = (at + STEP) & table->mask) {
        uint32_t row = table->slots[at] - 1;
        if (t->api.correlation[row] == correlation &&
            (table->scopes->one || scope_of(table, t->api.slice[row]) == scope))
            break;
    }
    return &table->slots[at];
}

#define MAX_HOLES 4 /* slots for each call: no more memory than the table by hashes takes */

/* Slots by id where these are dense; else for all calls, half of them at least free. */
static void make_slots(struct call_table *table)
{
    const struct nl_trace *t = table->trace;
    uint64_t first = UINT64_MAX, last = 0, size = 16;
    for (uint32_t i = 0; i < t->api.rows; i++) {
        uint64_t correlation = t->api.correlation[i];
        if (is_unknown(correlation))
            continue;
        first = correlation < first ? correlation : first;
        last = correlation > last ? correlation : last;
    }
    table->dense =
        table->scopes->one && first <= last && last - first < (uint64_t)t->api.rows * MAX_HOLES;
    table->first = first;
    while (size < (uint64_t)t->api.rows * 2)
        size *= 2;
    table->mask = size - 1;
    table->size = table->dense ? last - first + 1 : size;
    table->slots = nl_pages(table->size * sizeof *table->slots);
    nl_touch(table->slots, table->size * sizeof *table->slots);
}

static void index_calls(struct call_table *table)
{
    const struct nl_trace *t = table->trace;
    for (uint32_t i = 0; i < t->api.rows; i++) {
        uint64_t correlation = t->api.correlation[i];
        uint32_t slice = t->api.slice[i];
        if (slice == NL_NULL_ROW || is_unknown(correlation))
            continue;
        uint32_t *slot = find_slot(table, correlation, scope_of(table, slice));
        table->duplicates += *slot != 0;
        if (!*slot || t->slice.ts[slice] < t->slice.ts[t->api.slice[*slot - 1]])
            *slot = i + 1;
        table->calls++;
    }
}

struct device_work {
    const uint32_t *slices;
    const uint64_t *correlations;
    uint32_t rows;
};

/* Links the rows of one device table; counts work whose launch is not in the file. */
static uint64_t link_rows(struct nl_trace *t, struct call_table *table,
                          const struct device_work *work)
{
    uint64_t unlinked = 0;
    for (uint32_t i = 0; i < work->rows; i++) {
        uint32_t slice = work->slices[i];
        uint64_t correlation = work->correlations[i];
        if (slice == NL_NULL_ROW)
            continue;
        uint32_t found =
            is_unknown(correlation) ? 0 : *find_slot(table, correlation, scope_of(table, slice));
        if (!found) {
            unlinked++;
            continue;
        }
        uint32_t call = t->api.slice[found - 1];
        t->slice.link[slice] = call;
        uint32_t *first = &t->slice.link[call];
        if (*first == NL_NULL_ROW || t->slice.ts[slice] < t->slice.ts[*first])
            *first = slice;
    }
    return unlinked;
}

static void join_calls(struct nl_trace *t, struct call_table *table)
{
    const struct device_work work[] = {{t->kernel.slice, t->kernel.correlation, t->kernel.rows},
                                       {t->copy.slice, t->copy.correlation, t->copy.rows},
                                       {t->memset.slice, t->memset.correlation, t->memset.rows},
                                       {t->graph.slice, t->graph.correlation, t->graph.rows}};
    const struct device_work waits = {t->sync.slice, t->sync.correlation, t->sync.rows};
    make_slots(table);
    index_calls(table);
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++)
        table->unlinked += link_rows(t, table, &work[i]);
    /* Waits have a call, but a wait without one is nothing to report. */
    (void)link_rows(t, table, &waits);
    nl_pages_free(table->slots, table->size * sizeof *table->slots);
}

/* Pages that the driver moved: no call launched that. */
static uint64_t moved_by_driver(const struct nl_trace *t)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < t->copy.rows; i++)
        count += nl_copykind_moves_pages(t->copy.kind[i]) && t->copy.slice[i] != NL_NULL_ROW &&
                 t->slice.link[t->copy.slice[i]] == NL_NULL_ROW;
    return count;
}

/* Flows come in order of time from few lanes, so a cursor per lane (by its low bits) makes most
 * searches a step or two. Starts and ends run at their own pace. */
#define CURSORS   16u
#define FLOW_PART 8192u /* flows per task */

/* A part of the flows: even tasks look for their starts, odd ones for their ends. */
static void link_ends(void *context, size_t task, unsigned worker)
{
    (void)worker;
    const struct nl_trace *t = context;
    const struct nl_flow_table *flow = &t->flow;
    const uint32_t *lanes = task % 2 ? flow->dst_lane : flow->src_lane;
    const int64_t *times = task % 2 ? flow->dst_ts : flow->src_ts;
    uint32_t *slices = task % 2 ? flow->dst : flow->src;
    uint32_t from = (uint32_t)(task / 2) * FLOW_PART, left = flow->rows - from;
    uint32_t to = from + (left < FLOW_PART ? left : FLOW_PART);
    struct nl_lane_cursor *cursors = nl_zalloc(CURSORS * sizeof *cursors);
    for (uint32_t i = from; i < to; i++)
        if (lanes[i] != NL_NULL_ROW && times[i] != NL_NULL_I64)
            slices[i] = nl_lane_slice_at(t, &cursors[lanes[i] % CURSORS], lanes[i], times[i]);
    nl_free(cursors);
}

static bool is_call(const struct nl_trace *t, uint32_t slice)
{
    return slice != NL_NULL_ROW && t->slice.kind[slice] == NL_KIND_API;
}

#define SHY_NS 2000

/* The call that an arrow of a launch starts in. rocmProfileData draws it 2 µs before the end
 * of the call, in whole microseconds, which may be before a short call begins: then the call
 * that ends within those 2 µs. */
static uint32_t launching_call(const struct nl_trace *t, struct nl_lane_cursor *cursor,
                               uint32_t row)
{
    int64_t ts = t->flow.src_ts[row];
    uint32_t lane = t->flow.src_lane[row];
    for (int64_t ahead = SHY_NS / 2; ahead <= SHY_NS && ts < t->flow.dst_ts[row];
         ahead += SHY_NS / 2) {
        uint32_t near = nl_lane_slice_at(t, cursor, lane, ts + ahead);
        if (is_call(t, near) && nl_slice_end(t, near) <= ts + SHY_NS)
            return near;
    }
    return is_call(t, t->flow.src[row]) ? t->flow.src[row] : NL_NULL_ROW;
}

static uint64_t *correlation_of(struct nl_trace *t, uint32_t slice)
{
    uint32_t row = t->slice.detail[slice];
    switch (t->slice.kind[slice]) {
    case NL_KIND_KERNEL: return &t->kernel.correlation[row];
    case NL_KIND_MEMCPY: return &t->copy.correlation[row];
    case NL_KIND_MEMSET: return &t->memset.correlation[row];
    case NL_KIND_API: return &t->api.correlation[row];
    default: return NULL;
    }
}

/* Arrows of launches join where no ids do: the call gets the number of its first arrow,
 * its work that of the call. */
static void link_arrows(struct nl_trace *t)
{
    struct nl_lane_cursor *cursors = nl_zalloc(CURSORS * sizeof *cursors);
    for (uint32_t i = 0; i < t->flow.rows; i++) {
        uint32_t work = t->flow.dst[i], lane = t->flow.src_lane[i];
        if (t->flow.kind[i] != NL_FLOW_LAUNCH || work == NL_NULL_ROW || lane == NL_NULL_ROW ||
            t->slice.link[work] != NL_NULL_ROW || t->slice.detail[work] == NL_NULL_ROW)
            continue;
        uint32_t call = launching_call(t, &cursors[lane % CURSORS], i);
        uint64_t *id = correlation_of(t, work);
        if (call == NL_NULL_ROW || !id || is_call(t, work) || t->slice.detail[call] == NL_NULL_ROW)
            continue;
        uint64_t *of_call = correlation_of(t, call);
        *of_call = *of_call == NL_NULL_U64 ? t->flow.id[i] : *of_call;
        *id = *of_call;
        t->flow.src[i] = call;
        t->slice.link[work] = call;
        uint32_t *first = &t->slice.link[call];
        if (*first == NL_NULL_ROW || t->slice.ts[work] < t->slice.ts[*first])
            *first = work;
    }
    nl_free(cursors);
}

void nl_link_flows(struct nl_trace *t, unsigned threads)
{
    size_t parts = ((size_t)t->flow.rows + FLOW_PART - 1) / FLOW_PART;
    nl_parallel(parts < 2 ? 1 : threads, parts * 2, link_ends, t);
    link_arrows(t);
}

struct nl_launches nl_link_launches(struct nl_trace *t, const bool *per_process)
{
    struct scopes scopes = {.trace = t};
    struct call_table table = {.trace = t, .scopes = &scopes};
    find_scopes(&scopes, per_process);
    join_calls(t, &table);
    nl_free(scopes.of);
    /* A recorder that has no calls, or no ids, lost none. */
    return (struct nl_launches){.unlinked = table.calls ? table.unlinked - moved_by_driver(t) : 0,
                                .duplicates = table.duplicates};
}

void nl_forget_external_ids(struct nl_trace *trace, const bool *forget)
{
    const struct {
        const uint32_t *slices;
        int64_t *ids;
        uint32_t rows;
    } tables[] = {{trace->kernel.slice, trace->kernel.external_id, trace->kernel.rows},
                  {trace->copy.slice, trace->copy.external_id, trace->copy.rows},
                  {trace->memset.slice, trace->memset.external_id, trace->memset.rows},
                  {trace->api.slice, trace->api.external_id, trace->api.rows}};
    bool any = false;
    for (uint32_t s = 0; s < trace->source.rows; s++)
        any |= forget[s];
    for (size_t t = 0; any && t < sizeof tables / sizeof tables[0]; t++)
        for (uint32_t i = 0; i < tables[t].rows; i++) {
            uint32_t slice = tables[t].slices[i];
            uint32_t process = slice == NL_NULL_ROW ? NL_NULL_ROW : nl_slice_process(trace, slice);
            uint32_t source = process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
            if (source != NL_NULL_ROW && forget[source])
                tables[t].ids[i] = NL_NULL_I64;
        }
}

/* What one profile can be compared by, and what of it is compared: see diffside.h. */
#include "compare/diffinner.h"
#include "compare/diffsums.h"
#include "compare/diffunit.h"
#include "compare/diffparts.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "compare/diffwork.h"
#include "tables/steptime.h"

void diff_side_open(struct diff_side *side, const struct nl_trace *trace,
                    const struct nl_window *window)
{
    *side = (struct diff_side){.trace = trace, .window = *window, .unit = DIFF_UNITS};
    side->memo = nl_memo_new(trace, &side->window);
    side->options = (struct nl_analyze_options){.window = *window, .memo = side->memo};
    side->lane_count = nl_work_lanes(trace, &side->window, &side->lanes);
}

const struct nl_found_steps *diff_steps(const struct diff_side *side)
{
    return side->has_own ? &side->own : nl_memo_steps(side->memo);
}

void diff_drop_own_steps(struct diff_side *side)
{
    if (side->has_own)
        nl_steps_release(&side->own);
    side->has_own = false;
}

struct diff_side *diff_captures(struct diff_side *side)
{
    return side->captures ? side->captures : side;
}

void diff_side_release(struct diff_side *side)
{
    for (size_t i = 0; i < side->capture_count; i++)
        diff_side_release(&side->captures[i]);
    diff_drop_own_steps(side);
    nl_free(side->lanes);
    nl_free(side->devices);
    nl_idmap_release(&side->by_rank);
    nl_lookup_release(&side->by_ordinal);
    nl_free(side->spans);
    nl_free(side->lengths);
    nl_free(side->plain);
    for (size_t group = 0; group < DIFF_HOST; group++)
        nl_free(side->part_lengths[group]);
    if (side->functions)
        nl_result_free(side->functions);
    if (side->idle)
        nl_idle_free(side->idle);
    nl_preempt_free(side->preempt);
    if (!side->captures)
        nl_memo_free(side->memo);
    nl_free(side->captures);
}

bool diff_knows_kept(const struct diff_side *side)
{
    return (side->captures ? side->captures[0].preempt : side->preempt) != NULL;
}

double diff_kept_share(const struct diff_side *side)
{
    double all = (double)side->sum + (double)side->kept_ns;
    return side->unit == DIFF_BY_HOST && diff_knows_kept(side) && all > 0
               ? (double)side->kept_ns / all
               : NAN;
}

int64_t diff_mean(int64_t sum, uint64_t units)
{
    if (!units)
        return 0;
    uint64_t rest = (uint64_t)sum % units;
    return sum / (int64_t)units + (rest >= units - rest);
}

size_t diff_span_at(const struct diff_side *side, const struct diff_device *device, int64_t ts)
{
    const struct diff_span *spans = side->spans + device->first_span;
    size_t low = NL_FIRST(i, 0, device->spans, spans[i].start > ts);
    return low && ts < spans[low - 1].end ? device->first_span + low - 1 : SIZE_MAX;
}

const struct diff_device *diff_device_of_rank(const struct diff_side *side, int64_t rank)
{
    uint32_t row = nl_idmap_get(&side->by_rank, (uint64_t)rank);
    return row == NL_NO_ROW ? NULL : &side->devices[row];
}

struct diff_device *diff_device_at(const struct diff_side *side, int64_t rank, int64_t ordinal)
{
    uint32_t row = NL_LOOKUP(&side->by_ordinal, nl_hash_pair((uint64_t)rank, (uint64_t)ordinal), i,
                             side->devices[i].rank == rank && side->devices[i].ordinal == ordinal);
    return row == NL_NO_ROW ? NULL : &side->devices[row];
}

struct diff_device *diff_device_keep(struct diff_side *side, const struct diff_device *device)
{
    uint32_t row = (uint32_t)side->device_count;
    if (!diff_device_at(side, device->rank, device->ordinal))
        nl_lookup_add(&side->by_ordinal,
                      nl_hash_pair((uint64_t)device->rank, (uint64_t)device->ordinal), row);
    (void)nl_idmap_get_or_put(&side->by_rank, (uint64_t)device->rank, row);
    side->devices[row] = *device;
    side->device_count++;
    return &side->devices[row];
}

/* ---- devices and their spans ---- */

static void add_span(struct diff_side *side, struct diff_device *device, int64_t start, int64_t end,
                     int64_t index)
{
    if (end <= start)
        return;
    nl_grow(&side->spans, &side->span_cap, side->span_count + 1);
    side->spans[side->span_count++] = (struct diff_span){.start = start,
                                                         .end = end,
                                                         .index = index,
                                                         .sum = end - start,
                                                         .device = (uint32_t)side->device_count};
    device->spans++;
}

/* The steady steps of the device's rank that begin in the window. */
static void add_steps(struct diff_side *side, struct diff_device *device)
{
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        if (group->rank != device->rank)
            continue;
        side->method = group->method;
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const struct nl_found_step *step = &found->items[i];
            if (nl_step_in_window(group, step, &side->window) && step->phase == NL_STEP_STEADY)
                add_span(side, device, step->start, step->end, step->index);
        }
    }
}

/* Steps that are left out, once each. */
static void count_apart(struct diff_side *side)
{
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t g = 0; g < found->group_count; g++)
        for (size_t i = 0; i < found->groups[g].count; i++) {
            const struct nl_found_step *step = &found->items[found->groups[g].first + i];
            if (!nl_step_in_window(&found->groups[g], step, &side->window))
                continue;
            side->warm_up += step->phase == NL_STEP_WARM_UP;
            side->compile += step->phase == NL_STEP_COMPILE;
        }
}

/* Devices are asked for in about the order of the rows: the search goes on after
 * the last that was found. */
static const struct nl_device_breakdown *breakdown_of(const struct diff_side *side,
                                                      const struct diff_device *device, size_t *at)
{
    size_t count;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(side->memo, &count);
    for (size_t i = 0; i < count; i++) {
        size_t row = (*at + i) % count;
        if (rows[row].device != device->device ||
            (device->device == NL_NULL_ROW && rows[row].process != device->process))
            continue;
        *at = row + 1;
        return &rows[row];
    }
    return NULL;
}

/* Fills the spans of a device; false when it has none, and so is left out. */
static bool add_spans(struct diff_side *side, struct diff_device *device, size_t *at)
{
    const struct nl_device_breakdown *row = breakdown_of(side, device, at);
    if (!row)
        return false;
    device->rank = row->rank;
    device->ordinal = row->ordinal;
    device->first_span = side->span_count;
    if (side->unit == DIFF_BY_WORK)
        return row->kernels + row->copies + row->memsets > 0;
    if (row->starts_unknown)
        return false;
    if (side->unit == DIFF_BY_STEP)
        add_steps(side, device);
    else
        add_span(side, device, row->start_ns, row->start_ns + row->wall_ns, 0);
    return device->spans > 0;
}

static void find_devices(struct diff_side *side)
{
    side->devices = nl_alloc((side->lane_count + 1) * sizeof *side->devices);
    for (size_t i = 0, next, at = 0; i < side->lane_count; i = next) {
        next = i + nl_work_device_lanes(side->lanes + i, side->lane_count - i);
        struct diff_device device = {.device = side->lanes[i].device,
                                     .process = side->lanes[i].process,
                                     .first_lane = i,
                                     .lanes = next - i};
        if (add_spans(side, &device, &at))
            diff_device_keep(side, &device);
        else
            side->stepless += side->unit == DIFF_BY_STEP;
    }
}

static void find_ranks(struct diff_side *side)
{
    const struct nl_found_steps *found = diff_steps(side);
    side->devices = nl_alloc((found->group_count + 1) * sizeof *side->devices);
    for (size_t g = 0; g < found->group_count; g++) {
        struct diff_device device = {.rank = found->groups[g].rank,
                                     .ordinal = NL_NULL_I64,
                                     .device = NL_NULL_ROW,
                                     .process = NL_NULL_ROW,
                                     .first_span = side->span_count};
        add_steps(side, &device);
        if (device.spans)
            diff_device_keep(side, &device);
    }
}

bool diff_has_steady(const struct diff_side *side, const struct nl_step_group *group)
{
    const struct nl_found_steps *found = diff_steps(side);
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct nl_found_step *step = &found->items[i];
        if (step->phase == NL_STEP_STEADY && step->end > step->start &&
            nl_step_in_window(group, step, &side->window))
            return true;
    }
    return false;
}

/* ---- lengths ---- */

static int by_device(const void *left, const void *right)
{
    const struct diff_span *a = left, *b = right;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static int by_index(const void *left, const void *right)
{
    const struct diff_span *a = left, *b = right;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return a->again < b->again ? -1 : a->again > b->again;
}

static void take_length(struct diff_side *side, const struct diff_span *spans, size_t count)
{
    double sum = 0, groups[DIFF_HOST] = {0};
    for (size_t i = 0; i < count; i++) {
        sum += (double)spans[i].sum;
        for (size_t group = 0; group < DIFF_HOST; group++)
            groups[group] += (double)spans[i].groups[group];
    }
    if (!(sum > 0))
        return;
    for (size_t group = 0; group < DIFF_HOST; group++)
        side->part_lengths[group][side->length_count] = groups[group] / (double)count;
    side->lengths[side->length_count++] = sum / (double)count;
}

/* Steps of the same number on several ranks or devices are one measurement; of several on one
 * device, the first on each, the second on each and so on. */
static void take_lengths(struct diff_side *side)
{
    size_t count = side->span_count;
    struct diff_span *spans = nl_alloc((count + 1) * sizeof *spans);
    side->lengths = nl_alloc((count + 1) * sizeof *side->lengths);
    for (size_t group = 0; group < DIFF_HOST; group++)
        side->part_lengths[group] = nl_alloc((count + 1) * sizeof *side->lengths);
    if (count)
        memcpy(spans, side->spans, count * sizeof *spans);
    qsort(spans, count, sizeof *spans, by_device);
    for (size_t i = 1; i < count; i++)
        if (spans[i].index == spans[i - 1].index && spans[i].device == spans[i - 1].device)
            spans[i].again = spans[i - 1].again + 1;
    qsort(spans, count, sizeof *spans, by_index);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && !by_index(&spans[next], &spans[i]);)
            next++;
        take_length(side, spans + i, next - i);
    }
    nl_free(spans);
}

/* The window that idle time is found in: steps count at their whole length. */
static void find_idle(struct diff_side *side)
{
    struct nl_window window = side->window;
    if (side->by_step)
        window.has_time = false;
    side->idle = nl_idle_new(side->trace, &window);
}

/* Which tenth of its device's steps contains each step. */
static void find_blocks(struct diff_side *side)
{
    if (!side->by_step)
        return;
    for (size_t d = 0; d < side->device_count; d++) {
        const struct diff_device *device = &side->devices[d];
        size_t blocks = device->spans < DIFF_BLOCKS ? device->spans : DIFF_BLOCKS;
        for (size_t i = 0; i < device->spans; i++) {
            struct diff_span *span = &side->spans[device->first_span + i];
            span->block = (uint8_t)(i * blocks / device->spans);
            side->blocks.units[span->block]++;
        }
        side->blocks.count = blocks > side->blocks.count ? blocks : side->blocks.count;
    }
}

static void measure_devices(struct diff_side *side, struct diff_parts *parts)
{
    side->by_step = side->unit == DIFF_BY_STEP;
    find_devices(side);
    find_blocks(side);
    if (side->unit != DIFF_BY_WORK)
        find_idle(side);
    side->units = side->unit == DIFF_BY_STEP ? side->span_count : side->device_count;
    (void)diff_capture_parts(parts, side, DIFF_BY_NAME);
}

/* Steps in which nothing of what is compared begins: a recorder that stopped, or was full. */
static uint8_t *find_filled(const struct diff_side *side)
{
    const struct nl_trace *trace = side->trace;
    uint8_t *filled = nl_zalloc(side->span_count + 1);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        if (trace->slice.kind[row] != side->host_kind)
            continue;
        const struct diff_device *rank =
            diff_device_of_rank(side, nl_lane_rank(trace, trace->slice.lane[row]));
        size_t span = rank ? diff_span_at(side, rank, trace->slice.ts[row]) : SIZE_MAX;
        if (span != SIZE_MAX)
            filled[span] = 1;
    }
    return filled;
}

/* Not where devices work: there the CPU runs ahead of the steps, so that those may be empty for
 * which it launched everything. */
static void drop_empty_steps(struct diff_side *side)
{
    if (side->trace->kernel.rows || side->trace->copy.rows)
        return;
    uint8_t *filled = find_filled(side);
    size_t kept = 0;
    bool any = memchr(filled, 1, side->span_count) != NULL;
    for (size_t d = 0; d < side->device_count && any; d++) {
        struct diff_device *device = &side->devices[d];
        size_t first = kept;
        for (size_t i = 0; i < device->spans; i++)
            if (filled[device->first_span + i])
                side->spans[kept++] = side->spans[device->first_span + i];
        device->first_span = first;
        device->spans = kept - first;
    }
    side->span_count = any ? kept : side->span_count;
    nl_free(filled);
}

static void measure_host(struct diff_side *side, struct diff_parts *parts)
{
    side->by_step = !side->no_steps && diff_has_steady_steps(side);
    if (side->by_step) {
        find_ranks(side);
        drop_empty_steps(side);
    }
    find_blocks(side);
    side->units = side->by_step ? side->span_count : 1;
    diff_parts_host(parts, side);
}

void diff_capture_measure(struct diff_side *side, struct diff_parts *parts)
{
    side->units = 1;
    if (side->unit <= DIFF_BY_WORK)
        measure_devices(side, parts);
    else if (side->unit == DIFF_BY_HOST)
        measure_host(side, parts);
    else
        diff_parts_result(parts, side);
    side->sum = 0;
    for (size_t i = 0; i < parts->count; i++)
        side->sum = diff_sum(side->sum, parts->items[i].sum);
    side->mean = diff_mean(side->sum, side->units);
    if (side->by_step) {
        count_apart(side);
        take_lengths(side);
    }
}

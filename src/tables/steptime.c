/* Steps cut out of each device's sets of busy time — see steptime.h. */
#include "tables/steptime.h"

#include "tables/places.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "timeline/capturewindow.h"
#include "timeline/worksweep.h"

bool nl_step_in_window(const struct nl_step_group *group, const struct nl_found_step *step,
                       const struct nl_window *window)
{
    if (window->has_rank && group->rank != window->rank)
        return false;
    return !window->has_time ||
           (step->marked_start >= window->start && step->marked_start < window->end);
}

/* Busy time of one device, disjoint: compute, then what communication and copies add to it. */
struct busy {
    struct nl_intervals compute, comm, copy;
};

struct lanes {
    struct nl_work_lane *items;
    size_t count;
};

/* Lanes of annotations alone make no device that could be idle. */
static bool has_work(const struct lanes *lanes, uint32_t device)
{
    for (size_t i = 0; i < lanes->count && device != NL_NULL_ROW; i++)
        if (lanes->items[i].device == device)
            return true;
    return false;
}

static void busy_init(struct busy *busy, const struct nl_trace *trace, const struct lanes *lanes,
                      uint32_t device)
{
    struct nl_device_sets sets;
    struct nl_intervals rest;
    nl_device_intervals_of(trace, NULL, lanes->items, lanes->count, device, &sets);
    nl_intervals_init(&busy->comm);
    nl_intervals_init(&busy->copy);
    nl_intervals_init(&rest);
    nl_intervals_subtract(&sets.comm, &sets.compute, &busy->comm);
    nl_intervals_subtract(&sets.copy, &sets.compute, &rest);
    nl_intervals_subtract(&rest, &sets.comm, &busy->copy);
    nl_intervals_release(&rest);
    busy->compute = sets.compute;
    nl_intervals_init(&sets.compute); /* it is the caller's now */
    nl_device_sets_release(&sets);
}

static void busy_release(struct busy *busy)
{
    nl_intervals_release(&busy->compute);
    nl_intervals_release(&busy->comm);
    nl_intervals_release(&busy->copy);
}

/* Length of the set inside [start, end). O(log n + intervals inside). */
static int64_t inside(const struct nl_intervals *set, int64_t start, int64_t end)
{
    size_t low = NL_FIRST(i, 0, set->count, set->items[i].end > start);
    int64_t length = 0;
    for (; low < set->count && set->items[low].start < end; low++) {
        int64_t from = set->items[low].start > start ? set->items[low].start : start;
        int64_t to = set->items[low].end < end ? set->items[low].end : end;
        nl_sum_add(&length, to - from);
    }
    return length;
}

static struct nl_step_time measure_step(const struct nl_place *place, const struct busy *busy,
                                        const struct nl_found_step *step)
{
    struct nl_step_time time = {
        .rank = place->rank, .ordinal = place->ordinal, .device = place->device, .step = step};
    int64_t *parts = time.parts, start = step->start, end = step->end;
    parts[NL_PART_WALL] = end - start;
    parts[NL_PART_COMPUTE] = inside(&busy->compute, start, end);
    parts[NL_PART_COMM] = inside(&busy->comm, start, end);
    parts[NL_PART_COPY] = inside(&busy->copy, start, end);
    parts[NL_PART_IDLE] =
        end - start - parts[NL_PART_COMPUTE] - parts[NL_PART_COMM] - parts[NL_PART_COPY];
    return time;
}

struct measuring {
    const struct nl_trace *trace;
    const struct nl_window *window;
    struct lanes lanes;
    struct nl_capture_window *captures;
};

static void measure_place(struct nl_step_times *times, size_t *cap, const struct measuring *of,
                          const struct nl_place *place)
{
    if (of->window->has_device && place->ordinal != of->window->device)
        return;
    struct busy busy;
    busy_init(&busy, of->trace, &of->lanes, place->device);
    for (size_t g = 0; g < times->found->group_count; g++) {
        const struct nl_step_group *group = &times->found->groups[g];
        for (size_t i = group->first; group->rank == place->rank && i < group->first + group->count;
             i++)
            if (nl_step_in_window(group, &times->found->items[i], of->window) &&
                nl_capture_holds(of->captures, place->device, &times->found->items[i])) {
                nl_grow(&times->items, cap, times->count + 1);
                times->items[times->count++] = measure_step(place, &busy, &times->found->items[i]);
            }
    }
    busy_release(&busy);
}

void nl_step_times_init(struct nl_step_times *times, const struct nl_trace *trace,
                        const struct nl_window *window, const struct nl_found_steps *found)
{
    struct nl_places places;
    *times = (struct nl_step_times){.found = found};
    struct measuring of = {.trace = trace, .window = window};
    size_t cap = 0;
    nl_places_init(&places, trace);
    of.lanes.count = nl_work_lanes(trace, NULL, &of.lanes.items);
    of.captures = nl_capture_windows(trace);
    for (size_t i = 0; times->found->count && i < places.count; i++)
        if (has_work(&of.lanes, places.items[i].device))
            measure_place(times, &cap, &of, &places.items[i]);
    nl_free(of.captures);
    nl_free(of.lanes.items);
    nl_places_release(&places);
}

void nl_step_times_release(struct nl_step_times *times)
{
    nl_free(times->items);
    times->items = NULL;
}

double *nl_step_lengths(const struct nl_found_steps *found, const struct nl_window *window,
                        nl_step_length length, const void *context, size_t *count)
{
    size_t most = 0;
    for (size_t g = 0; g < found->group_count; g++)
        most = found->groups[g].count > most ? found->groups[g].count : most;
    double *sums = nl_zalloc((most + 1) * sizeof *sums);
    size_t *ranks = nl_zalloc((most + 1) * sizeof *ranks);
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        size_t n = 0;
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const struct nl_found_step *step = &found->items[i];
            if (!nl_step_is_steady(step) || !nl_step_in_window(group, step, window))
                continue;
            sums[n] += length ? length(context, step) : (double)(step->end - step->start);
            ranks[n++]++;
        }
    }
    *count = 0;
    while (*count < most && ranks[*count]) {
        sums[*count] /= (double)ranks[*count];
        ++*count;
    }
    nl_free(ranks);
    return sums;
}

void nl_step_note(struct nl_result *result, const struct nl_found_steps *found)
{
    static const char *const how[NL_STEP_METHODS] = {
        "marked by the program", "ranges whose text stands for an iteration",
        "not marked: found in the launch sequence that repeats"};
    size_t apart = 0;
    if (!found->group_count) {
        result->note =
            "no steps: nothing marks them, and launches do not repeat as those of steps do";
        return;
    }
    const struct nl_step_group *least = found->groups;
    for (size_t i = 1; i < found->group_count; i++)
        if (found->groups[i].confidence < least->confidence)
            least = &found->groups[i];
    for (size_t i = 0; i < found->count; i++)
        apart += found->items[i].phase != NL_STEP_STEADY;
    result->note = nl_arena_format(
        &result->arena, "steps: %s%s%s%s, confidence %.2f; %zu of %zu excluded as %s",
        how[least->method], least->pattern ? " (\"" : "", least->pattern ? least->pattern : "",
        least->pattern ? "\")" : "", least->confidence, apart, found->count,
        least->method == NL_STEPS_LAUNCHES ? "warm-up, compile or the last, whose end is not known"
                                           : "warm-up or compile");
}

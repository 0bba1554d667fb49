/* heldclock — see heldclock.h. The two counters and the device's computing are walked together. */
#include "findings/heldclock.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"

#define HOLDS 5 /* times the median distance of readings */

const uint64_t nl_clock_reason_bits[NL_CLOCK_REASONS] = {
    [NL_CLOCK_HEAT] = 0x08 | 0x20 | 0x40, /* hardware slowdown, software and hardware thermal */
    [NL_CLOCK_POWER] = 0x04 | 0x80,       /* power cap, power brake */
    [NL_CLOCK_SETTING] = 0x02,            /* applications clocks */
};

struct readings {
    int64_t *ts;
    double *value;
    size_t count, at; /* at: the reading that holds, as the walk goes on */
    int64_t hold;
};

/* The device's counter of that name; its UUID stands for the device where another process shows it. */
static uint32_t find_series(const struct nl_scene *scene, const char *name)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t wanted = scene->device->device;
    for (uint32_t series = 0; wanted != NL_NULL_ROW && series < trace->series.rows; series++) {
        uint32_t lane = trace->series.lane[series];
        uint32_t device = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.device[lane];
        if (device == NL_NULL_ROW ||
            !nl_str_is(nl_trace_name(trace, trace->series.name[series]), name))
            continue;
        uint32_t uuid = trace->device.uuid[device];
        if (device == wanted || (uuid != NL_NULL_ROW && uuid == trace->device.uuid[wanted] &&
                                 nl_trace_name(trace, uuid).len))
            return series;
    }
    return NL_NULL_ROW;
}

static int64_t holds(const struct readings *r)
{
    int64_t *apart = nl_alloc((r->count + 1) * sizeof *apart);
    for (size_t i = 1; i < r->count; i++)
        if (__builtin_sub_overflow(r->ts[i], r->ts[i - 1], &apart[i - 1]))
            apart[i - 1] = INT64_MAX;
    double median = r->count > 1 ? nl_median(apart, r->count - 1) : 0;
    nl_free(apart);
    return median < 1e15 ? (int64_t)(median * HOLDS) : INT64_MAX / 2;
}

static struct readings readings_new(const struct nl_trace *trace, uint32_t series)
{
    struct readings r = {0};
    size_t count = 0;
    for (uint32_t row = 0; row < trace->counter.rows; row++)
        count += trace->counter.series[row] == series;
    struct nl_keyed *order = nl_alloc((2 * count + 1) * sizeof *order);
    for (uint32_t row = 0, i = 0; row < trace->counter.rows; row++)
        if (trace->counter.series[row] == series)
            order[i++] = (struct nl_keyed){nl_sort_key(trace->counter.ts[row]), row};
    nl_sort_keyed(order, order + count, count);
    r.ts = nl_alloc((count + 1) * sizeof *r.ts);
    r.value = nl_alloc((count + 1) * sizeof *r.value);
    for (size_t i = 0; i < count; i++) {
        r.ts[i] = trace->counter.ts[order[i].row];
        r.value[i] = trace->counter.value[order[i].row];
    }
    nl_free(order);
    r.count = count;
    r.hold = holds(&r);
    return r;
}

static void readings_free(struct readings *r)
{
    nl_free(r->ts);
    nl_free(r->value);
}

/* Goes on to `ts`. False where no reading holds then; *until: the first moment at which that may change. */
static bool hold_at(struct readings *r, int64_t ts, double *value, int64_t *until)
{
    while (r->at + 1 < r->count && r->ts[r->at + 1] <= ts)
        r->at++;
    int64_t next = r->at + 1 < r->count ? r->ts[r->at + 1] : INT64_MAX, end = 0;
    if (!r->count || r->ts[r->at] > ts) {
        next = r->count ? r->ts[r->at] : INT64_MAX;
        *until = *until < next ? *until : next;
        return false;
    }
    if (__builtin_add_overflow(r->ts[r->at], r->hold, &end))
        end = INT64_MAX;
    *value = r->value[r->at];
    bool known = ts < end;
    int64_t change = known && end < next ? end : next;
    *until = *until < change ? *until : change;
    return known;
}

static enum nl_clock_reason reason_of(double value)
{
    uint64_t bits = value >= 0 && value < 0x1p53 ? (uint64_t)value : 0;
    for (size_t i = 0; i < NL_CLOCK_REASONS; i++)
        if (bits & nl_clock_reason_bits[i])
            return (enum nl_clock_reason)i;
    return NL_CLOCK_REASONS;
}

static double top_of(const struct nl_scene *scene, const struct readings *clock)
{
    uint64_t told = scene->trace->device.clock_hz[scene->device->device];
    double top = told != NL_NULL_U64 ? (double)told / 1e6 : 0;
    for (size_t i = 0; i < clock->count; i++)
        top = clock->value[i] > top ? clock->value[i] : top;
    return top;
}

static void add(struct nl_held_clock *held, enum nl_clock_reason reason, double mhz, int64_t ns)
{
    nl_sum_add(&held->computing_ns, ns);
    if (reason == NL_CLOCK_REASONS || !(mhz > 0) || !(held->top_mhz > mhz))
        return;
    nl_sum_add(&held->by[reason].held_ns, ns);
    held->by[reason].lost_ns += (double)ns * (1 - mhz / held->top_mhz);
}

struct nl_held_clock nl_held_clock(const struct nl_scene *scene, enum nl_clock_reason wanted,
                                   struct nl_intervals *where)
{
    struct nl_held_clock held = {.clock = find_series(scene, "GPU clock"),
                                 .reasons = find_series(scene, "GPU throttle reasons")};
    if (held.clock == NL_NULL_ROW || held.reasons == NL_NULL_ROW)
        return held;
    struct readings clock = readings_new(scene->trace, held.clock);
    struct readings reasons = readings_new(scene->trace, held.reasons);
    held.top_mhz = top_of(scene, &clock);
    for (size_t i = 0; i < scene->compute.count; i++) {
        struct nl_interval work = scene->compute.items[i];
        for (int64_t at = work.start, until; at < work.end; at = until) {
            double mhz = 0, bits = 0;
            until = work.end;
            bool known = hold_at(&clock, at, &mhz, &until);
            if (!hold_at(&reasons, at, &bits, &until) || !known)
                continue;
            enum nl_clock_reason reason = reason_of(bits);
            add(&held, reason, mhz, until - at);
            if (where && reason == wanted && mhz > 0 && mhz < held.top_mhz)
                nl_intervals_add(where, at, until);
        }
    }
    readings_free(&clock);
    readings_free(&reasons);
    return held;
}

static bool inside(const struct nl_scene *scene, int64_t ts)
{
    return !scene->window->has_time || (ts >= scene->window->start && ts < scene->window->end);
}

struct nl_held_readings nl_held_readings(const struct nl_scene *scene,
                                         const struct nl_held_clock *held, uint64_t bits)
{
    struct readings clock = readings_new(scene->trace, held->clock);
    struct readings reasons = readings_new(scene->trace, held->reasons);
    struct nl_held_readings out = {0};
    bool with = false;
    for (size_t c = 0, r = 0; c < clock.count || r < reasons.count;) {
        bool reason = c == clock.count || (r < reasons.count && reasons.ts[r] <= clock.ts[c]);
        int64_t ts = reason ? reasons.ts[r] : clock.ts[c];
        double value = reason ? reasons.value[r++] : clock.value[c++];
        if (!inside(scene, ts))
            continue;
        if (reason) {
            with = value >= 0 && value < 0x1p53 && ((uint64_t)value & bits);
            out.reasons++;
            out.with_bits += with;
        } else if (with) {
            out.clocks++;
            out.sum_mhz += value;
        }
    }
    readings_free(&clock);
    readings_free(&reasons);
    return out;
}

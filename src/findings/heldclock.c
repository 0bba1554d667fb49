/* heldclock — see heldclock.h. The two counters and the device's computing are walked together. */
#include "findings/heldclock.h"

#include "base/sum.h"
#include "timeline/readings.h"

const uint64_t nl_clock_reason_bits[NL_CLOCK_REASONS] = {
    [NL_CLOCK_HEAT] = 0x08 | 0x20 | 0x40, /* hardware slowdown, software and hardware thermal */
    [NL_CLOCK_POWER] = 0x04 | 0x80,       /* power cap, power brake */
    [NL_CLOCK_SETTING] = 0x02,            /* applications clocks */
};

struct walk {
    struct nl_readings readings;
    size_t at; /* the reading that holds, as the walk goes on */
};

static uint32_t find_series(const struct nl_scene *scene, const char *name)
{
    const struct nl_trace *trace = scene->trace;
    for (uint32_t series = 0; series < trace->series.rows; series++)
        if (nl_series_is_of(trace, series, scene->device->device) &&
            nl_str_is(nl_trace_name(trace, trace->series.name[series]), name))
            return series;
    return NL_NULL_ROW;
}

/* Goes on to `ts`. False where no reading holds then; *until: the first moment
 * at which that may change. */
static bool hold_at(struct walk *walk, int64_t ts, double *value, int64_t *until)
{
    const struct nl_reading *items = walk->readings.items;
    size_t count = walk->readings.count;
    while (walk->at + 1 < count && items[walk->at + 1].ts <= ts)
        walk->at++;
    int64_t next = walk->at + 1 < count ? items[walk->at + 1].ts : INT64_MAX, end = 0;
    if (!count || items[walk->at].ts > ts) {
        next = count ? items[walk->at].ts : INT64_MAX;
        *until = *until < next ? *until : next;
        return false;
    }
    if (__builtin_add_overflow(items[walk->at].ts, walk->readings.hold, &end))
        end = INT64_MAX;
    *value = items[walk->at].value;
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

static double top_of(const struct nl_scene *scene, const struct nl_readings *clock)
{
    uint64_t told = scene->trace->device.clock_hz[scene->device->device];
    double top = told != NL_NULL_U64 ? (double)told / 1e6 : 0;
    for (size_t i = 0; i < clock->count; i++)
        top = clock->items[i].value > top ? clock->items[i].value : top;
    return top;
}

static void add_clock_time(struct nl_held_clock *held, enum nl_clock_reason reason, double mhz,
                           int64_t ns)
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
    struct walk clock = {nl_readings_new(scene->trace, held.clock, 1), 0};
    struct walk reasons = {nl_readings_new(scene->trace, held.reasons, 1), 0};
    held.top_mhz = top_of(scene, &clock.readings);
    for (size_t i = 0; i < scene->compute.count; i++) {
        struct nl_interval work = scene->compute.items[i];
        for (int64_t at = work.start, until; at < work.end; at = until) {
            double mhz = 0, bits = 0;
            until = work.end;
            bool known = hold_at(&clock, at, &mhz, &until);
            if (!hold_at(&reasons, at, &bits, &until) || !known)
                continue;
            enum nl_clock_reason reason = reason_of(bits);
            add_clock_time(&held, reason, mhz, until - at);
            if (where && reason == wanted && mhz > 0 && mhz < held.top_mhz)
                nl_intervals_add(where, at, until);
        }
    }
    nl_readings_release(&clock.readings);
    nl_readings_release(&reasons.readings);
    return held;
}

static bool inside(const struct nl_scene *scene, int64_t ts)
{
    return !scene->window->has_time || (ts >= scene->window->start && ts < scene->window->end);
}

struct nl_held_readings nl_held_readings(const struct nl_scene *scene,
                                         const struct nl_held_clock *held, uint64_t bits)
{
    struct nl_readings clock = nl_readings_new(scene->trace, held->clock, 1);
    struct nl_readings reasons = nl_readings_new(scene->trace, held->reasons, 1);
    struct nl_held_readings out = {0};
    bool with = false;
    for (size_t c = 0, r = 0; c < clock.count || r < reasons.count;) {
        bool reason =
            c == clock.count || (r < reasons.count && reasons.items[r].ts <= clock.items[c].ts);
        struct nl_reading at = reason ? reasons.items[r++] : clock.items[c++];
        double value = at.value;
        if (!inside(scene, at.ts))
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
    nl_readings_release(&clock);
    nl_readings_release(&reasons);
    return out;
}

/* See stepenergy.h. */
#include "compare/stepenergy.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/sort.h"

#define HOLDS 5 /* times the median distance of readings */

/* How telemetry calls it; the first that a device has is taken. */
static const struct {
    const char *name; /* NULL: any that has "power" in it, but no "limit" */
    const char *unit;
    double scale; /* to J or W */
    bool is_energy;
} kinds[] = {
    {"GPU energy", "J", 1, true}, {NULL, "mJ", 1e-3, true},
    {"GPU power", "W", 1, false}, {"GPU power, sampled by the driver", "W", 1, false},
    {NULL, "W", 1, false},        {NULL, "mW", 1e-3, false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct reading {
    int64_t ts;
    double value;
};

struct readings {
    struct reading *items;
    size_t count;
    double hold; /* ns */
};

static bool has_word(struct nl_str name, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= name.len; i++)
        if (!strncasecmp(name.ptr + i, word, len))
            return true;
    return false;
}

static bool is_kind(const struct nl_trace *trace, uint32_t series, size_t kind)
{
    struct nl_str name = nl_trace_name(trace, trace->series.name[series]);
    struct nl_str unit = nl_trace_name(trace, trace->series.unit[series]);
    if (!nl_str_is(unit, kinds[kind].unit))
        return false;
    if (kinds[kind].name)
        return nl_str_is(name, kinds[kind].name);
    return has_word(name, kinds[kind].is_energy ? "energy" : "power") && !has_word(name, "limit");
}

/* Of that device: its UUID stands for it where another process shows it. */
static bool is_of(const struct nl_trace *trace, uint32_t series, uint32_t wanted)
{
    uint32_t lane = trace->series.lane[series];
    uint32_t device = lane == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.device[lane];
    if (device == NL_NULL_ROW || wanted == NL_NULL_ROW)
        return false;
    return device == wanted || (nl_trace_name(trace, trace->device.uuid[device]).len &&
                                trace->device.uuid[device] == trace->device.uuid[wanted]);
}

static uint32_t find_series(const struct nl_trace *trace, uint32_t device, size_t kind)
{
    for (uint32_t series = 0; series < trace->series.rows; series++)
        if (is_of(trace, series, device) && is_kind(trace, series, kind))
            return series;
    return NL_NULL_ROW;
}

static double median_distance(const struct readings *r)
{
    int64_t *apart = nl_alloc((r->count + 1) * sizeof *apart);
    size_t count = 0; /* readings of one moment tell nothing of how often there is one */
    for (size_t i = 1; i < r->count; i++) {
        if (__builtin_sub_overflow(r->items[i].ts, r->items[i - 1].ts, &apart[count]))
            apart[count] = INT64_MAX;
        count += apart[count] > 0;
    }
    nl_sort_i64(apart, count);
    double median = count ? (double)apart[count / 2] : 0;
    nl_free(apart);
    return median;
}

/* In order of time; none with fewer than two. */
static struct readings readings_new(const struct nl_trace *trace, uint32_t series, double scale)
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
    r.items = nl_alloc((count + 1) * sizeof *r.items);
    for (size_t i = 0; i < count; i++) {
        double value = trace->counter.value[order[i].row] * scale;
        if (isfinite(value))
            r.items[r.count++] = (struct reading){trace->counter.ts[order[i].row], value};
    }
    nl_free(order);
    r.hold = r.count > 1 ? HOLDS * median_distance(&r) : 0;
    return r;
}

/* ---- integrals ---- */

struct told {
    double joules, ns; /* and of how much time */
};

/* Energy between two readings within [from, to), which lies between them. */
static double trapezoid(const struct reading *a, const struct reading *b, int64_t from, int64_t to,
                        bool is_energy)
{
    double length = (double)b->ts - (double)a->ts;
    double start = ((double)from - (double)a->ts) / length,
           end = ((double)to - (double)a->ts) / length;
    if (is_energy)
        return (b->value - a->value) * (end - start);
    double rise = b->value - a->value;
    return (a->value + rise * (start + end) / 2) * (end - start) * length / 1e9;
}

/* Goes on through readings and spans, which are both in order of time. */
static struct told integrate(const struct readings *r, const struct diff_span *spans, size_t count,
                             bool is_energy)
{
    struct told told = {0, 0};
    size_t at = 1;
    for (size_t i = 0; i < count; i++) {
        while (at < r->count && r->items[at].ts <= spans[i].start)
            at++;
        for (size_t k = at; k < r->count && r->items[k - 1].ts < spans[i].end; k++) {
            const struct reading *a = &r->items[k - 1], *b = &r->items[k];
            int64_t from = a->ts > spans[i].start ? a->ts : spans[i].start;
            int64_t to = b->ts < spans[i].end ? b->ts : spans[i].end;
            bool back = is_energy && b->value < a->value; /* the counter began anew */
            if (to <= from || back || (double)b->ts - (double)a->ts > r->hold)
                continue;
            told.joules += trapezoid(a, b, from, to, is_energy);
            told.ns += (double)to - (double)from;
        }
    }
    return told;
}

static double length_of(const struct diff_span *spans, size_t count)
{
    double ns = 0;
    for (size_t i = 0; i < count; i++)
        ns += (double)spans[i].end - (double)spans[i].start;
    return ns;
}

/* The first kind that tells enough. */
static struct told tell_device(const struct diff_side *capture, const struct diff_device *device)
{
    const struct diff_span *spans = capture->spans + device->first_span;
    struct told best = {0, 0};
    double all = length_of(spans, device->spans);
    for (size_t kind = 0; kind < KINDS; kind++) {
        uint32_t series = find_series(capture->trace, device->device, kind);
        if (series == NL_NULL_ROW)
            continue;
        struct readings r = readings_new(capture->trace, series, kinds[kind].scale);
        struct told told = integrate(&r, spans, device->spans, kinds[kind].is_energy);
        nl_free(r.items);
        if (told.ns >= DIFF_ENERGY_LEAST_SHARE * all)
            return told;
        best = told.ns > best.ns ? told : best;
    }
    return best;
}

struct diff_energy diff_energy_of(struct diff_side *side)
{
    struct diff_energy energy = {NAN, NAN, NAN, 0, 0};
    double joules = 0, known = 0, all = 0, spans = 0;
    bool laid = side->unit == DIFF_BY_STEP || side->unit == DIFF_BY_WALL;
    for (size_t i = 0; laid && i < diff_capture_count(side); i++) {
        const struct diff_side *capture = &diff_captures(side)[i];
        energy.of = capture->device_count > energy.of ? capture->device_count : energy.of;
        size_t read = 0;
        for (size_t k = 0; k < capture->device_count; k++) {
            const struct diff_device *device = &capture->devices[k];
            struct told told = tell_device(capture, device);
            joules += told.joules;
            known += told.ns;
            all += length_of(capture->spans + device->first_span, device->spans);
            spans += (double)device->spans;
            read += told.ns > 0;
        }
        energy.devices = !i || read < energy.devices ? read : energy.devices;
    }
    if (!(all > 0) || !(known > 0))
        return energy;
    energy.share = known / all;
    if (energy.share < DIFF_ENERGY_LEAST_SHARE || energy.devices < energy.of)
        return energy;
    double devices = (double)energy.of;
    energy.watts = joules / (known / 1e9) * devices;
    energy.joules = joules / known * all / spans * devices;
    return energy;
}

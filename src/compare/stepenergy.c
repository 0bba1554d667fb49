/* See stepenergy.h. */
#include "compare/stepenergy.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "timeline/readings.h"

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

static uint32_t find_series(const struct nl_trace *trace, uint32_t device, size_t kind)
{
    for (uint32_t series = 0; series < trace->series.rows; series++)
        if (nl_series_is_of(trace, series, device) && is_kind(trace, series, kind))
            return series;
    return NL_NULL_ROW;
}

/* ---- integrals ---- */

struct told {
    double joules, ns; /* and of how much time */
};

/* Energy within [from, to), which is between the two readings. */
static double trapezoid(const struct nl_reading *a, const struct nl_reading *b, int64_t from,
                        int64_t to, bool is_energy)
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
static struct told integrate(const struct nl_readings *r, const struct diff_span *spans,
                             size_t count, bool is_energy)
{
    struct told told = {0, 0};
    size_t at = 1;
    for (size_t i = 0; i < count; i++) {
        while (at < r->count && r->items[at].ts <= spans[i].start)
            at++;
        for (size_t k = at; k < r->count && r->items[k - 1].ts < spans[i].end; k++) {
            const struct nl_reading *a = &r->items[k - 1], *b = &r->items[k];
            int64_t from = a->ts > spans[i].start ? a->ts : spans[i].start;
            int64_t to = b->ts < spans[i].end ? b->ts : spans[i].end;
            bool back = is_energy && b->value < a->value; /* the counter began anew */
            if (to <= from || back || (double)b->ts - (double)a->ts > (double)r->hold)
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

/* The first kind with enough data. */
static struct told tell_device(const struct diff_side *capture, const struct diff_device *device)
{
    const struct diff_span *spans = capture->spans + device->first_span;
    struct told best = {0, 0};
    double all = length_of(spans, device->spans);
    for (size_t kind = 0; kind < KINDS; kind++) {
        uint32_t series = find_series(capture->trace, device->device, kind);
        if (series == NL_NULL_ROW)
            continue;
        struct nl_readings r = nl_readings_new(capture->trace, series, kinds[kind].scale);
        struct told told = integrate(&r, spans, device->spans, kinds[kind].is_energy);
        nl_readings_release(&r);
        if (told.ns >= DIFF_MIN_ENERGY_SHARE * all)
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
    if (energy.share < DIFF_MIN_ENERGY_SHARE || energy.devices < energy.of)
        return energy;
    double devices = (double)energy.of;
    energy.watts = joules / (known / 1e9) * devices;
    energy.joules = joules / known * all / spans * devices;
    return energy;
}

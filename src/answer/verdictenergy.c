/*
 * verdictenergy — the answer for windows of which the energy was measured (Zeus): how much in all,
 * at which power, and which window took least and most. What the program did in a window is its own
 * matter: none is called better.
 */
#include <math.h>

#include "answer/judge.h"
#include "base/mem.h"
#include "base/sum.h"

struct energies {
    double *of_slice, all;
    int64_t ns;
    uint32_t windows, least, most;
    bool overlap; /* then energies of windows are not to be added */
};

/* Joules of all devices per window; false when anything else was measured. */
static bool read_energies(const struct nl_trace *trace, double *of_slice)
{
    for (uint32_t row = 0; row < trace->metric.rows; row++) {
        uint32_t slice = trace->metric.slice[row];
        double value = trace->metric.value[row];
        if (slice == NL_NULL_ROW || !nl_str_is(nl_trace_name(trace, trace->metric.unit[row]), "J"))
            return false;
        if (isfinite(value) && value > 0)
            of_slice[slice] += value;
    }
    return true;
}

static void add_window(const struct nl_trace *trace, struct energies *sums, uint32_t slice)
{
    double energy = sums->of_slice[slice];
    sums->windows++;
    sums->overlap |= trace->slice.parent[slice] != NL_NULL_ROW ||
                     trace->slice.lane[slice] != trace->slice.lane[0];
    sums->all += energy;
    nl_sum_add(&sums->ns, trace->slice.dur[slice]);
    if (sums->least == NL_NULL_ROW || energy < sums->of_slice[sums->least])
        sums->least = slice;
    if (sums->most == NL_NULL_ROW || energy > sums->of_slice[sums->most])
        sums->most = slice;
}

/* False when anything but windows was recorded. */
static bool add_energies(const struct nl_trace *trace, struct energies *sums)
{
    if (!read_energies(trace, sums->of_slice))
        return false;
    sums->least = sums->most = NL_NULL_ROW;
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        double energy = sums->of_slice[slice];
        if (trace->slice.kind[slice] != NL_KIND_NVTX)
            return false;
        if (energy > 0 && isfinite(energy) && trace->slice.dur[slice] > 0)
            add_window(trace, sums, slice);
    }
    return sums->windows > 0 && isfinite(sums->all);
}

/* Devices whose energy in that window is known. */
static uint32_t devices_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < trace->metric.rows; row++) {
        double value = trace->metric.value[row];
        count += trace->metric.slice[row] == slice && isfinite(value) && value > 0;
    }
    return count;
}

static void put_energy(struct nl_buf *out, const char *before, double joules)
{
    if (joules >= 1e7)
        nl_buf_format(out, "%s%.4g MJ", before, joules / 1e6);
    else if (joules >= 1e4)
        nl_buf_format(out, "%s%.4g kJ", before, joules / 1e3);
    else
        nl_buf_format(out, "%s%.4g J", before, joules);
}

static void put_window(const struct nl_trace *trace, struct nl_buf *out, const char *before,
                       const struct energies *sums, uint32_t slice)
{
    nl_tell_name(out, before, nl_trace_name(trace, trace->slice.name[slice]));
    put_energy(out, " ", sums->of_slice[slice]);
    nl_tell_time(out, " in ", trace->slice.dur[slice]);
}

bool nl_judge_energy(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    struct energies sums = {0};
    if (!trace->metric.rows || !trace->slice.rows || nl_judged_in_window(judged) ||
        !nl_str_is(nl_trace_name(trace, trace->metric.unit[0]), "J"))
        return false;
    sums.of_slice = nl_zalloc(trace->slice.rows * sizeof *sums.of_slice);
    bool good = add_energies(trace, &sums);
    if (good) {
        struct nl_buf *out = nl_tell_begin(judged);
        nl_tell_number(out, "Energy of ", sums.windows, "measured window", "measured windows");
        uint32_t devices = devices_of(trace, sums.most);
        if (devices > 1)
            nl_tell_number(out, ", ", devices, "", "devices added up");
        if (sums.overlap) {
            nl_buf_text(out, ", some inside others");
        } else {
            put_energy(out, ": ", sums.all);
            nl_tell_time(out, " in ", sums.ns);
            nl_buf_format(out, ", %.4g W on average", sums.all * 1e9 / (double)sums.ns);
        }
        if (sums.least != sums.most) {
            put_window(trace, out, "; least in ", &sums, sums.least);
            put_window(trace, out, ", most in ", &sums, sums.most);
        }
        nl_buf_char(out, '.');
        nl_tell_end(judged, &judged->verdict->sentence);
        judged->verdict->class = NL_VERDICT_COUNTERS;
        judged->verdict->culprit =
            nl_keep_name(judged, nl_trace_name(trace, trace->slice.name[sums.most]));
    }
    nl_free(sums.of_slice);
    return good;
}

/*
 * The join of a kernel profiler's reports to the kernels of a run.
 *
 * Signatures (name, grid, block) are paired first. When every report measured a signature exactly
 * as often as the run launched it, and the order of launches is certain on both sides, launch i of
 * the report is launch i of the run. Otherwise all launches of the signature get one measurement,
 * the mean of the measured ones. Kernels of other shapes never get any of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "derive/measure.h"
#include "derive/signature.h"

struct join {
    struct nl_measuring *m;
    const struct nl_trace *report;
    uint32_t first_source; /* of the report among the sources of the run */
    struct nl_signatures runs, reports;
    uint32_t *of;     /* per kernel of the report: its measurement */
    uint32_t *listed; /* per signature of the run: first partner + 1 */
    uint32_t *next;   /* per signature of the report: next of the same partner + 1 */
    /* Signatures, and launches of the side in the name. */
    struct tally {
        uint64_t signatures, launches;
    } joined, shared, unmeasured, shapeless;               /* of the run */
    struct tally measured, ambiguous, strangers, unshaped; /* of the report */
};

static void count(struct tally *tally, const struct nl_signature *s)
{
    tally->signatures++;
    tally->launches += s->kernels;
}

static void list_partners(struct join *join)
{
    join->listed = nl_zalloc((join->runs.count + 1) * sizeof *join->listed);
    join->next = nl_zalloc((join->reports.count + 1) * sizeof *join->next);
    for (size_t i = join->reports.count; i-- > 0;) {
        struct nl_signature *s = &join->reports.items[i];
        if (s->partner == NL_NULL_ROW) {
            count(!s->whole      ? &join->unshaped
                  : s->ambiguous ? &join->ambiguous
                                 : &join->strangers,
                  s);
            continue;
        }
        count(&join->measured, s);
        join->next[i] = join->listed[s->partner];
        join->listed[s->partner] = (uint32_t)i + 1;
    }
}

/* One launch of the run, by when it was launched. */
struct launch {
    int64_t ts;
    uint32_t kernel;
};

static int by_time(const void *x, const void *y)
{
    const struct launch *a = x, *b = y;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static bool same_queue(const struct nl_trace *t, uint32_t x, uint32_t y)
{
    const struct nl_lane_table *lane = &t->lane;
    uint32_t a = t->slice.lane[x], b = t->slice.lane[y];
    return lane->kind[a] == NL_LANE_STREAM && lane->kind[b] == NL_LANE_STREAM &&
           lane->process[a] == lane->process[b] && lane->device[a] == lane->device[b] &&
           lane->context[a] == lane->context[b] && lane->stream[a] == lane->stream[b] &&
           lane->stream[a] != NL_NULL_I64;
}

static bool same_thread(const struct nl_trace *t, uint32_t x, uint32_t y)
{
    uint32_t a = t->slice.link[x], b = t->slice.link[y];
    if (a == NL_NULL_ROW || b == NL_NULL_ROW)
        return false;
    uint32_t thread = t->lane.thread[t->slice.lane[a]];
    return thread != NL_NULL_ROW && thread == t->lane.thread[t->slice.lane[b]];
}

/* The launches of a signature in their order; false when it is not certain: a stream keeps its
 * order, and so does a thread that launches. */
static bool order_launches(const struct nl_trace *t, const struct nl_signature *s,
                           const uint32_t *members, struct launch *launches)
{
    bool queue = true, thread = true;
    uint32_t first = t->kernel.slice[members[0]];
    for (uint32_t i = 0; i < s->kernels; i++) {
        uint32_t slice = t->kernel.slice[members[i]];
        queue = queue && same_queue(t, first, slice);
        thread = thread && same_thread(t, first, slice);
        launches[i] = (struct launch){t->slice.ts[slice], members[i]};
    }
    for (uint32_t i = 0; i < s->kernels && !queue && thread; i++)
        launches[i].ts = t->slice.ts[t->slice.link[t->kernel.slice[members[i]]]];
    qsort(launches, s->kernels, sizeof *launches, by_time);
    for (uint32_t i = 1; i < s->kernels; i++)
        if (launches[i].ts == launches[i - 1].ts)
            return false;
    return queue || thread || s->kernels == 1;
}

/* Did each report measure every launch of the signature once, in one process? */
static bool counts_agree(const struct join *join, size_t run)
{
    const struct nl_trace *report = join->report;
    for (uint32_t at = join->listed[run]; at; at = join->next[at - 1]) {
        const struct nl_signature *s = &join->reports.items[at - 1];
        if (s->kernels != join->runs.items[run].kernels)
            return false;
        const uint32_t *members = join->reports.members + s->first;
        uint32_t process = nl_slice_process(report, report->kernel.slice[members[0]]);
        for (uint32_t i = 1; i < s->kernels; i++)
            if (nl_slice_process(report, report->kernel.slice[members[i]]) != process)
                return false;
    }
    return true;
}

/* A new measurement for launches of a signature, which begin with `kernel`. */
static uint32_t add_measurement(struct join *join, size_t run, uint32_t kernel, bool exact)
{
    const struct nl_signature *s = &join->reports.items[join->listed[run] - 1];
    struct nl_trace *trace = join->m->trace;
    uint32_t number = (uint32_t)join->m->count;
    struct nl_measurement_row *row = nl_measuring_row(join->m);
    row->slice = trace->kernel.slice[kernel];
    row->measured_name = nl_dict_add(&trace->names, nl_trace_name(join->report, s->name));
    row->launches = exact ? 1 : join->runs.items[run].kernels;
    row->measured = 1;
    row->source = join->first_source + s->source;
    return number;
}

/* Launch i is launch i. */
static void join_launches(struct join *join, size_t run, const struct launch *launches)
{
    uint32_t *measurement = join->m->trace->kernel.measurement;
    for (uint32_t i = 0; i < join->runs.items[run].kernels; i++) {
        uint32_t kernel = launches[i].kernel;
        measurement[kernel] = add_measurement(join, run, kernel, true);
        for (uint32_t at = join->listed[run]; at; at = join->next[at - 1])
            join->of[join->reports.members[join->reports.items[at - 1].first + i]] =
                measurement[kernel];
    }
}

/* All launches get the mean. */
static void join_means(struct join *join, size_t run, const struct launch *launches)
{
    const struct nl_signature *s = &join->runs.items[run];
    uint32_t number = add_measurement(join, run, launches[0].kernel, false);
    struct nl_measurement_row *row = &join->m->rows[number];
    for (uint32_t at = join->listed[run]; at; at = join->next[at - 1]) {
        const struct nl_signature *partner = &join->reports.items[at - 1];
        for (uint32_t i = 0; i < partner->kernels; i++)
            join->of[join->reports.members[partner->first + i]] = number;
        row->measured = partner->kernels > row->measured ? partner->kernels : row->measured;
    }
    for (uint32_t i = 0; i < s->kernels; i++)
        join->m->trace->kernel.measurement[launches[i].kernel] = number;
    count(&join->shared, s);
}

static void join_signature(struct join *join, size_t run, struct launch *launches)
{
    const struct nl_signature *s = &join->runs.items[run];
    const struct nl_trace *trace = join->m->trace;
    if (!join->listed[run]) {
        count(s->whole ? &join->unmeasured : &join->shapeless, s);
        return;
    }
    count(&join->joined, s);
    bool ordered = order_launches(trace, s, join->runs.members + s->first, launches);
    if (ordered && counts_agree(join, run))
        join_launches(join, run, launches);
    else
        join_means(join, run, launches);
}

/* The detail says how many signatures, and `why`. */
static void report_join(const struct join *join, const char *item, struct tally tally,
                        const char *why)
{
    char detail[200];
    (void)snprintf(detail, sizeof detail, "%llu by name, grid and block; %s",
                   (unsigned long long)tally.signatures, why);
    if (tally.launches)
        nl_builder_coverage(join->m->f->b, NL_NULL_ROW, item, (int64_t)tally.launches, detail);
}

static void tell_all(const struct join *join, int64_t dropped)
{
    report_join(join, "joined: kernels with a measurement", join->joined, "in a report, too");
    report_join(join, "joined: kernels that share a mean", join->shared,
                "the numbers of launches differ, or their order is not certain");
    report_join(join, "joined: measured launches", join->measured, "in the profile, too");
    report_join(join, "not joined: kernels", join->unmeasured, "in no report");
    report_join(join, "not joined: measured launches", join->strangers, "not in the profile");
    report_join(join, "not joined: measured launches that could be several kernels",
                join->ambiguous, "names that match only in part");
    report_join(join, "not joined: kernels of unknown name, grid or block", join->shapeless,
                "the profile does not tell");
    report_join(join, "not joined: measured launches of unknown name, grid or block",
                join->unshaped, "the report does not tell");
    if (join->report->instance.rows)
        nl_builder_coverage(join->m->f->b, NL_NULL_ROW, "not joined: values per instance",
                            join->report->instance.rows,
                            "they are in metric_instances of the report itself");
    if (dropped)
        nl_builder_coverage(join->m->f->b, NL_NULL_ROW,
                            "metric texts that differ between measured launches", dropped,
                            "left out where kernels share a mean");
}

/* Older drivers leave the maker's name out. */
static struct nl_str product(const struct nl_trace *trace, uint32_t device)
{
    struct nl_str name = nl_trace_name(trace, trace->device.name[device]);
    size_t maker = nl_str_starts(name, "NVIDIA ") ? strlen("NVIDIA ") : 0;
    return (struct nl_str){name.ptr + maker, name.len - maker};
}

/* By product name if both have one, else by compute capability; unknown values match. */
static bool could_be(const struct nl_trace *a, uint32_t x, const struct nl_trace *b, uint32_t y)
{
    const struct nl_device_table *left = &a->device, *right = &b->device;
    struct nl_str name = product(a, x), other = product(b, y);
    if (name.len && other.len)
        return nl_str_eq(name, other);
    if (left->compute_major[x] == NL_NULL_U32 || right->compute_major[y] == NL_NULL_U32)
        return true;
    return left->compute_major[x] == right->compute_major[y] &&
           left->compute_minor[x] == right->compute_minor[y];
}

/* Such reports are joined anyway (they may be the only data), but coverage says so. */
static void tell_other_gpus(const struct join *join)
{
    const struct nl_trace *report = join->report, *trace = join->m->trace;
    for (uint32_t i = 0; i < report->device.rows && trace->device.rows; i++) {
        bool found = false;
        for (uint32_t k = 0; k < trace->device.rows && !found; k++)
            found = could_be(report, i, trace, k);
        if (found)
            continue;
        char detail[300];
        struct nl_str name = nl_trace_name(report, report->device.name[i]);
        name = name.len ? name : nl_str("another GPU");
        (void)snprintf(
            detail, sizeof detail,
            "measured on %.*s, which the profile does not have: values are that GPU's, and "
            "against the peaks of this one they mislead",
            NL_UP_TO(150, name));
        nl_builder_coverage(join->m->f->b, NL_NULL_ROW, "joined: reports of another GPU", 1,
                            detail);
    }
}

void nl_join_report(struct nl_measuring *m, const struct nl_trace *report, uint32_t first_source)
{
    struct join join = {.m = m, .report = report, .first_source = first_source};
    nl_signatures_find(&join.runs, m->trace, false);
    nl_signatures_find(&join.reports, report, true);
    nl_signatures_match(m->trace, &join.runs, report, &join.reports);
    list_partners(&join);
    join.of = nl_alloc(((size_t)report->kernel.rows + 1) * sizeof *join.of);
    memset(join.of, 0xff, ((size_t)report->kernel.rows + 1) * sizeof *join.of);
    struct launch *launches = nl_alloc(((size_t)m->trace->kernel.rows + 1) * sizeof *launches);
    for (size_t run = 0; run < join.runs.count; run++)
        join_signature(&join, run, launches);
    tell_all(&join, nl_measure_rows(m, report, join.of));
    if (join.joined.launches)
        tell_other_gpus(&join);
    nl_signatures_release(&join.runs);
    nl_signatures_release(&join.reports);
    void *owned[] = {join.listed, join.next, join.of, launches};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        nl_free(owned[i]);
}

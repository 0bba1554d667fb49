/*
 * clock_mismatch — the clocks of CPU and device do not fit, so what is judged from both is off.
 *
 * Signal: device work that starts before its launch or ends after a wait for it
 * (derive/clockcheck.h), or a clock error, as the recorder reports it, over 1 % of the median
 * kernel. About the measurement: costs nothing.
 */
#include "findings/cause.h"
#include "tables/clockerror.h"
#include "base/sum.h"
#include "timeline/quantile.h"

#define MAX_ERROR 0.01

/* Kernels and copies of the scene that start before their launch. */
static int64_t count_early(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    int64_t early = 0;
    for (size_t i = 0; i < scene->kernel_count + scene->copy_count; i++) {
        bool kernel = i < scene->kernel_count;
        uint32_t slice = kernel ? trace->kernel.slice[scene->kernels[i]]
                                : trace->copy.slice[scene->copies[i - scene->kernel_count]];
        uint32_t launch = trace->slice.link[slice];
        early += launch != NL_NULL_ROW && trace->slice.ts[slice] < trace->slice.ts[launch];
    }
    return early;
}

static int64_t count_late(const struct nl_trace *trace)
{
    int64_t late = 0;
    for (uint32_t row = 0; row < trace->coverage.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->coverage.item[row]), NL_CLOCK_LATE))
            late += trace->coverage.count[row];
    return late;
}

static double median_kernel(const struct nl_scene *scene)
{
    int64_t *lengths = nl_alloc((scene->kernel_count + 1) * sizeof *lengths);
    for (size_t i = 0; i < scene->kernel_count; i++)
        lengths[i] = scene->trace->slice.dur[scene->trace->kernel.slice[scene->kernels[i]]];
    double median = nl_quantile_median(lengths, scene->kernel_count);
    nl_free(lengths);
    return median;
}

static const char *repair(const struct nl_scene *scene, const struct nl_clock_check *check)
{
    if (check->least <= check->most)
        return nl_say(scene, "adding %lld ns to its times would repair it",
                      (long long)check->shift);
    if (check->drift != 0)
        return nl_say(scene, "only an offset that drifts by %.1f ppm would repair it",
                      check->drift * 1e6);
    return "no offset repairs both its launches and its waits";
}

/* "…, by up to 3 us", nothing where there is none. */
static const char *by_up_to(const struct nl_scene *scene, int64_t worst)
{
    return worst > 0 ? nl_say(scene, ", by up to %s", nl_say_ns(scene, worst)) : "";
}

static struct nl_evidence early_work(struct nl_scene *scene, int64_t early)
{
    const struct nl_clock_check *check = scene->clock;
    return (struct nl_evidence){
        .metric = "early_work",
        .says = nl_say(scene,
                       "%s kernels and copies start before the call that launched them began; "
                       "of %s compared%s",
                       nl_say_count(scene, (uint64_t)early), nl_say_count(scene, check->launches),
                       by_up_to(scene, check->worst_early)),
        .threshold = "none may",
        .query = nl_say(scene,
                        "SELECT count(*) FROM (SELECT ts, launch FROM kernels WHERE %s UNION "
                        "ALL SELECT ts, launch FROM copies WHERE %s) w JOIN slices c ON c.id = "
                        "w.launch WHERE w.ts < c.ts",
                        nl_scene_on(scene, ""), nl_scene_on(scene, "")),
        .meaning = NL_MEANS_COUNT,
        .value = (double)early};
}

static struct nl_evidence late_work(struct nl_scene *scene, int64_t late)
{
    const struct nl_clock_check *check = scene->clock;
    return (struct nl_evidence){
        .metric = "late_work",
        .says = nl_say(scene, "%s of %s ends are after the return of a wait for them%s; %s",
                       nl_say_count(scene, check->late), nl_say_count(scene, check->waits),
                       by_up_to(scene, check->worst_late), repair(scene, check)),
        .threshold = "none may (the number is of all devices)",
        .query = "SELECT coalesce(sum(count), 0) FROM coverage WHERE item = '" NL_CLOCK_LATE "'",
        .meaning = NL_MEANS_COUNT,
        .value = (double)late};
}

static void contradiction(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_clock_check *check = scene->clock;
    int64_t worst = check->worst_early > check->worst_late ? check->worst_early : check->worst_late;
    nl_title(scene, finding, "The clocks of CPU and %s contradict each other by up to %s",
             nl_scene_name(scene), nl_say_ns(scene, worst));
    int64_t early = count_early(scene), late = count_late(scene->trace);
    bool launches = early || !late; /* what is contradicted comes first */
    nl_evidence(finding, launches ? early_work(scene, early) : late_work(scene, late));
    nl_evidence(finding, launches ? late_work(scene, late) : early_work(scene, early));
}

static void say_error(struct nl_scene *scene, struct nl_finding *finding, int64_t error,
                      double median)
{
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "clock_error_ns",
                    .says = nl_say(scene, "the recorder's clocks may be off by %s",
                                   nl_say_ns(scene, error)),
                    .threshold = "> 1 % of the median kernel",
                    .query = "SELECT max(CAST(value AS INTEGER)) FROM metadata WHERE key IN "
                             "('clock error (ns)', 'GPU clock error (ns)')",
                    .meaning = NL_MEANS_NS,
                    .value = (double)error});
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "median_kernel_ns",
                    .says = nl_say(scene, "the median kernel of %s lasts %s", nl_scene_name(scene),
                                   nl_say_ns(scene, nl_sum_near(median))),
                    .query = nl_say(scene, "SELECT percentile(dur, 50) FROM kernels WHERE %s",
                                    nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_NUMBER,
                    .value = median});
}

static enum nl_verdict clock_mismatch_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    int64_t error = nl_clock_error(scene->trace, NL_NULL_ROW);
    double median = median_kernel(scene);
    bool large = error != NL_NULL_I64 && median > 0 && (double)error > MAX_ERROR * median;
    if (!scene->trace->api.rows && !large)
        return nl_abstain(finding, "no calls were recorded");
    if (!scene->clock && !large)
        return NL_CAUSE_ABSENT;
    finding->validity = true;
    finding->severity = scene->clock ? NL_SEVERITY_WARNING : NL_SEVERITY_INFO;
    finding->confidence = 1;
    if (scene->clock)
        contradiction(scene, finding);
    else
        nl_title(scene, finding, "The clock error is %s of the median kernel of %s",
                 nl_say_share(scene, (double)error / median), nl_scene_name(scene));
    if (large)
        say_error(scene, finding, error, median);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_clock_mismatch = {
    .id = "clock_mismatch",
    .doc = "About the recording, not the program: device work starts before the call that launched "
           "it, or ends after a wait for it has returned (see the analysis `clock`), or the "
           "profiler reports a clock error of more than 1 % of the median kernel. It has no cost "
           "of its own, but launch latencies, and idle time derived from them, are off by as much. "
           "Timestamps are not corrected.",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .evaluate = clock_mismatch_evaluate,
    .not_this_if = "correlation ids were reused, so that work is attached to a call that did not "
                   "launch it (then it is off by far more than microseconds)",
};

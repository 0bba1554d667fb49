/*
 * periodic_outlier_steps — a few steps take far longer than the others: checkpoints, evaluation,
 * logging, garbage collection.
 *
 * Signal: of eight steps or more (warm-up left out) at most a quarter take over twice the median,
 * and together over 5 % of wall more than the median would. What they do in addition is the name
 * with most time, on the working thread, in those steps beyond its median share.
 */
#include <stdlib.h>

#include "base/search.h"
#include "base/utf8.h"
#include "findings/bookcause.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/median.h"
#include "tables/memo.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.20
#define MIN_STEPS      8
#define MAX_OUTLIERS   4 /* one of that many steps */

struct outliers {
    int64_t median, excess;
    size_t count, of;
};

static bool is_later(const struct nl_found_step *step)
{
    return step->phase != NL_STEP_WARM_UP;
}

static bool is_outlier(const struct nl_found_step *step, int64_t median)
{
    return is_later(step) && (step->end - step->start) / 2 > median;
}

static struct outliers find_outliers(const struct nl_scene *scene, struct nl_intervals *where)
{
    struct outliers found = {0};
    int64_t *lengths = nl_alloc((scene->steps + 1) * sizeof *lengths);
    for (size_t i = 0; i < scene->steps; i++)
        if (is_later(&scene->found[i]))
            lengths[found.of++] = scene->found[i].end - scene->found[i].start;
    found.median = found.of ? nl_median_lower(lengths, found.of) : 0;
    nl_free(lengths);
    for (size_t i = 0; i < scene->steps; i++) {
        const struct nl_found_step *step = &scene->found[i];
        if (!is_outlier(step, found.median))
            continue;
        nl_sum_add(&found.excess, step->end - step->start - found.median);
        nl_intervals_add(where, step->start + found.median, step->end);
        found.count++;
    }
    return found;
}

/* ---- what they do in addition ---- */

struct extra {
    int64_t inside, outside; /* time of a name in the outliers, in the other steps */
};

/* The step that contains a moment of the CPU; steps are in order of time. */
static const struct nl_found_step *step_at(const struct nl_scene *scene, int64_t ts)
{
    size_t after = NL_FIRST(i, (size_t)0, scene->steps, scene->found[i].marked_start > ts);
    return after && scene->found[after - 1].marked_end > ts ? &scene->found[after - 1] : NULL;
}

static void sum_extra_times(const struct nl_scene *scene, uint32_t thread, int64_t median,
                            struct extra *extras)
{
    const struct nl_trace *trace = scene->trace;
    const int64_t *self = nl_memo_self_times(scene->memo);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.thread[lane] != thread || trace->lane.kind[lane] == NL_LANE_SCHED)
            continue;
        uint32_t end = trace->lane.first[lane] + trace->lane.count[lane];
        for (uint32_t row = trace->lane.first[lane]; row < end; row++) {
            const struct nl_found_step *step = step_at(scene, trace->slice.ts[row]);
            if (!step || !is_later(step) || self[row] <= 0 ||
                trace->slice.dur[row] > step->marked_end - step->marked_start - 1)
                continue;
            struct extra *it = &extras[trace->slice.name[row]];
            nl_sum_add(is_outlier(step, median) ? &it->inside : &it->outside, self[row]);
        }
    }
}

/* The name that explains most of the excess, where it explains a third of it; NL_NO_NAME else. */
static uint32_t explain(const struct nl_scene *scene, const struct outliers *found)
{
    uint32_t thread = nl_scene_thread(scene), best = NL_NO_NAME;
    double most = (double)found->excess / 3;
    if (thread == NL_NULL_ROW || found->of == found->count)
        return NL_NO_NAME;
    struct extra *extras = nl_zalloc(((size_t)scene->trace->names.count + 1) * sizeof *extras);
    sum_extra_times(scene, thread, found->median, extras);
    double usual = (double)found->count / (double)(found->of - found->count);
    for (uint32_t id = 1; id < scene->trace->names.count; id++) {
        double beyond = (double)extras[id].inside - (double)extras[id].outside * usual;
        if (beyond <= most)
            continue;
        most = beyond;
        best = id;
    }
    nl_free(extras);
    return best;
}

static const char *steps_sql(const struct nl_scene *scene, const char *what)
{
    const char *rank = scene->device->rank == NL_NULL_I64
                           ? "rank IS NULL"
                           : nl_say(scene, "rank = %lld", (long long)scene->device->rank);
    return nl_say(scene, "SELECT %s FROM detected_steps WHERE phase <> 'warm-up' AND %s%s", what,
                  rank, nl_scene_during(scene, ""));
}

static enum nl_verdict periodic_outlier_steps_evaluate(struct nl_scene *scene,
                                                       struct nl_finding *finding)
{
    struct outliers found = find_outliers(scene, &finding->where);
    if (found.of < MIN_STEPS || !found.count || found.median <= 0 ||
        found.count * MAX_OUTLIERS > found.of || nl_scene_share(scene, found.excess) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    uint32_t name = explain(scene, &found);
    struct nl_str text = nl_trace_name(scene->trace, name);
    nl_find(scene, finding, found.excess, CRITICAL_SHARE, 1);
    if (name != NL_NO_NAME)
        finding->culprit = nl_say(scene, "%.*s", NL_UP_TO(60, text));
    nl_title(scene, finding, "%s of %s steps take over twice the median of %s: %s more in all%s%s",
             nl_say_count(scene, found.count), nl_say_count(scene, found.of),
             nl_say_ns(scene, found.median), nl_say_ns(scene, found.excess),
             finding->culprit ? ", most in " : "", finding->culprit ? finding->culprit : "");
    long long m = (long long)found.median;
    nl_prove(
        scene, finding,
        (struct nl_evidence){
            .metric = "outlier_steps_ns",
            .threshold = "> 5 % of wall",
            .query = steps_sql(
                scene, nl_say(scene, "sum(CASE WHEN dur / 2 > %lld THEN dur - %lld END)", m, m)),
            .meaning = NL_MEANS_NS,
            .value = (double)found.excess},
        "%s beyond the median of %s", nl_say_ns(scene, found.excess),
        nl_say_ns(scene, found.median));
    nl_prove(
        scene, finding,
        (struct nl_evidence){.metric = "outlier_steps",
                             .threshold = "at most a quarter of the steps",
                             .query = steps_sql(scene, nl_say(scene, "sum(dur / 2 > %lld)", m)),
                             .meaning = NL_MEANS_COUNT,
                             .value = (double)found.count},
        "%s of %s steps", nl_say_count(scene, found.count), nl_say_count(scene, found.of));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_periodic_outlier_steps = {
    .id = "periodic_outlier_steps",
    .on = NL_ON_BOTH,
    .doc = "Of at least eight steps (without warm-up), at most a quarter take more than twice the "
           "median (nsys-ai: 1.5 times; TensorBoard: 3 standard deviations). Cost: their time "
           "beyond the median, over 5 % of wall.",
    .of_gaps = true,
    .evaluate = periodic_outlier_steps_evaluate,
    .not_this_if = "slow steps have other work by design (accumulation, longer sequences): then "
                   "most steps differ, or a quarter are slow",
};

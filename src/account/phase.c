/* phase — see phase.h. */
#include "account/phase.h"

#include <math.h>
#include <stdlib.h>

#include "account/startup.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/median.h"
#define MIN_STEPS     4   /* fewer have no usual length */
#define OUTLIER_TIMES 1.5 /* the median, at least */
#define MAX_Z         3.5 /* Iglewicz and Hoaglin 1993, as stepphase.c */
#define MAX_OUTLIERS  0.1 /* of the steps: more are no outliers but how the run is */
#define STEADY_DEVIATION                                                                           \
    0.2              /* of the median length: such a step is no warm-up, however even the rest is */
#define MAX_TAIL 0.5 /* of the device work's span */
#define PAUSE_TIMES                                                                                \
    2.0 /* the median time from step to step: a pause this long belongs to no step */

const char *nl_phase_name(enum nl_phase phase)
{
    static const char *const names[NL_PHASES] = {"startup", "warmup", "steady", "tail", "outlier"};
    return names[phase];
}

static void add_cut(struct nl_phases *phases, int64_t start, enum nl_phase phase)
{
    struct nl_phase_group *group = &phases->groups[phases->group_count - 1];
    if (group->count && phases->cuts[phases->cut_count - 1].phase == phase)
        return;
    if (group->count && phases->cuts[phases->cut_count - 1].start == start) {
        phases->cuts[phases->cut_count - 1].phase = phase;
        return;
    }
    nl_grow(&phases->cuts, &phases->cut_cap, phases->cut_count + 1);
    phases->cuts[phases->cut_count++] = (struct nl_phase_cut){start, phase};
    group->count++;
}

static struct nl_phase_group *add_group(struct nl_phases *phases, int64_t rank)
{
    nl_grow(&phases->groups, &phases->group_cap, phases->group_count + 1);
    struct nl_phase_group *group = &phases->groups[phases->group_count++];
    *group = (struct nl_phase_group){.rank = rank, .first = phases->cut_count};
    return group;
}

/* ---- With steps ---- */

struct usual {
    double most;   /* longest length that is no outlier */
    double pause;  /* longest usual pause between two steps */
    double median; /* of all lengths */
};

/* Over how long a step is an outlier; INFINITY if there are too few to judge, or too many. */
static double most_length(const struct nl_found_step *steps, size_t count, int64_t *values)
{
    size_t kept = 0, over = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].phase == NL_STEP_STEADY)
            values[kept++] = steps[i].end - steps[i].start;
    if (kept < MIN_STEPS)
        return INFINITY;
    int64_t median = nl_median_upper(values, kept);
    for (size_t i = 0; i < kept; i++)
        values[i] = llabs(values[i] - median);
    double most = (double)median + MAX_Z * 1.4826 * (double)nl_median_upper(values, kept);
    most = most > OUTLIER_TIMES * (double)median ? most : OUTLIER_TIMES * (double)median;
    for (size_t i = 0; i < count; i++)
        over += steps[i].phase == NL_STEP_STEADY && (double)(steps[i].end - steps[i].start) > most;
    return (double)over > 1 + MAX_OUTLIERS * (double)kept ? INFINITY : most;
}

static double most_pause(const struct nl_found_step *steps, size_t count, int64_t *values)
{
    if (count < 2)
        return INFINITY;
    for (size_t i = 0; i + 1 < count; i++)
        values[i] = steps[i + 1].start - steps[i].start;
    return PAUSE_TIMES * (double)nl_median_upper(values, count - 1);
}

static double median_length(const struct nl_found_step *steps, size_t count, int64_t *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = steps[i].end - steps[i].start;
    return count ? (double)nl_median_upper(values, count) : 0;
}

static struct usual usual_of(const struct nl_found_step *steps, size_t count)
{
    int64_t *values = nl_alloc((count + 1) * sizeof *values);
    struct usual usual = {most_length(steps, count, values), most_pause(steps, count, values),
                          median_length(steps, count, values)};
    nl_free(values);
    return usual;
}

static enum nl_phase phase_of(const struct nl_found_step *step, const struct usual *usual,
                              bool warm)
{
    double length = (double)(step->end - step->start);
    bool alike = fabs(length - usual->median) <= STEADY_DEVIATION * usual->median;
    if (step->phase == NL_STEP_COMPILE || (step->phase == NL_STEP_WARM_UP && !alike))
        return warm ? NL_OUTLIER : NL_WARMUP;
    return length > usual->most ? NL_OUTLIER : NL_STEADY;
}

static void cut_by_steps(struct nl_phases *phases, const struct nl_step_group *found,
                         const struct nl_found_step *steps)
{
    struct nl_phase_group *group = add_group(phases, found->rank);
    struct usual usual = usual_of(steps, found->count);
    bool warm = false;
    group->step_first = found->first;
    group->step_count = found->count;
    add_cut(phases, INT64_MIN, NL_STARTUP);
    for (size_t i = 0; i < found->count; i++) {
        enum nl_phase phase = phase_of(&steps[i], &usual, warm);
        warm |= phase == NL_STEADY;
        group->steps[phase]++;
        add_cut(phases, steps[i].start, phase);
        if (i + 1 == found->count)
            add_cut(phases, steps[i].end, NL_TAIL);
        else if ((double)(steps[i + 1].start - steps[i].end) > usual.pause)
            add_cut(phases, steps[i].end, NL_OUTLIER);
    }
}

/* ---- Without ---- */

static void cut_by_work(struct nl_phases *phases, const struct nl_startup *span)
{
    add_group(phases, span->rank);
    if (span->start >= span->end) {
        add_cut(phases, INT64_MIN, NL_STEADY);
        return;
    }
    add_cut(phases, INT64_MIN, NL_STARTUP);
    if (span->steady < span->end)
        add_cut(phases, span->steady, NL_STEADY);
    add_cut(phases, span->end, NL_TAIL);
}

static const struct nl_step_group *steps_of(const struct nl_found_steps *steps, int64_t rank)
{
    for (size_t i = 0; i < steps->group_count; i++)
        if (steps->groups[i].rank == rank && steps->groups[i].count)
            return &steps->groups[i];
    return NULL;
}

/* Whether the rank's work is in its steps, or before them. Steps after which most of the
 * work comes are those of something else: another host of one file, a part of the program.
 * `end` is the last one's. */
static bool stand_for(int64_t end, const struct nl_startup *span)
{
    return span->start >= span->end ||
           (double)(span->end - end) <= MAX_TAIL * (double)(span->end - span->start);
}

/* False when the rank has no steps that stand for its work. */
static bool cut_by_any_steps(struct nl_phases *phases, const struct nl_startup *span)
{
    const struct nl_step_group *group = steps_of(phases->steps, span->rank);
    if (!group)
        return false;
    const struct nl_found_step *steps = phases->steps->items + group->first;
    if (!stand_for(steps[group->count - 1].end, span))
        return false;
    cut_by_steps(phases, group, steps);
    return true;
}

void nl_phases_init(struct nl_phases *phases, const struct nl_trace *trace,
                    const struct nl_found_steps *steps, const struct nl_api_roles *roles)
{
    size_t count;
    struct nl_startup *spans = nl_startups(trace, roles, &count);
    *phases = (struct nl_phases){.steps = steps};
    for (size_t i = 0; i < count; i++)
        if (!cut_by_any_steps(phases, &spans[i]))
            cut_by_work(phases, &spans[i]);
    nl_free(spans);
}

void nl_phases_release(struct nl_phases *phases)
{
    nl_free(phases->cuts);
    nl_free(phases->groups);
    *phases = (struct nl_phases){0};
}

const struct nl_phase_group *nl_phases_of(const struct nl_phases *phases, int64_t rank)
{
    const struct nl_phase_group *with_steps = NULL;
    for (size_t i = 0; i < phases->group_count; i++) {
        const struct nl_phase_group *group = &phases->groups[i];
        if (group->rank == rank && (group->step_count || rank != NL_NULL_I64))
            return group;
        if (group->step_count && !with_steps)
            with_steps = group;
    }
    return with_steps ? with_steps : &phases->groups[0];
}

size_t nl_phase_find(const struct nl_phases *phases, const struct nl_phase_group *group, int64_t ts,
                     size_t hint)
{
    size_t low = group->first, high = group->first + group->count;
    if (hint >= low && hint < high && phases->cuts[hint].start <= ts &&
        ts < nl_phase_end(phases, group, hint))
        return hint;
    return NL_FIRST(i, low + 1, high, phases->cuts[i].start > ts) - 1;
}

/* Which steps are not like the rest of the run: warm-up at the beginning, module loading. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "timeline/stepphase.h"
#include "timeline/quantile.h"

#define MIN_STEPS  4 /* fewer lengths have no usual one */
#define MAX_Z      3.5
#define MIN_SPREAD 0.01 /* of the median: clocks are not what is measured here */
#define LOAD_SHARE 0.05

static int64_t distance(int64_t value, double middle)
{
    double away = (double)value - middle;
    return nl_sum_near(fabs(away));
}

struct usual {
    double middle, most; /* median length, longest usual distance from it */
};

static struct usual usual_length(const struct nl_found_step *steps, size_t count)
{
    int64_t *values = nl_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = steps[i].end - steps[i].start;
    double middle = nl_quantile_median(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = distance(steps[i].end - steps[i].start, middle);
    double spread = 1.4826 * nl_quantile_median(values, count);
    nl_free(values);
    if (spread < MIN_SPREAD * middle)
        spread = MIN_SPREAD * middle;
    return (struct usual){middle, MAX_Z * spread};
}

static bool loads(const struct nl_found_step *step)
{
    int64_t length = step->end - step->start;
    return step->load_ns > 0 && (double)step->load_ns >= LOAD_SHARE * (double)length;
}

static bool is_unusual(const struct nl_found_step *step, const struct usual *usual)
{
    return (double)distance(step->end - step->start, usual->middle) > usual->most;
}

void nl_steps_set_phases(struct nl_found_step *steps, size_t count)
{
    size_t first = 0, loading = 0;
    while (first < count && steps[first].phase == NL_STEP_WARM_UP)
        first++;
    if (count - first >= MIN_STEPS) {
        struct usual usual = usual_length(steps + first, count - first);
        size_t rest = (count - first) / 2; /* the usual is what most are */
        for (; rest && is_unusual(&steps[first], &usual); first++, rest--)
            steps[first].phase = NL_STEP_WARM_UP;
    }
    for (size_t i = 0; i < count; i++)
        loading += loads(&steps[i]);
    if (loading * 2 > count) /* then it is part of every step */
        return;
    for (size_t i = 0; i < count; i++)
        if (loads(&steps[i]))
            steps[i].phase = NL_STEP_COMPILE;
}

/* sureness — see sureness.h. */
#include "findings/sureness.h"

#include <math.h>

#define NORMAL_95 1.6448536 /* quantile of the normal distribution */

struct counts {
    unsigned hits, trials;
};

static const struct {
    const char *cause;
    struct counts of[NL_SURE_KINDS];
} measured[] = {
#define NL_SURE(cause, named, named_of, launched, launched_of, device, device_of, cpu, cpu_of)     \
    {cause, {{named, named_of}, {launched, launched_of}, {device, device_of}, {cpu, cpu_of}}},
#include "findings/sureness.def"
};
#define ROWS (sizeof measured / sizeof measured[0])

enum nl_sure_of nl_sure_of(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    if (scene->cpu)
        return NL_SURE_CPU;
    if (!(scene->linked >= 0.5))
        return NL_SURE_DEVICE;
    return trace->op.rows || trace->python.rows || trace->nvtx.rows || trace->sample.rows
               ? NL_SURE_NAMED
               : NL_SURE_LAUNCHED;
}

double nl_sure_bound(unsigned hits, unsigned trials)
{
    if (!trials)
        return 0;
    double share = (double)hits / trials;
    double n = trials < NL_SURE_TRIALS ? trials : NL_SURE_TRIALS;
    double z2 = NORMAL_95 * NORMAL_95;
    double middle = share + z2 / (2 * n);
    double width = NORMAL_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
    return (middle - width) / (1 + z2 / n);
}

double nl_sureness(const char *cause, enum nl_sure_of of)
{
    struct counts all = {0};
    for (size_t i = 0; i < ROWS; i++) {
        all.hits += measured[i].of[of].hits;
        all.trials += measured[i].of[of].trials;
        if (!strcmp(measured[i].cause, cause) && measured[i].of[of].trials)
            return nl_sure_bound(measured[i].of[of].hits, measured[i].of[of].trials);
    }
    return nl_sure_bound(all.hits, all.trials);
}

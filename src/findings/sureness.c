/* sureness — see sureness.h. */
#include "findings/sureness.h"

#include <math.h>

#define NORMAL_95 1.6448536 /* quantile of the normal distribution */

static const struct {
    const char *cause;
    struct nl_sure_counts of[NL_SURE_KINDS];
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

double nl_sure_bound(double hits, double trials)
{
    if (!(trials > 0))
        return 0;
    double share = hits / trials;
    double n = trials < NL_SURE_TRIALS ? trials : NL_SURE_TRIALS;
    double z2 = NORMAL_95 * NORMAL_95;
    double middle = share + z2 / (2 * n);
    double width = NORMAL_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
    return (middle - width) / (1 + z2 / n);
}

double nl_sure_joined(struct nl_sure_counts cause, struct nl_sure_counts column)
{
    if (!column.trials)
        return 0;
    double usual = (double)column.hits / column.trials;
    double hits = cause.hits + NL_SURE_PSEUDO * usual, trials = cause.trials + NL_SURE_PSEUDO;
    bool worse = cause.hits < usual * cause.trials;
    return worse ? nl_sure_bound(NL_SURE_PSEUDO * hits / trials, NL_SURE_PSEUDO)
                 : nl_sure_bound(hits, trials);
}

double nl_sure_of_counts(const struct nl_sure_counts cause[NL_SURE_KINDS],
                         const struct nl_sure_counts columns[NL_SURE_KINDS], enum nl_sure_of of)
{
    double least = 1;
    for (int at = of == NL_SURE_CPU ? of : NL_SURE_NAMED; at <= (int)of; at++) {
        int has = at;
        while (has < NL_SURE_DEVICE && !cause[has].trials)
            has++;
        has = cause[has].trials ? has : at;
        least = fmin(least, nl_sure_joined(cause[has], columns[has]));
    }
    return least;
}

double nl_sureness(const char *cause, enum nl_sure_of of)
{
    static const struct nl_sure_counts none[NL_SURE_KINDS];
    const struct nl_sure_counts *found = none;
    struct nl_sure_counts columns[NL_SURE_KINDS] = {{0, 0}};
    for (size_t i = 0; i < ROWS; i++) {
        for (int at = 0; at < NL_SURE_KINDS; at++) {
            columns[at].hits += measured[i].of[at].hits;
            columns[at].trials += measured[i].of[at].trials;
        }
        if (!strcmp(measured[i].cause, cause))
            found = measured[i].of;
    }
    return nl_sure_of_counts(found, columns, of);
}

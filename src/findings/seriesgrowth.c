/* seriesgrowth — see seriesgrowth.h. */
#include "findings/seriesgrowth.h"

#define MIN_VALUES 4 /* of a part: of fewer the lowest is chance */
#define MIN_RISES  4 /* of five */

void nl_growth_begin(struct nl_growth *growth, int64_t start, int64_t end)
{
    *growth = (struct nl_growth){.start = start, .end = end};
    for (unsigned part = 0; part < NL_GROWTH_PARTS; part++)
        growth->least[part] = INT64_MAX;
}

int64_t nl_growth_at(const struct nl_growth *growth, unsigned part)
{
    int64_t length = growth->end / NL_GROWTH_PARTS - growth->start / NL_GROWTH_PARTS;
    return part == NL_GROWTH_PARTS ? growth->end : growth->start + length * (int64_t)part;
}

void nl_growth_add(struct nl_growth *growth, int64_t ts, int64_t value)
{
    unsigned part = 0;
    while (part + 1 < NL_GROWTH_PARTS && ts >= nl_growth_at(growth, part + 1))
        part++;
    growth->values[part]++;
    growth->least[part] = value < growth->least[part] ? value : growth->least[part];
}

bool nl_growth_rises(const struct nl_growth *growth)
{
    unsigned rises = 0;
    for (unsigned part = NL_GROWTH_START; part < NL_GROWTH_PARTS; part++) {
        if (growth->values[part] < MIN_VALUES)
            return false;
        if (part == NL_GROWTH_START)
            continue;
        if (growth->least[part] < growth->least[part - 1])
            return false;
        rises += growth->least[part] > growth->least[part - 1];
    }
    return rises >= MIN_RISES;
}

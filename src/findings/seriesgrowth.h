/*
 * seriesgrowth — whether the lowest value of a series keeps rising: what is never given back. Time
 * is cut into eight equal parts, of which the first two are the start; the lowest value of each
 * later part must not be below the one before, and rise in most.
 */
#ifndef NL_SERIESGROWTH_H
#define NL_SERIESGROWTH_H

#include <stdbool.h>
#include <stdint.h>

#define NL_GROWTH_PARTS 8
#define NL_GROWTH_START 2

struct nl_growth {
    int64_t start, end; /* of the series */
    int64_t least[NL_GROWTH_PARTS];
    uint64_t values[NL_GROWTH_PARTS];
};

void nl_growth_begin(struct nl_growth *growth, int64_t start, int64_t end);
void nl_growth_add(struct nl_growth *growth, int64_t ts, int64_t value);
/* Where a part begins; part NL_GROWTH_PARTS: the end. */
int64_t nl_growth_at(const struct nl_growth *growth, unsigned part);
bool nl_growth_rises(const struct nl_growth *growth);

#endif

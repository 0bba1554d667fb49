/*
 * kernelkinds — what causes about kinds of kernels have in common: the time of a device's kernels
 * of one category (docs/kernels.md), how many they are and how long one takes.
 */
#ifndef NL_KERNELKINDS_H
#define NL_KERNELKINDS_H

#include "findings/cause.h"

struct nl_kind_facts {
    int64_t total_ns;
    int64_t chained_ns; /* of that, in kernels right after another of the kind on their lane */
    /* beyond the longest kernel of each run of them: what fusing each into one wins */
    int64_t spare_ns;
    uint64_t count;
    double median_ns;
};

struct nl_kind_facts nl_kind_facts(struct nl_scene *scene, unsigned category);

/* Adds the times of the device's kernels of the category. */
void nl_kind_claim(const struct nl_scene *scene, unsigned category, struct nl_intervals *where);

/* Time, count and median as evidence, and its share of busy time. */
void nl_kind_tell(struct nl_scene *scene, struct nl_finding *finding,
                  const struct nl_kind_facts *facts, const char *category, const char *threshold);

/* Busy time of the device. */
int64_t nl_kind_busy(const struct nl_scene *scene);

#endif

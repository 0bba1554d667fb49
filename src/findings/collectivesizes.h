/*
 * collectivesizes — collectives of a scene's device by operation, size and group: how many, the
 * shortest, and the sum. The shortest stands for the transfer; what others take beyond it they wait
 * for other ranks (nccl-tests' view). Left out are groups of one rank, which wait for no other rank
 * and use no link; and of each operation, size and group the first call counts for the shortest
 * alone, because it connects the ranks (as the warm-up of nccl-tests does).
 */
#ifndef NL_COLLECTIVESIZES_H
#define NL_COLLECTIVESIZES_H

#include "findings/cause.h"

struct nl_collective_size {
    uint32_t row;        /* of table collective: any of them */
    uint64_t count;      /* without the first */
    int64_t shortest_ns; /* of all */
    int64_t total_ns;    /* without the first */
    int64_t first_ts, first_ns;
};

/* nl_free it; *count of them, in order of operation, size and group. */
struct nl_collective_size *nl_collective_sizes(const struct nl_scene *scene, size_t *count);

/* Conditions that pick one of them in table collectives, and all of them. */
const char *nl_collective_size_sql(const struct nl_scene *scene, uint32_t row);
const char *nl_collectives_sql(const struct nl_scene *scene);

/* A table "calls" of those that count, to select from: WITH …; dur, operation, bytes,
 * group_name. `where` as above. */
const char *nl_collective_calls_sql(const struct nl_scene *scene, const char *where);

#endif

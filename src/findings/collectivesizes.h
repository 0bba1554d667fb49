/*
 * collectivesizes — collectives of a scene's device by operation, size and group: how many, the shortest, and the sum. The
 * shortest stands for the transfer; what others take beyond it they wait for other ranks (nccl-tests' view).
 */
#ifndef NL_COLLECTIVESIZES_H
#define NL_COLLECTIVESIZES_H

#include "findings/cause.h"

struct nl_collective_size {
    uint32_t row; /* of table collective: any of them */
    uint64_t count;
    int64_t shortest_ns, total_ns;
};

/* nl_free it; *count of them, in order of operation, size and group. */
struct nl_collective_size *nl_collective_sizes(const struct nl_scene *scene, size_t *count);

/* Conditions that pick one of them in table collectives, and all of them. */
const char *nl_collective_size_sql(const struct nl_scene *scene, uint32_t row);
const char *nl_collectives_sql(const struct nl_scene *scene);

#endif

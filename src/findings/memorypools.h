/*
 * memorypools — which memory of a scene allocations are of: a kind of device and its number, of the
 * scene's rank. Causes about memory look at the pool with most; what they cost is bytes, no time.
 */
#ifndef NL_MEMORYPOOLS_H
#define NL_MEMORYPOOLS_H

#include "findings/cause.h"

struct nl_memory_pool {
    int64_t device_type, device;
    int64_t first_ts, last_ts;              /* of events with totals */
    uint64_t peak_allocated, peak_reserved; /* 0: not given */
};

/* The pool whose allocator reported most bytes; false: none reported any. */
bool nl_memory_pool(const struct nl_scene *scene, struct nl_memory_pool *pool);
bool nl_memory_in_pool(const struct nl_scene *scene, const struct nl_memory_pool *pool,
                       uint32_t row);
/* Conditions that pick its rows of table memory. */
const char *nl_memory_pool_sql(const struct nl_scene *scene, const struct nl_memory_pool *pool);
/* "the CPU", "device 0" */
const char *nl_memory_pool_name(const struct nl_scene *scene, const struct nl_memory_pool *pool);
/* A finding of bytes: no cost, no share. */
void nl_find_bytes(struct nl_finding *finding);

#endif

/*
 * idleclass — why a gap of a device: from the launch of the work that ends it (enum nl_idle_class).
 * One rule for every table and finding; idletime.h says what the classes mean.
 */
#ifndef NL_IDLECLASS_H
#define NL_IDLECLASS_H

#include "timeline/apirole.h"

struct nl_idle_gap;

struct nl_idle_rule {
    const struct nl_trace *trace; /* borrowed, as the next */
    const struct nl_api_roles *roles;
    uint32_t *sync_lane; /* per lane of a stream: the lane of its waits, or NL_NULL_ROW */
    bool has_waits;      /* waits of streams were recorded */
};

void nl_idle_rule_init(struct nl_idle_rule *rule, const struct nl_trace *trace,
                       const struct nl_api_roles *roles);
void nl_idle_rule_release(struct nl_idle_rule *rule);

/* enum nl_idle_class of a gap whose start, owner (`after`) and launch are known; never short. */
uint8_t nl_idle_classify(const struct nl_idle_rule *rule, const struct nl_idle_gap *gap);

static inline bool nl_is_call(const struct nl_trace *trace, uint32_t slice)
{
    return slice != NL_NULL_ROW && trace->slice.kind[slice] == NL_KIND_API;
}

#endif

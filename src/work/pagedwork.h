/*
 * pagedwork — attention over a paged cache, whose lengths are in device memory: if the range around
 * a step gives their sums (vLLM:
 * execute_context_0(sq0sk0…)_generation_32(sq32sk55086sqsq32sqsk55086)), FLOPs and bytes follow
 * from them.
 */
#ifndef NL_PAGEDWORK_H
#define NL_PAGEDWORK_H

#include "work/opwork.h"

/* Fills rows of attention that have no FLOPs. `owners` are those of the rows. */
void nl_paged_works(struct nl_op_works *works, const struct nl_owners *owners);

#endif

/* The head of a recording. */
#include "capture/shared/rechead.h"

#include <stdio.h>
#include <string.h>

#include "capture/shared/ticks.h"

void rechead_fill(struct nl_rec_head *head, const struct nl_control *control,
                  const struct recfile_facts *facts, bool foreign)
{
    head->version = NL_REC_VERSION;
    head->head_bytes = NL_REC_HEAD_BYTES;
    head->block_bytes = NL_REC_BLOCK_BYTES;
    head->clock = control->clock;
    head->policy = control->policy;
    head->pid = facts->pid;
    head->foreign = foreign;
    head->parent = facts->parent;
    head->rank = facts->rank;
    head->local_rank = facts->local_rank;
    head->world = facts->world;
    head->epoch_ns = control->epoch_ns;
    head->ticks_per_second = control->ticks_per_second;
    (void)snprintf(head->program, sizeof head->program, "%s", facts->program);
    (void)snprintf(head->host, sizeof head->host, "%s", facts->host);
    (void)snprintf(head->tool, sizeof head->tool, "neurolens %s", NL_VERSION);
    head->pairs[0] = ticks_pair(control->clock, 8);
    head->pair_count = 1;
    /* Last, and at once: whoever sees it sees all the rest. */
    uint64_t magic;
    memcpy(&magic, NL_REC_MAGIC, sizeof magic);
    __atomic_store_n((uint64_t *)(void *)head->magic, magic, __ATOMIC_RELEASE);
}

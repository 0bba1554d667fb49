/*
 * rechead — the head of a recording, as the recorded process or (attached) the recorder fills it.
 */
#ifndef NL_RECHEAD_H
#define NL_RECHEAD_H

#include "capture/shared/control.h"

struct recfile_facts {
    const char *program, *host;
    int64_t pid, parent, rank, local_rank, world;
};

/* `head` is zeroed memory of NL_REC_HEAD_BYTES. `foreign`: pid is of another PID namespace. */
void rechead_fill(struct nl_rec_head *head, const struct nl_control *control,
                  const struct recfile_facts *facts, bool foreign);

#endif

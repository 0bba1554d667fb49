/*
 * accountcomm — collectives on devices as their ranks saw them: what each is called, and of several ranks
 * how much of each is waiting for the one that came last.
 *
 * All ranks of a collective finish together, so who came last has the shortest kernel: its length is the
 * transfer, and what the kernels of other ranks are longer is waiting. No clock is compared. The same
 * collective of different ranks has the same operation and group and the same sequence number, or, where
 * numbers were not recorded, the same place in each rank's order, if all have equally many and end
 * together but for one offset between their clocks. Sends and receives are left out: their two sides differ.
 */
#ifndef NL_ACCOUNTCOMM_H
#define NL_ACCOUNTCOMM_H

#include "store/trace.h"

struct nl_account_comm {
    uint32_t
        *row; /* per kernel row: row in table collective, NL_NULL_ROW none; NULL: no collectives */
    int64_t *transfer; /* per kernel row: ns, NL_NULL_I64 unknown; NULL: known of none */
    int64_t *late;     /* rank that came last */
};

void nl_account_comm_init(struct nl_account_comm *comm, const struct nl_trace *trace);
void nl_account_comm_release(struct nl_account_comm *comm);

#endif

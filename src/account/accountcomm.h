/*
 * accountcomm — collectives on devices as those that take part saw them: what each is called, and
 * of several members how much of each is waiting for the one that came last.
 *
 * A member is a device of a rank: mostly the only one of its rank, or one of several in a recording
 * that knows no ranks. All members of a collective finish together, so who came last has the
 * shortest kernel: its length is the transfer, and what the kernels of others are longer is
 * waiting. No clocks of two ranks are compared. The same collective of different members has the
 * same operation and group and the same sequence number, or, where numbers were not recorded, the
 * same place in each member's order, if all have equally many and end together but for one offset
 * between the clocks of their ranks; devices of one rank, or of none, have one clock, so they end
 * together without an offset. Sends and receives are left out: their two sides differ.
 */
#ifndef NL_ACCOUNTCOMM_H
#define NL_ACCOUNTCOMM_H

#include "store/trace.h"

struct nl_account_member {
    int64_t rank;    /* NL_NULL_I64 unknown */
    uint32_t device; /* row; NL_NULL_ROW unknown */
    bool alone;      /* no other member is of its rank */
};

struct nl_account_comm {
    uint32_t
        *row; /* per kernel row: row in table collective, NL_NULL_ROW none; NULL: no collectives */
    int64_t *transfer; /* per kernel row: ns, NL_NULL_I64 unknown; NULL: known of none */
    uint32_t *late;    /* member that came last */
    struct nl_account_member *members; /* by rank, device */
    size_t member_count;
};

void nl_account_comm_init(struct nl_account_comm *comm, const struct nl_trace *trace);
void nl_account_comm_release(struct nl_account_comm *comm);

#endif

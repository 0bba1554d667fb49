/*
 * laterank — the one rank, or device of a recording without ranks, that the others wait for in
 * their collectives, and what it does longer than they. From the account alone
 * (exposed_comm_wait, and for whom), so that no clocks of two ranks are compared: they leave
 * their collectives together, so what the late one does not wait it spends on something that the
 * others do not. Private to the room.
 */
#ifndef NL_LATERANK_H
#define NL_LATERANK_H

#include "answer/timeparts.h"

#define NL_LATE_NAMES 2

struct nl_late_name {
    const char *name; /* kernel, or what the CPU does; NULL none */
    int64_t ns, others_ns;
};

/* Times of "the others" are those of one of them, on average. */
struct nl_late_rank {
    size_t device;    /* row of the breakdown: that of the late one */
    bool by_rank;     /* each device is the only one of its rank */
    size_t others;    /* other devices */
    size_t one_other; /* where it is one, its row of the breakdown */
    int64_t waits_ns; /* of the others, for it */
    /* At most, when it is as quick as they: no more than what any other rank waits. */
    int64_t net_saving_ns;
    int64_t total_ns;                         /* of the late one */
    enum nl_verdict_class class;              /* of what it does longer */
    int64_t ns, longer_ns;                    /* that, and how much longer than the others */
    struct nl_late_name names[NL_LATE_NAMES]; /* in that, most longer than the others first */
};

/* False where none stands out, or what it does longer does not explain the waiting.
 * `phase`: NL_PHASES = all. Texts live in the report's arena. */
bool nl_late_rank_find(struct nl_judged *judged, enum nl_phase phase, struct nl_late_rank *late);

#endif

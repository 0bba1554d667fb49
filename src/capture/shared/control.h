/*
 * control — what the recorder and all recorded processes of a run share: one page, the file `.control`
 * in the folder of parts, mapped by all.
 *
 * The recorder makes it before the program starts; processes find the folder in the environment
 * (NL_CONTROL_VARIABLE). Members under "shared" are read and written with atomic operations.
 */
#ifndef NL_CONTROL_H
#define NL_CONTROL_H

#include "base/err.h"
#include "store/recformat.h"

#define NL_CONTROL_VARIABLE "NEUROLENS_RECORDING"
#define NL_CONTROL_MAGIC    0x31304c52544e4c4eull
#define NL_CONTROL_PATH     3900u /* bytes of the folder's name at most */
#define NL_CONTROL_MOVES    64u

struct nl_control {
    uint64_t magic;
    uint32_t clock, policy;
    uint64_t cap_bytes; /* of memory for events, all processes together */
    int64_t epoch_ns;
    uint64_t ticks_per_second;
    uint64_t pid_namespace;        /* the recorder's (control_pid_namespace) */
    int64_t first_step, last_step; /* `--steps`: [first, last); NL_REC_UNKNOWN = not by steps */
    char trigger[256];             /* name that opens the window; "" = none */
    uint32_t begins_open;          /* the gate at first */
    uint32_t unified_memory;       /* migrations and page faults, which costs time at each */
    uint32_t whole_graphs;         /* CUDA graphs as one interval each, in place of their kernels */
    /* shared */
    uint32_t gate;              /* 1 = events are recorded */
    uint32_t attached, refused; /* processes that record, that could not make their file */
    uint32_t gate_changes;
    uint64_t event_ps; /* cost of an event as the first process measured it, ps; 0 = not yet */
    uint64_t used_bytes;
    int64_t
        moves_ns[NL_CONTROL_MOVES]; /* when the gate was moved: CLOCK_MONOTONIC, 0 = not yet told */
};

/* Makes and maps the file. The caller fills the members and sets `magic` last. Fails with NL_WRITE. */
NL_MUST_CHECK bool control_make(struct nl_control **control, const char *folder,
                                struct nl_err *err);
/* Maps an existing one; NULL when there is none of this version. Allocates nothing. */
struct nl_control *control_find(const char *folder);
void control_unmap(struct nl_control *control);

/* A number for the PID namespace that the caller is in; 0 = not known, there is no /proc. */
uint64_t control_pid_namespace(void);

/* Opens (1) or closes (0) the window; false when it already was so. */
bool control_gate(struct nl_control *control, uint32_t open);

/* Was the window open at this time of CLOCK_MONOTONIC? For what is told later than it happened. After
 * NL_CONTROL_MOVES moves the answer is that of now. */
bool control_was_open(const struct nl_control *control, int64_t ns);

#endif

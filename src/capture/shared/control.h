/*
 * control — what the recorder and all recorded processes of a run share: the file `.control` in the
 * folder of parts, mapped by all.
 *
 * The recorder makes it before the program starts; processes find the folder in the environment
 * (NL_CONTROL_VARIABLE). Members under "shared" are read and written with atomic operations.
 */
#ifndef NL_CONTROL_H
#define NL_CONTROL_H

#include <stddef.h>

#include "base/err.h"
#include "nlrec/recformat.h"

#define NL_CONTROL_VARIABLE   "NEUROLENS_RECORDING"
#define NL_CONTROL_MAGIC      0x34304c52544e4c4eull
#define NL_CONTROL_MEASURING  1u /* costs of hooks that are not known, or not yet */
#define NL_CONTROL_UNMEASURED 2u
#define NL_CONTROL_PATH       3900u /* bytes of the folder's name at most */
#define NL_CONTROL_MOVES      64u
#define NL_CONTROL_PLACES     1024u /* processes that may be announced at once; a power of two */

/* A process says that it is there; the recorder makes its file in the next round, so that a program
 * which starts thousands of others does not wait for that. One that has an event before takes the
 * place back and makes the file itself; one that has an event later goes on with the recorder's.
 * One that finds the recorder at it waits a little, then takes the place back all the same, and the
 * recorder throws its file away. */
enum nl_announced {
    NL_ANNOUNCED_FREE,
    NL_ANNOUNCED_TAKEN, /* by a process that is writing the rest */
    NL_ANNOUNCED,
    NL_ANNOUNCED_MAKING, /* the recorder makes the file */
    NL_ANNOUNCED_MADE,
    NL_ANNOUNCED_REFUSED, /* no file could be made */
    NL_ANNOUNCED_OWN      /* the process made its file itself, or is about to */
};

struct nl_announcement {
    uint64_t ticket; /* grows with time, over all processes of the run */
    int64_t rank, local_rank, world;
    struct nl_rec_pair pair; /* when the process began */
    int32_t pid, parent;
    uint32_t number; /* of the file, once it is MADE */
    uint32_t python; /* enum nl_rec_python */
    uint32_t ended;  /* 1: in order; with the pair `last` */
    struct nl_rec_pair last;
    char program[256], host[64];
};

struct nl_control {
    uint64_t magic;
    uint32_t clock, policy;
    uint64_t cap_bytes; /* of memory for events, all processes together */
    int64_t epoch_ns;
    uint64_t ticks_per_second;
    uint64_t pid_namespace; /* the recorder's (control_pid_namespace) */
    uint32_t holder; /* the recorder, while it holds a lock of this file; 0 = it holds none */
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
    uint64_t hook_ps[NL_REC_MAX_HOOKS]; /* likewise of a hook with its events, or: */
    uint64_t used_bytes;
    /* when the gate was moved: CLOCK_MONOTONIC, 0 = not yet told */
    int64_t moves_ns[NL_CONTROL_MOVES];
    uint64_t tickets;                     /* given out to announcements */
    uint8_t announced[NL_CONTROL_PLACES]; /* enum nl_announced */
    struct nl_announcement announcements[NL_CONTROL_PLACES];
};

/* A program that is started and records nothing writes to one page, or to two: each
 * costs it some microseconds. */
_Static_assert(offsetof(struct nl_control, announcements) < 4096 - sizeof(struct nl_announcement),
               "what all processes write is in one page");

/* Makes and maps the file. The caller fills the members and sets `magic` last, and closes *lock
 * when the run is over. Fails with NL_WRITE. */
NL_MUST_CHECK bool control_make(struct nl_control **control, int *lock, const char *folder,
                                struct nl_err *err);
/* Maps an existing one; NULL when there is none of this version. Allocates nothing.
 * *near: the recorder is known by its number here, so it is in the same PID namespace;
 * false: that is not known. */
struct nl_control *control_find(const char *folder, bool *near);
void control_unmap(struct nl_control *control);

/* A number for the PID namespace that the caller is in; 0 = not known, there is no
 * /proc. Making the kernel's entries for a new process in /proc, and dropping them,
 * takes 10 µs: see control_find. */
uint64_t control_pid_namespace(void);

/* Opens (1) or closes (0) the window; false when it already was so. */
bool control_gate(struct nl_control *control, uint32_t open);

/* Was the window open at this time of CLOCK_MONOTONIC? For what is reported later than it happened.
 * After NL_CONTROL_MOVES moves the answer is that of now. */
bool control_was_open(const struct nl_control *control, int64_t ns);

#endif

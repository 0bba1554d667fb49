/*
 * parts — the recordings of a run's processes as the recorder sees them: found as they appear,
 * relieved of full blocks, given the recorder's own values, and closed when their process ends.
 *
 * The folder holds a file per process (and per program it becomes by exec), PID-N.nlrec, and the
 * hidden file of the control page. All of it stays readable at any moment; see nlrec/recformat.h.
 */
#ifndef NL_PARTS_H
#define NL_PARTS_H

#include "base/map.h"
#include "base/str.h"
#include "capture/shared/control.h"

struct parts;

/* The pid of a process that has another number, if any, in the recorder's PID namespace. Whether it
 * lives is not known: its recording is left alone until the run ends. */
#define PART_FOREIGN (-1)

#define PART_PRIVATES 16u                /* sources there may be */
#define PART_CELLS    ((size_t)32 << 10) /* bytes of the recorder's cells that make a block */

/* One live process. */
struct part {
    int64_t pid;
    uint32_t number;   /* of the program that the process is: grows with exec */
    bool adopted;      /* made by parts_adopt */
    int file, process; /* descriptors: recording, pidfd (-1 = none) */
    bool ending; /* gone at the last round; sources may report the rest of it until the next */
    struct nl_rec_head *head;
    /* the recorder's own cells, not yet in the file */
    struct nl_buf cells;
    char **names; /* ids from the top downwards */
    struct nl_lookup name_rows;
    size_t name_count, name_cap, names_written;
    void *private[PART_PRIVATES]; /* of sources, by their place in the table; nl_alloc'ed, freed
                                     with the part */
};

/* Sums over all parts, for the report. */
struct parts_sums {
    uint64_t started; /* processes that loaded the library when they started; others were forked */
    uint64_t processes, threads, drops[NL_REC_DROPS], spilled_blocks, spill_errors;
};

/* Makes the folder (it must not exist) with its control page. Fails with NL_WRITE, NL_USAGE. */
struct parts *parts_make(const char *folder, struct nl_err *err);
struct nl_control *parts_control(struct parts *parts);
const char *parts_folder(const struct parts *parts); /* absolute */

/* New files alone: so that processes that have just ended can be given something, too. */
void parts_look(struct parts *parts);

/* Makes the recording of a process that has none and of which we know something: it did not load
 * our library (static, set-user-ID), or had no events. False: no file can be made. */
bool parts_make_for(struct parts *parts, int64_t pid, const char *program);

/* One round: new files, full blocks out of memory, the ends of processes. */
void parts_poll(struct parts *parts);

/* Adds a pair of clock readings to each live recording. */
void parts_clock(struct parts *parts);

/* Calls `leave` before a recording is closed. One at a time. */
void parts_on_close(struct parts *parts, void (*leave)(void *context, struct part *part),
                    void *context);

/* Live parts, for sources. */
struct part *parts_first(struct parts *parts, size_t *count);

/* A GPU as its driver numbers it; unknown texts are "". */
struct part_device {
    int64_t ordinal;
    const char *name, *uuid, *bus, *vendor;
};

/* Where a thread was. Frames, innermost first: "function\tfile\tline" (the last two may be
 * missing), or "@module\tbuild id\t0xoffset" of machine code that the reader names; "" unknown. */
struct part_sample {
    int64_t ns;               /* of CLOCK_MONOTONIC */
    uint32_t thread, cpu;     /* OS thread id; NL_REC_NO_CPU not known */
    const char *event, *unit; /* what was sampled, what the weight counts */
    uint64_t weight;
    const char *const *frames;
    size_t frame_count;
    bool cut; /* outer frames are missing; what is too deep for a cell is marked so, too */
};

/* A thread had a processor from one time to another (ns of CLOCK_MONOTONIC). */
struct part_run {
    int64_t begin, end;
    uint32_t thread, cpu;
    uint16_t how; /* it left: NL_REC_RAN_READY, NL_REC_RAN_WAITS, 0 not known */
};

/* Puts the cells made so far into the file. */
void part_write(struct part *part);

/* Closes all. Sums may be NULL. */
void parts_finish(struct parts *parts, struct parts_sums *sums);

/* Removes the folder and what parts_make and processes put there. */
void parts_remove(const char *folder);
void parts_free(struct parts *parts);

#endif

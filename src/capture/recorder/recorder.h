/*
 * recorder — one run: starts the program with the recording library in it, waits, and keeps house
 * meanwhile (parts.h, source.h, the window of recording).
 *
 *     struct nl_recorder *r = nl_recorder_new(&options, err);
 *     if (nl_recorder_spawn(r, argv, err))
 *         while (nl_recorder_wait(r, wake_fd)) ...      // returns every few ms, and on wake_fd
 *     nl_recorder_finish(r, &report);
 *     nl_recorder_free(r);
 *
 * It prints nothing and installs no signal handlers; the caller passes signals on with
 * nl_recorder_signal. The parts are left in `folder` for the caller to join and remove.
 */
#ifndef NL_RECORDER_H
#define NL_RECORDER_H

#include "capture/recorder/source.h"

/* Of the program's environment. */
struct nl_variable {
    const char *name, *value;
};

struct nl_recorder_options {
    const char *folder;                     /* of the parts; made, must not exist */
    const char *library;                    /* path of libneurolens-capture.so; NULL = attaches */
    const char *trigger;                    /* name that opens the window, or NULL */
    const struct nl_source *const *sources; /* NULL = nl_sources */
    const struct nl_variable *variables;    /* for the program, ended by a NULL name; or NULL */
    enum nl_rec_policy policy;
    uint64_t cap_bytes;
    int64_t delay_ns, duration_ns; /* of the window; 0 = none */
    int64_t first_step, last_step; /* NL_REC_UNKNOWN = not by steps; else [first, last) */
    bool paused;                   /* the window begins closed */
    struct source_options asked;   /* of the sources */
    bool unified_memory;           /* migrations and page faults of memory that CPU and GPU share */
    bool whole_graphs;             /* CUDA graphs as one interval each, in place of their kernels */
};

struct nl_recorder_source {
    const char *name, *doc;
    bool available;
    char why[160];
    int64_t spent_ns;
    uint64_t lost, samples;
    /* what a sample costs the thread that is sampled, at least; 0 = not known */
    uint64_t sample_ps;
    uint64_t rounds, missed;       /* moments at which was sampled; that passed without */
    int64_t sample_ns, slowest_ns; /* between samples: as wanted, as it was at the worst */
};

struct nl_recorder_report {
    int wait_status; /* of the program, as waitpid returns it */
    int64_t wall_ns, recorder_cpu_ns;
    int64_t program_cpu_ns; /* of the program and what it waited for; -1: attached, not known */
    struct parts_sums sums;
    uint32_t attached, refused, gate_changes;
    uint64_t event_ps;                   /* cost of an event, measured; 0 = unknown */
    uint64_t hook_ps[NL_REC_HOOK_COUNT]; /* of a hook besides its events; 0 = not measured */
    uint64_t start_ns;   /* of the start of a process with the library; 0 = not measured */
    uint64_t peak_bytes; /* of memory for events */
    bool others_alive;   /* recorded processes went on when the program had ended */
    enum nl_rec_clock clock;
    struct nl_recorder_source sources[NL_MAX_SOURCES];
    size_t source_count;
};

struct nl_recorder;

/* Fails with NL_WRITE or NL_USAGE (the folder), NL_ENVIRONMENT (no library, or its path
 * cannot stand in LD_PRELOAD). */
struct nl_recorder *nl_recorder_new(const struct nl_recorder_options *options, struct nl_err *err);

/* Starts argv[0], looked for in PATH, in our environment plus the library. On failure *failure is
 * its errno (ENOENT, EACCES, …). */
NL_MUST_CHECK bool nl_recorder_spawn(struct nl_recorder *recorder, char *const *argv, int *failure,
                                     struct nl_err *err);

/* In place of a program: samples the Python process `pid`, which runs already. Only sources
 * that work in the recorder are available. The recording ends with the process, when the
 * duration is over, or with nl_recorder_end. Fails with NL_ENVIRONMENT: no such process, no
 * interpreter in it, not permitted. */
NL_MUST_CHECK bool nl_recorder_attach(struct nl_recorder *recorder, int64_t pid,
                                      struct nl_err *err);
void nl_recorder_end(struct nl_recorder *recorder);

/* Keeps house for a while (about 20 ms, less when `wake` becomes readable). False: the program has
 * ended. */
bool nl_recorder_wait(struct nl_recorder *recorder, int wake);

/* Sends a signal to the program, when it still runs. */
void nl_recorder_signal(const struct nl_recorder *recorder, int number);

/* Opens a closed window and closes an open one. */
void nl_recorder_toggle(struct nl_recorder *recorder);

/* Closes all recordings. */
void nl_recorder_finish(struct nl_recorder *recorder, struct nl_recorder_report *report);
void nl_recorder_free(struct nl_recorder *recorder);

#endif

/*
 * source — where recorded events and values come from, a row of nl_sources[] each.
 *
 * A source may work in the recorded processes (it then only says which environment variables make
 * them load the recording library), in the recorder (start, poll every `period_ns`, stop), or both.
 * An unavailable source gives a reason, shown when the run ends; it never stops the run.
 *
 * Values go to the recording of the process they are about: part_counter (parts.h).
 */
#ifndef NL_SOURCE_H
#define NL_SOURCE_H

#include "capture/recorder/parts.h"
#include "capture/native/perfring.h"

/* Whether the moments are recorded at which threads get a processor and leave it. AUTO: until there
 * are so many that it would cost the program more than is worth it. */
enum nl_switches { NL_SWITCHES_AUTO, NL_SWITCHES_ON, NL_SWITCHES_OFF };

/* What was asked of the sources. */
struct source_options {
    int64_t sample_ns; /* between samples of Python threads; 0 = none */
    uint32_t cpu_hz;   /* CPU samples a second of each running thread; 0 = none */
    enum perf_stacks stacks;
    uint32_t stack_bytes; /* copied of a thread's stack per sample */
    enum nl_switches switches;
    bool python_hooks; /* layers, operators, steps of Python programs */
};

struct source_run {
    struct parts *parts;
    const struct source_options *options; /* NULL = nothing was asked */
    const char *library;                  /* path of the injected library */
    unsigned place;     /* in the table: which of a part's `private` is the source's */
    void *state;        /* the source's own */
    int64_t now_ns;     /* CLOCK_MONOTONIC of this poll */
    int64_t next_ns;    /* when it polls again */
    int64_t spent_ns;   /* in poll so far: the source's cost */
    uint64_t lost;      /* readings that are not in the recording; its coverage also lists them */
    uint64_t samples;   /* taken, where the source samples */
    uint64_t sample_ps; /* what one costs the thread that is sampled, at least; 0 = not known */
    uint64_t rounds, missed;       /* moments at which it sampled; that passed without */
    int64_t sample_ns, slowest_ns; /* between them: as wanted, and as it was at the worst */
    bool available;
    char why[160]; /* it is not available; "" = that is no news */
};

struct nl_source {
    const char *name; /* as reports show it */
    const char *doc;  /* what it records, one line */
    /* Set to the library's path in the environment of the program, unless
     * the person set it; NULL. */
    const char *variable;
    int64_t period_ns; /* 0 = no poll; 1 = every round */
    bool always;       /* polled while the window is closed, too */
    bool missed;       /* that it is not available is a line of each recording's coverage */
    /* False: not available, with the reason in run->why. NULL = always there. */
    bool (*start)(struct source_run *run);
    /* The program is there and waits in front of exec. False as of start. NULL = nothing to do. */
    bool (*meet)(struct source_run *run, pid_t program);
    void (*poll)(struct source_run *run);
    /* The recording of a process is about to be closed. NULL = nothing to do. */
    void (*leave)(struct source_run *run, struct part *part);
    /* The run ends; parts are still open. NULL = nothing to do. */
    void (*stop)(struct source_run *run);
};

/* NULL-terminated. */
extern const struct nl_source *const nl_sources[];
#define NL_MAX_SOURCES PART_PRIVATES

extern const struct nl_source nl_source_scopes, nl_source_nvtx, nl_source_cuda, nl_source_rocm,
    nl_source_process, nl_source_hooks, nl_source_python, nl_source_gpus, nl_source_cpu;

#endif

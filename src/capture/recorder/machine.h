/*
 * machine — what a machine is doing now: its GPUs, its processes, its processors and memory, and
 * what is over a threshold. `neurolens top` shows it.
 *
 *     struct machine *machine = machine_start("");
 *     machine_refresh(machine);        // as often as one likes; shares of time are since the last call
 *     ... machine->gpus, machine->processes ...
 *     machine_stop(machine);
 *
 * Everything is read from outside: no process is touched. Command lines are
 * redacted before they are kept.
 */
#ifndef NL_MACHINE_H
#define NL_MACHINE_H

#include "capture/recorder/gpualerts.h"
#include "capture/recorder/gpuwatch.h"

#define MACHINE_HISTORY 512u /* refreshes that plots can go back */
#define MACHINE_COMMAND 256u

/* What is plotted, by share of its most, 0 to 1; below 0 = unknown. */
enum machine_plot { PLOT_UTILISATION, PLOT_MEMORY, PLOT_POWER, MACHINE_PLOTS };

struct machine_gpu {
    struct gpu_info info;
    uint64_t absent; /* GPU_BITs of what it does not have */
    struct gpu_latest latest;
    float history[MACHINE_PLOTS][MACHINE_HISTORY]; /* of refresh number n at n % MACHINE_HISTORY */
};

#define MACHINE_FOLDERS 64u /* of recordings, in all that is met */

/* How far the recording of a process is. */
struct machine_recording {
    bool there;
    int64_t spent_ns;        /* since it began */
    uint64_t bytes, dropped; /* on the disk; events that are not in it */
    uint64_t steps;          /* begun; 0: the program gives none */
    int64_t step;            /* number of the last one */
    double step_s;           /* between the begins of the last two; 0 = unknown */
};

struct machine_process {
    int64_t pid, started; /* since boot, in the kernel's ticks: distinguishes reused pids */
    double processors;    /* used since the last refresh; below 0 = unknown */
    uint64_t cpu_ticks, resident, threads;
    uint64_t gpu_bytes; /* of all GPUs; UINT64_MAX = it is on one, memory unknown */
    uint64_t gpus;      /* bit per GPU that it is on */
    char state;         /* R, S, D, … as in /proc */
    char command[MACHINE_COMMAND];
    unsigned folder; /* number of the one that its recording would be in; 0 = none */
    struct machine_recording recording;
    struct alert_growth growth;
    struct alerts alerts;
};

struct machine_system {
    double processors;                  /* 0 = unknown */
    double busy;                        /* of them, since the last refresh; < 0 unknown */
    double load;                        /* of the last minute; < 0 unknown */
    uint64_t memory_total, memory_free; /* bytes; 0 = unknown */
    uint64_t cpu_total, cpu_idle;       /* the kernel's ticks so far */
};

struct machine {
    struct gpuwatch *watch;
    struct gpuwatch_state gpu_state;
    struct machine_gpu *gpus;
    unsigned gpu_count;
    struct machine_process *processes; /* by pid */
    size_t process_count, process_cap;
    uint64_t unseen; /* processes over the most that are looked at */
    struct machine_system system;
    uint64_t refreshes;
    int64_t now_ns, last_ns;
    float busy_history[MACHINE_HISTORY]; /* of the processors, 0 to 1 */
    char root[256];
    char *folders[MACHINE_FOLDERS];
    unsigned folder_count;
};

/* `root` stands before /proc and /sys. */
struct machine *machine_start(const char *root);
void machine_refresh(struct machine *machine);
/* Waits until the GPUs' drivers have answered and each value was read once,
 * `patience_ns` at most. */
void machine_settle(struct machine *machine, int64_t patience_ns);
void machine_stop(struct machine *machine);

/* The parts: machineproc.c; a file below /proc, cut to `room`: the bytes
 * read, 0 when it cannot be. */
size_t machine_slurp(const struct machine *machine, const char *name, char *text, size_t room);
void machine_read_processes(struct machine *machine);
void machine_read_system(struct machine *machine);
/* machinerec.c: when a process is first met; each time. */
void machine_find_recording(struct machine *machine, struct machine_process *process);
void machine_read_recording(const struct machine *machine, struct machine_process *process);

#endif

/*
 * Processes as /proc shows them, read by the recorder: the program pays nothing. Ten times a second
 * per process statm (0.7 µs), stat (3 µs) and status (6 µs), once a second the processor time of
 * each thread (schedstat, 0.5 µs) and the cgroup's memory. smaps and smaps_rollup are never read:
 * they hold the process's memory lock for milliseconds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/recorder/alerts.h"
#include "capture/recorder/source.h"
#include "capture/shared/ticks.h"
#include "capture/recorder/partvalues.h"

#define THREADS_EVERY 10u
#define MAX_THREADS   1024u

struct process {
    uint64_t polls;
    int64_t last_ns, last_cpu;
    struct alert_growth growth;
    struct alerts alerts;
};

/* Reads a file of /proc into `text`; false when the process is gone. */
static bool slurp(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, room - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool slurp_of(const struct part *part, const char *name, char *text, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%lld/%s", (long long)part->pid, name);
    return slurp(path, text, room);
}

static void memory(struct source_run *run, struct part *part, struct process *process)
{
    char text[256];
    long long size, resident;
    if (!slurp_of(part, "statm", text, sizeof text) ||
        sscanf(text, "%lld %lld", &size, &resident) != 2)
        return;
    uint64_t bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
    part_counter(run->parts, part, 0, "resident memory", "bytes", (double)bytes);
    uint32_t crossed = alerts_see(&process->alerts, ALERT_GROWTH,
                                  alert_growth(&process->growth, run->now_ns, bytes));
    for (unsigned i = 0; i < ALERT_ROWS; i++)
        if (crossed >> i & 1u)
            part_alert(part, NULL, ticks_now(parts_control(run->parts)->clock), alert_rows[i].text,
                       (double)bytes);
}

/* Nanoseconds of CLOCK_PROCESS_CPUTIME_ID of another process: exact, where stat counts in 10 ms. */
static int64_t cpu_ns(const struct part *part)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)part->pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void processor(struct source_run *run, struct part *part, struct process *process)
{
    int64_t cpu = cpu_ns(part);
    if (cpu < 0)
        return;
    if (process->polls && run->now_ns > process->last_ns)
        part_counter(run->parts, part, 0, "processors used", "processors",
                     (double)(cpu - process->last_cpu) / (double)(run->now_ns - process->last_ns));
    process->last_cpu = cpu;
    process->last_ns = run->now_ns;
}

/* Page faults and the number of threads: fields 10, 12 and 20 of stat, counted from 1; the name in
 * brackets may hold spaces. */
static void faults(struct source_run *run, struct part *part)
{
    char text[1024];
    unsigned long long minor, major;
    long threads;
    if (!slurp_of(part, "stat", text, sizeof text))
        return;
    const char *rest = strrchr(text, ')');
    if (!rest ||
        sscanf(rest + 1,
               " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %*u %*u %*d %*d %*d %*d %ld", &minor,
               &major, &threads) != 3)
        return;
    part_counter(run->parts, part, 0, "page faults, minor", "", (double)minor);
    part_counter(run->parts, part, 0, "page faults, major", "", (double)major);
    part_counter(run->parts, part, 0, "threads", "", (double)threads);
}

static void switches(struct source_run *run, struct part *part)
{
    static const struct {
        const char *line, *name;
    } lines[] = {{"\nvoluntary_ctxt_switches:", "context switches, voluntary"},
                 {"\nnonvoluntary_ctxt_switches:", "context switches, involuntary"}};
    char text[4096];
    if (!slurp_of(part, "status", text, sizeof text))
        return;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *at = strstr(text, lines[i].line);
        if (at)
            part_counter(run->parts, part, 0, lines[i].name, "",
                         (double)strtoull(at + strlen(lines[i].line), NULL, 10));
    }
}

/* Time on a processor so far, of each thread. */
static void threads(struct source_run *run, struct part *part)
{
    char path[320], text[128];
    (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)part->pid);
    DIR *tasks = opendir(path);
    unsigned count = 0;
    if (!tasks)
        return;
    for (struct dirent *task = readdir(tasks); task && count < MAX_THREADS; task = readdir(tasks)) {
        unsigned long long ns;
        if (task->d_name[0] < '1' || task->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%lld/task/%s/schedstat", (long long)part->pid,
                       task->d_name);
        if (slurp(path, text, sizeof text) && sscanf(text, "%llu", &ns) == 1)
            part_counter(run->parts, part, strtoll(task->d_name, NULL, 10), "thread CPU time", "ns",
                         (double)ns);
        count++;
    }
    closedir(tasks);
}

/* Memory of the control group that the process is in (version 2). */
static void group(struct source_run *run, struct part *part)
{
    char text[4096], path[4400];
    if (!slurp_of(part, "cgroup", text, sizeof text))
        return;
    const char *at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!at)
        return;
    at += *at == '\n' ? 4 : 3;
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/memory.current", (int)strcspn(at, "\n"),
                   at);
    if (slurp(path, text, sizeof text))
        part_counter(run->parts, part, 0, "cgroup memory", "bytes",
                     (double)strtoull(text, NULL, 10));
}

static void poll_all(struct source_run *run)
{
    size_t count;
    struct part *part = parts_first(run->parts, &count);
    for (; count; count--, part++) {
        if (part->pid == PART_FOREIGN)
            continue;
        struct process *process = part->private[run->place];
        if (!process)
            process = part->private[run->place] = nl_zalloc(sizeof *process);
        memory(run, part, process);
        processor(run, part, process);
        faults(run, part);
        switches(run, part);
        if (process->polls % THREADS_EVERY == 0) {
            threads(run, part);
            group(run, part);
        }
        process->polls++;
    }
}

static bool start(struct source_run *run)
{
    if (access("/proc/self/statm", R_OK) == 0)
        return true;
    (void)snprintf(run->why, sizeof run->why, "/proc cannot be read here");
    return false;
}

const struct nl_source nl_source_process = {
    .name = "process",
    .doc = "memory, page faults, context switches, processor time, cgroup",
    .period_ns = 100000000,
    .start = start,
    .poll = poll_all};

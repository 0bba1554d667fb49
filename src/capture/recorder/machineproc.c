/*
 * Processes and the system from /proc. Per process and refresh one file, stat; the command line
 * once, when the process is first met; of recorded ones the head of their recording (machinerec.c).
 * Kernel threads are left out.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "capture/recorder/machine.h"
#include "redact/redact.h"

#define MAX_PROCESSES 32768u
#define ARGUMENTS     4096u /* bytes of a command line that are looked at */
#define SYSTEM_TEXT                                                                                \
    ((size_t)1 << 20) /* of /proc/stat: some 100 bytes a processor, and the interrupts */
#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD of <linux/sched.h> */

size_t machine_slurp(const struct machine *machine, const char *name, char *text, size_t room)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/proc/%s", machine->root, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, room - 1) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Bytes that drive no terminal: control characters become blanks. */
static void make_plain(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = ' ';
}

/* False: it has none, as a process that has ended. */
static bool read_command(const struct machine *machine, struct machine_process *process)
{
    char name[48], text[ARGUMENTS];
    struct nl_buf out;
    (void)snprintf(name, sizeof name, "%lld/cmdline", (long long)process->pid);
    size_t len = machine_slurp(machine, name, text, sizeof text);
    while (len && text[len - 1] == '\0')
        len--;
    if (!len)
        return false;
    make_plain(text, len);
    nl_buf_init(&out, ARGUMENTS * 2);
    (void)nl_redact_text(&out, (struct nl_str){text, len});
    size_t kept = nl_utf8_cut(out.ptr, out.len, MACHINE_COMMAND - 1);
    memcpy(process->command, out.ptr, kept);
    process->command[kept] = '\0';
    nl_buf_release(&out);
    return true;
}

/* Fields 3, 9, 14, 15, 20, 22 and 24 of stat, counted from 1; the name in brackets may hold
 * anything. False: a kernel thread, or nothing to read. */
static bool read_stat(const struct machine *machine, struct machine_process *process)
{
    char name[48], text[1024];
    unsigned flags;
    unsigned long long user, system, started;
    long long threads, pages;
    (void)snprintf(name, sizeof name, "%lld/stat", (long long)process->pid);
    if (!machine_slurp(machine, name, text, sizeof text))
        return false;
    const char *rest = strrchr(text, ')');
    if (!rest ||
        sscanf(rest + 1,
               " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %lld "
               "%*d %llu %*u %lld",
               &process->state, &flags, &user, &system, &threads, &started, &pages) != 7 ||
        flags & KERNEL_THREAD)
        return false;
    process->cpu_ticks = user + system;
    process->threads = (uint64_t)threads;
    process->started = (int64_t)started;
    process->resident = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

static int by_pid(const void *a, const void *b)
{
    int64_t one = ((const struct machine_process *)a)->pid;
    int64_t other = ((const struct machine_process *)b)->pid;
    return one < other ? -1 : one > other;
}

static struct machine_process *find_process(struct machine_process *list, size_t count, int64_t pid)
{
    struct machine_process key = {.pid = pid};
    return count ? bsearch(&key, list, count, sizeof *list, by_pid) : NULL;
}

/* What is known of a process from the refresh before; of a new one what is read once.
 * False: it has no command line. */
static bool carry_over(struct machine *machine, struct machine_process *process,
                       const struct machine_process *before)
{
    double ticks = (double)sysconf(_SC_CLK_TCK);
    double seconds = (double)(machine->now_ns - machine->last_ns) / 1e9;
    process->processors = -1;
    if (!before || before->started != process->started) {
        if (!read_command(machine, process))
            return false;
        machine_find_recording(machine, process);
        return true;
    }
    process->folder = before->folder;
    memcpy(process->command, before->command, sizeof process->command);
    process->growth = before->growth;
    process->alerts = before->alerts;
    if (process->cpu_ticks >= before->cpu_ticks && seconds > 0)
        process->processors = (double)(process->cpu_ticks - before->cpu_ticks) / ticks / seconds;
    return true;
}

static void mark_gpus(struct machine *machine)
{
    struct gpu_process list[GPU_MAX_PROCESSES];
    uint64_t rounds;
    for (unsigned d = 0; d < machine->gpu_count; d++) {
        size_t count = gpuwatch_processes(machine->watch, d, list, &rounds);
        for (size_t i = 0; i < count; i++) {
            struct machine_process *process =
                find_process(machine->processes, machine->process_count, list[i].pid);
            if (!process)
                continue;
            process->gpus |= UINT64_C(1) << d;
            if (list[i].bytes == UINT64_MAX || process->gpu_bytes == UINT64_MAX)
                process->gpu_bytes = UINT64_MAX;
            else
                process->gpu_bytes += list[i].bytes;
        }
    }
}

void machine_read_processes(struct machine *machine)
{
    char path[512];
    struct machine_process *before = machine->processes;
    size_t before_count = machine->process_count;
    machine->processes = NULL;
    machine->process_count = machine->process_cap = 0;
    machine->unseen = 0;
    (void)snprintf(path, sizeof path, "%s/proc", machine->root);
    DIR *entries = opendir(path);
    for (struct dirent *entry = entries ? readdir(entries) : NULL; entry;
         entry = readdir(entries)) {
        struct machine_process process = {.pid = strtoll(entry->d_name, NULL, 10)};
        if (process.pid <= 0 || !read_stat(machine, &process))
            continue;
        if (machine->process_count >= MAX_PROCESSES) {
            machine->unseen++;
            continue;
        }
        if (!carry_over(machine, &process, find_process(before, before_count, process.pid)))
            continue;
        machine_read_recording(machine, &process);
        (void)alerts_see(&process.alerts, ALERT_GROWTH,
                         alert_growth(&process.growth, machine->now_ns, process.resident));
        nl_grow(&machine->processes, &machine->process_cap, machine->process_count + 1);
        machine->processes[machine->process_count++] = process;
    }
    if (entries)
        closedir(entries);
    if (machine->process_count)
        qsort(machine->processes, machine->process_count, sizeof *machine->processes, by_pid);
    nl_free(before);
    mark_gpus(machine);
}

/* ---- the system ---- */

static uint64_t kilobytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

/* `text` has SYSTEM_TEXT bytes of room. */
static void read_system(struct machine *machine, char *text)
{
    struct machine_system *system = &machine->system;
    unsigned long long t[8] = {0};
    double load;
    system->load =
        machine_slurp(machine, "loadavg", text, SYSTEM_TEXT) && sscanf(text, "%lf", &load) == 1
            ? load
            : -1;
    (void)machine_slurp(machine, "meminfo", text, SYSTEM_TEXT);
    system->memory_total = kilobytes(text, "MemTotal:");
    system->memory_free = kilobytes(text, "MemAvailable:");
    system->processors = 0;
    system->busy = -1;
    if (!machine_slurp(machine, "stat", text, SYSTEM_TEXT) ||
        sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
               &t[4], &t[5], &t[6], &t[7]) < 4)
        return;
    for (const char *at = text; (at = strstr(at, "\ncpu")) != NULL; at++)
        system->processors++;
    uint64_t total = 0, idle = t[3] + t[4];
    for (size_t i = 0; i < 8; i++)
        total += t[i];
    if (machine->refreshes && total > system->cpu_total && idle >= system->cpu_idle)
        system->busy = system->processors * (1 - (double)(idle - system->cpu_idle) /
                                                     (double)(total - system->cpu_total));
    else if (machine->refreshes && total == system->cpu_total)
        system->busy = 0;
    system->cpu_total = total;
    system->cpu_idle = idle;
}

void machine_read_system(struct machine *machine)
{
    char *text = nl_alloc(SYSTEM_TEXT);
    read_system(machine, text);
    nl_free(text);
}

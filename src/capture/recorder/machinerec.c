/*
 * Which processes are being recorded, and how far: by the folder that their environment names and
 * the head of their file there. Nothing is mapped and nothing is followed: whose processes these
 * are is not known, and what they name may be anything.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/shared/control.h"
#include "capture/recorder/machine.h"

#define ENVIRONMENT ((size_t)256 << 10) /* bytes that are looked at */
#define PROGRAMS    64u                 /* that a process becomes by exec */

/* Number of a folder, from 1; 0: there is no room for more. */
static unsigned folder_number(struct machine *machine, const char *folder)
{
    unsigned at = 0;
    while (at < machine->folder_count && strcmp(machine->folders[at], folder) != 0)
        at++;
    if (at == MACHINE_FOLDERS)
        return 0;
    if (at == machine->folder_count)
        machine->folders[machine->folder_count++] = nl_strdup(folder);
    return at + 1;
}

void machine_find_recording(struct machine *machine, struct machine_process *process)
{
    static const char wanted[] = NL_CONTROL_VARIABLE "=";
    char name[48], *text = nl_alloc(ENVIRONMENT);
    (void)snprintf(name, sizeof name, "%lld/environ", (long long)process->pid);
    size_t len = machine_slurp(machine, name, text, ENVIRONMENT);
    for (size_t at = 0; at < len; at += strlen(text + at) + 1)
        if (strncmp(text + at, wanted, sizeof wanted - 1) == 0) {
            process->folder = folder_number(machine, text + at + sizeof wanted - 1);
            break;
        }
    nl_free(text);
}

/* The recording of the program that the process is now: the last one.
 * Returns a descriptor, or -1. */
static int open_last(const char *folder, int64_t pid)
{
    int last = -1;
    for (unsigned program = 0; program < PROGRAMS; program++) {
        char path[NL_CONTROL_PATH + 64];
        (void)snprintf(path, sizeof path, "%s/%lld-%u.nlrec", folder, (long long)pid, program);
        int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        if (file < 0)
            break;
        if (last >= 0)
            close(last);
        last = file;
    }
    return last;
}

static bool is_head(const struct nl_rec_head *head, int64_t pid)
{
    return memcmp(head->magic, NL_REC_MAGIC, sizeof head->magic) == 0 &&
           head->version == NL_REC_VERSION && head->pid == pid && !head->foreign && !head->closed &&
           head->end == NL_REC_OPEN && head->pair_count;
}

void machine_read_recording(const struct machine *machine, struct machine_process *process)
{
    struct machine_recording *recording = &process->recording;
    struct nl_rec_head head;
    struct stat status;
    memset(recording, 0, sizeof *recording);
    int file =
        process->folder ? open_last(machine->folders[process->folder - 1], process->pid) : -1;
    if (file < 0)
        return;
    recording->there = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                       pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head &&
                       is_head(&head, process->pid);
    close(file);
    if (!recording->there)
        return;
    recording->spent_ns = machine->now_ns - head.pairs[0].monotonic_ns;
    recording->bytes = (uint64_t)status.st_blocks * 512;
    for (unsigned why = 0; why < NL_REC_DROPS; why++)
        recording->dropped += why == NL_REC_DROP_NAME ? 0 : head.drops[why];
    recording->steps = head.steps;
    recording->step = head.step;
    if (head.steps > 1 && head.ticks_per_second)
        recording->step_s = (double)head.step_ticks / (double)head.ticks_per_second;
}

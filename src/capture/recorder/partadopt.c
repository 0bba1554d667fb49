/* Recordings of processes that run without the recording library: the
 * recorder alone writes to them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/recorder/partadopt.h"
#include "capture/recorder/programfile.h"
#include "capture/shared/rechead.h"

static int64_t parent_of(int64_t pid)
{
    char path[64], line[256];
    long long parent = NL_REC_UNKNOWN;
    (void)snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "PPid: %lld", &parent) == 1)
            break;
    if (status)
        (void)fclose(status);
    return parent;
}

static uint64_t threads_of(int64_t pid)
{
    char path[64];
    uint64_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task = tasks ? readdir(tasks) : NULL; task; task = readdir(tasks))
        count += task->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

static bool write_head(int file, struct nl_control *control, int64_t pid)
{
    char program[PROGRAMFILE_PATH], host[64] = "";
    if (posix_fallocate(file, 0, NL_REC_HEAD_BYTES) != 0)
        return false;
    struct nl_rec_head *head =
        mmap(NULL, NL_REC_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (head == MAP_FAILED)
        return false;
    (void)gethostname(host, sizeof host - 1);
    struct recfile_facts facts = {.program = programfile_of(pid, program),
                                  .host = host,
                                  .pid = pid,
                                  .parent = parent_of(pid),
                                  .rank = NL_REC_UNKNOWN,
                                  .local_rank = NL_REC_UNKNOWN,
                                  .world = NL_REC_UNKNOWN};
    head->threads = threads_of(pid);
    rechead_fill(head, control, &facts, false);
    munmap(head, NL_REC_HEAD_BYTES);
    return true;
}

bool parts_adopt(struct parts *parts, int64_t pid, struct nl_err *err)
{
    char path[4600];
    struct nl_control *control = parts_control(parts);
    (void)snprintf(path, sizeof path, "%s/%lld-0.nlrec", parts_folder(parts), (long long)pid);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool done = file >= 0 && write_head(file, control, pid);
    int failure = errno;
    if (file >= 0)
        close(file);
    nl_err_at(err, path, -1);
    if (!done)
        return nl_fail(err, NL_WRITE, "cannot create this file: %s; choose a place with -o",
                       strerror(failure));
    __atomic_fetch_add(&control->attached, 1, __ATOMIC_RELEASE);
    parts_look(parts);
    size_t count;
    for (struct part *part = parts_first(parts, &count); count; count--, part++)
        part->adopted |= part->pid == pid && part->number == 0;
    return true;
}

/* See startcost.h. */
#define _GNU_SOURCE
#include "capture/recorder/startcost.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIN_ROUNDS 4
#define MAX_ROUNDS 16

static const char *program(void)
{
    static const char *const places[] = {"/bin/true", "/usr/bin/true"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

static int64_t us_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

/* Keeps the least processor time. False: it could not be started, or failed. */
static bool measure_start(const char *path, char *const *variables, int64_t *least)
{
    char *const words[] = {(char *)(uintptr_t)path, NULL};
    struct rusage usage;
    pid_t pid, ended;
    int status;
    if (posix_spawn(&pid, path, NULL, NULL, words, variables) != 0)
        return false;
    do
        ended = wait4(pid, &status, 0, &usage);
    while (ended < 0 && errno == EINTR);
    if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return false;
    int64_t us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
    *least = us < *least ? us : *least;
    return true;
}

static int rounds_for(uint64_t starts)
{
    return starts <= MIN_ROUNDS ? MIN_ROUNDS : starts < MAX_ROUNDS ? (int)starts : MAX_ROUNDS;
}

uint64_t startcost_ns(uint64_t starts, char *const *recorded, char *const *bare)
{
    const char *path = program();
    int64_t with = INT64_MAX, without = INT64_MAX;
    for (int round = 0; round < rounds_for(starts); round++)
        if (!path || !measure_start(path, bare, &without) || !measure_start(path, recorded, &with))
            return 0;
    return with > without ? (uint64_t)(with - without) * 1000 : 0;
}

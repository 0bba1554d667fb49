/* cachewriter — see cachewriter.h. */
#define _GNU_SOURCE
#include "cli/cachewriter.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/spill.h"

#define MIN_BYTES   ((uint64_t)32 << 20)
#define MAX_SECONDS 120
#define MAX_FILES   65536

/* Of ioprio_set(2), which the C library does not have: best effort, last of all. */
#define IO_WHO_PROCESS 1
#define IO_LAST        (2 << 13 | 7)

static const char *volatile unfinished; /* in the child alone */

static void on_end(int number)
{
    (void)number;
    (void)unlink(unfinished);
    _exit(1);
}

uint64_t nl_cachewriter_least(void)
{
    const char *way = getenv("NEUROLENS_CACHE_WRITE");
    if (way && strcmp(way, "foreground") == 0)
        return UINT64_MAX;
    return way && strcmp(way, "background") == 0 ? 0 : MIN_BYTES;
}

/* First of all, so that no reader of our output waits. The file's descriptor becomes 3. */
static bool close_others(int file)
{
    if (file != 3 && dup2(file, 3) < 0)
        return false;
    struct rlimit limit = {.rlim_cur = MAX_FILES};
    if (syscall(SYS_close_range, 4U, ~0U, 0U) != 0) {
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        for (int fd = 4; fd < MAX_FILES && (rlim_t)fd < limit.rlim_cur; fd++)
            (void)close(fd);
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* 4 */
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            (void)close(fd);
    (void)close(null);
    return true;
}

static void set_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};
    struct sigaction action = {.sa_handler = on_end};
    sigset_t none;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        (void)sigaction(ends[i], &action, NULL);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes: writing fails instead */
    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void write_and_leave(struct nl_cache_later *later, const struct nl_trace *trace)
{
    unfinished = later->part;
    nl_spill_in_child(nl_process_spill());
    if (!close_others(later->file))
        on_end(0);
    later->file = 3;
    (void)setsid();
    set_signals();
    (void)alarm(MAX_SECONDS);
    (void)setpriority(PRIO_PROCESS, 0, 10);
    (void)syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, IO_LAST);
    if (chdir("/") != 0)
        on_end(0);
    _exit(nl_cache_later_write(later, trace) ? 0 : 1);
}

void nl_cachewriter_start(struct nl_cache_later *later, const struct nl_trace *trace)
{
    if (!later->path)
        return;
    pid_t child = fork();
    if (child == 0)
        write_and_leave(later, trace);
    if (child < 0)
        (void)nl_cache_later_write(later, trace);
    else
        nl_cache_later_leave(later);
}

/* fork, wait with patience and an eye on the job, and say how it ended. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/signalname.h"
#include "base/spill.h"
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS   10
#define LAST_LINE 160
#define LOG_END   16384 /* bytes of the log that are searched */

/* What the child says at its end. */
struct verdict {
    struct nl_err err;
    bool returned, good;
};

void *nl_child_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void nl_child_unshare(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* ---- in the child ---- */

static void set_up(const struct nl_child *child)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGSEGV,
                                  SIGBUS, SIGILL,  SIGFPE, SIGABRT};
    struct rlimit no_core = {0, 0};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    setpgid(0, 0); /* what it starts is killed with it */
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(child->log ? child->log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                   0600);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
}

_Noreturn static void run_child(const struct nl_child *child, struct verdict *verdict)
{
    nl_spill_in_child(nl_process_spill());
    set_up(child);
    verdict->good = child->work(child->context, &verdict->err);
    verdict->returned = true;
    _exit(verdict->good ? 0 : 1);
}

/* ---- in the parent ---- */

static void end_child(pid_t pid, int *status)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
}

/* NL_OK when it ended by itself. */
static enum nl_code wait_for(const struct nl_child *child, pid_t pid, struct nl_job *job,
                             int *status)
{
    int64_t end = child->timeout_ns ? nl_monotonic_ns() + child->timeout_ns : INT64_MAX;
    const struct timespec nap = {0, POLL_MS * 1000000L};
    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return NL_OK;
        if (child->at && job)
            atomic_store(&job->done, *child->at);
        bool late = nl_monotonic_ns() >= end;
        if (late || nl_job_cancelled(job)) {
            end_child(pid, status);
            return late ? NL_TIMEOUT : NL_INTERRUPTED;
        }
        nanosleep(&nap, NULL);
    }
}

/* The last line in `text` that has `mark` in it, from after the mark on; NULL without. */
static const char *marked_line(char *text, const char *mark)
{
    const char *found = NULL;
    for (char *at = text; (at = strstr(at, mark)); found = at)
        at += strlen(mark);
    if (found)
        text[found - text + (ptrdiff_t)strcspn(found, "\n")] = '\0';
    return found;
}

/* The most informative last line of the child, or "". */
static void read_last_line(const struct nl_child *child, char text[LAST_LINE + 1])
{
    char part[LOG_END + 1];
    FILE *file = child->log ? fopen(child->log, "rb") : NULL;
    text[0] = '\0';
    if (!file)
        return;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        (void)fseek(file, size > LOG_END ? size - LOG_END : 0, SEEK_SET);
        size_t got = fread(part, 1, LOG_END, file);
        while (got && (part[got - 1] == '\n' || part[got - 1] == ' '))
            got--;
        part[got] = '\0';
        const char *line = child->mark ? marked_line(part, child->mark) : NULL;
        if (!line) {
            line = strrchr(part, '\n');
            line = line ? line + 1 : part;
        }
        size_t len = strlen(line);
        if (len > LAST_LINE && !child->mark) /* the end of a long line says most */
            line += len - LAST_LINE;
        snprintf(text, LAST_LINE + 1, "%.*s", LAST_LINE, line);
    }
    fclose(file);
}

static bool say_end(const struct nl_child *child, int status, struct nl_err *err)
{
    char last[LAST_LINE + 1];
    bool doing = child->doing && *child->doing;
    read_last_line(child, last);
    const char *colon = *last ? "; its last words: " : "";
    if (WIFSIGNALED(status))
        return nl_fail(err, NL_ENVIRONMENT, "%s crashed%s%.90s (SIG%s)%s%s", child->what,
                       doing ? " while " : "", doing ? child->doing : "",
                       nl_signal_name(WTERMSIG(status)) ? nl_signal_name(WTERMSIG(status)) : "?",
                       colon, last);
    return nl_fail(err, NL_ENVIRONMENT, "%s ended%s%.90s with status %d%s%s", child->what,
                   doing ? " while " : "", doing ? child->doing : "", WEXITSTATUS(status), colon,
                   last);
}

static bool judge_end(const struct nl_child *child, const struct verdict *verdict,
                      enum nl_code ended, int status, struct nl_err *err)
{
    bool doing = child->doing && *child->doing;
    if (ended == NL_INTERRUPTED)
        return nl_fail(err, NL_INTERRUPTED, "stopped");
    if (ended == NL_TIMEOUT)
        return nl_fail(err, NL_TIMEOUT,
                       "%s was not done in %lld s%s%.90s; --timeout gives it longer", child->what,
                       (long long)(child->timeout_ns / 1000000000), doing ? ", while " : "",
                       doing ? child->doing : "");
    if (verdict->returned && verdict->good)
        return true;
    if (verdict->returned)
        return nl_fail(err, verdict->err.code, "%s", verdict->err.text);
    if (child->program && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    return say_end(child, status, err);
}

bool nl_child_run(const struct nl_child *child, struct nl_job *job, struct nl_err *err)
{
    struct verdict *verdict = nl_child_share(sizeof *verdict);
    int status = 0;
    if (!verdict)
        return nl_fail(err, NL_MEMORY, "no memory for a child process");
    fflush(NULL);
    signal(SIGCHLD, SIG_DFL); /* where we inherited that it is ignored, no status would come back */
    pid_t pid = fork();
    if (pid == 0)
        run_child(child, verdict);
    bool good = false;
    if (pid < 0) {
        (void)nl_fail(err, NL_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
    } else {
        enum nl_code ended = wait_for(child, pid, job, &status);
        good = judge_end(child, verdict, ended, status, err);
    }
    nl_child_unshare(verdict, sizeof *verdict);
    return good;
}

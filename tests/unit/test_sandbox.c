/*
 * Readers in a process of their own: what they may do goes as usual; what they may not do
 * fails, is stopped, or ends them, and is an error here. Each way out is tried by a
 * "reader" that does nothing else.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/mem.h"
#include "base/pool.h"
#include "ingest/sandbox.h"
#include "check.h"
#include "devicetrace.h"

#define INPUT CHECK_FOLDER "/corpus/chrome/kineto.json"

static unsigned holds; /* what this kernel has */
static char victim[] = "/tmp/neurolens-victim-XXXXXX";

static struct nl_trace *run(sandbox_load_fn *load, void *context, struct nl_job *job,
                            struct nl_err *err)
{
    const char *const path = INPUT;
    struct nl_inputs inputs;
    bool ran = false;
    nl_err_clear(err);
    if (!nl_inputs_expand(&inputs, &path, 1, err))
        return NULL;
    struct sandbox sandbox = {.load = load, .context = context, .inputs = &inputs};
    struct nl_trace *trace = sandbox_run(&sandbox, &ran, job, err);
    CHECK(ran);
    nl_inputs_free(&inputs);
    return trace;
}

static struct nl_job job_of(unsigned threads)
{
    return (struct nl_job){.threads = threads, .memory_bytes = (uint64_t)1 << 30};
}

static struct nl_trace *makes_a_trace(void *context, struct nl_job *job, struct nl_err *err)
{
    (void)context;
    nl_job_add(job, 5);
    return devicetrace(7, 300, 100000, err);
}

static void gives_the_same_trace(void)
{
    struct nl_err err;
    struct nl_job job = job_of(2);
    struct nl_trace *here = makes_a_trace(NULL, NULL, &err);
    struct nl_trace *there = run(makes_a_trace, NULL, &job, &err);
    if (!there)
        fprintf(stderr, "%s\n", err.text);
    CHECK(here && there);
    if (!here || !there)
        return;
    CHECK_INT(there->slice.rows, here->slice.rows);
    CHECK(memcmp(there->slice.ts, here->slice.ts, here->slice.rows * sizeof *here->slice.ts) == 0);
    CHECK_INT(there->kernel.rows, here->kernel.rows);
    CHECK_INT(there->names.count, here->names.count);
    nl_trace_free(here);
    nl_trace_free(there);
}

static struct nl_trace *fails(void *context, struct nl_job *job, struct nl_err *err)
{
    (void)context;
    (void)job;
    nl_err_at(err, "a file", 17);
    (void)nl_fail(err, NL_LIMIT, "too much of it");
    return NULL;
}

static void passes_errors_on(void)
{
    struct nl_err err;
    struct nl_job job = job_of(1);
    CHECK(!run(fails, NULL, &job, &err));
    CHECK_INT(err.code, NL_LIMIT);
    CHECK_TEXT(err.text, "too much of it");
    CHECK_TEXT(err.file, "a file");
    CHECK_INT(err.offset, 17);
}

static void *counts(void *context)
{
    atomic_fetch_add((_Atomic int *)context, 1);
    return NULL;
}

/* Threads, memory, the input, clocks: NULL, or what does not go. */
static const char *ordinary(void)
{
    char byte;
    _Atomic int count = 0;
    pthread_t thread;
    int fd = open(INPUT, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &byte, 1) != 1 || byte != '{')
        return "the input cannot be read";
    close(fd);
    if (pthread_create(&thread, NULL, counts, &count) != 0 || pthread_join(thread, NULL) != 0 ||
        count != 1)
        return "no thread";
    if (nl_memory_held() == 0)
        return "the memory that is held is not known";
    char *pages = malloc((size_t)64 << 20);
    if (!pages)
        return "no memory";
    memset(pages, 1, (size_t)64 << 20);
    free(pages);
    return NULL;
}

static const char *opens(void)
{
    static const char *const others[] = {"/etc/passwd", CHECK_FOLDER "/check.py", "/proc/1/environ",
                                         "/"};
    for (size_t i = 0; (holds & NL_CONFINE_FILES) && i < CHECK_LENGTH(others); i++)
        if (open(others[i], O_RDONLY | O_CLOEXEC) >= 0)
            return others[i];
    if (open("/tmp/neurolens-apart-test", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
        return "made a file";
    if (open(INPUT, O_WRONLY | O_CLOEXEC) >= 0)
        return "the input can be written to";
    if (unlink(victim) == 0)
        return "a file can be removed";
    return NULL;
}

static const char *changes_limits(void)
{
    struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &more) == 0)
        return "limits can be raised";
    if (chmod(INPUT, 0600) == 0 || chdir("/") == 0)
        return "chmod or chdir";
    return NULL;
}

static const char *forks(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child > 0 ? "a process was made" : NULL;
}

static const char *signals_the_parent(void)
{
    return kill(getppid(), 0) == 0 || kill(1, 0) == 0 ? "others can be signalled" : NULL;
}

static const char *inherits(void)
{
    for (int fd = 3; fd < 200; fd++) {
        struct stat info;
        if (fstat(fd, &info) == 0 && !S_ISFIFO(info.st_mode) && info.st_nlink > 0)
            return "a descriptor of the parent is open";
    }
    return NULL;
}

static const char *connects(void)
{
    (void)socket(AF_INET, SOCK_STREAM, 0);
    return "went on behind socket";
}

static const char *executes(void)
{
    char *const words[] = {(char *)"true", NULL};
    (void)execv("/bin/true", words);
    return "went on behind exec";
}

static const char *traces(void)
{
    (void)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
    return "went on behind ptrace";
}

static const char *crashes(void)
{
    (void)raise(SIGSEGV);
    return "went on behind a crash";
}

typedef const char *attempt_fn(void);
struct attempt {
    const char *name;
    attempt_fn *try;
    const char *says; /* in the error; NULL: it goes on, and all is refused or fine */
};

static struct nl_trace *attempts(void *context, struct nl_job *job, struct nl_err *err)
{
    const struct attempt *attempt = context;
    const char *wrong = attempt->try();
    if (!wrong)
        return makes_a_trace(NULL, job, err);
    (void)nl_fail(err, NL_FORMAT, "%s", wrong);
    return NULL;
}

static void try_all(struct attempt *list, size_t count)
{
    int leaked = open(INPUT, O_RDONLY); /* without O_CLOEXEC, as careless libraries leave them */
    for (size_t i = 0; i < count; i++) {
        struct nl_err err;
        struct nl_job job = job_of(1);
        check_case(list[i].name);
        struct nl_trace *trace = run(attempts, &list[i], &job, &err);
        if (!list[i].says) {
            CHECK(trace != NULL);
            if (!trace)
                fprintf(stderr, "    %s: %s\n", list[i].name, err.text);
        } else {
            CHECK(!trace);
            CHECK_INT(err.code, NL_INTERNAL);
            CHECK(strstr(err.text, list[i].says) != NULL);
        }
        nl_trace_free(trace);
    }
    close(leaked);
}

static void lets_readers_read(void)
{
    struct attempt list[] = {{"ordinary work", ordinary, NULL}, {"descriptors", inherits, NULL}};
    try_all(list, CHECK_LENGTH(list));
}

static void lets_nobody_out(void)
{
    struct attempt list[] = {{"files", opens, NULL},
                             {"limits", changes_limits, NULL},
                             {"fork", forks, NULL},
                             {"signals", signals_the_parent, NULL},
                             {"socket", connects, "no reader may call"},
                             {"exec", executes, "no reader may call"},
                             {"ptrace", traces, "no reader may call"}};
    if (!(holds & NL_CONFINE_CALLS)) {
        check_skip("this kernel has no seccomp");
        return;
    }
    int fd = mkstemp(victim);
    try_all(list, CHECK_LENGTH(list));
    CHECK(access(victim, F_OK) == 0);
    unlink(victim);
    close(fd);
}

static void survives_crashes(void)
{
    struct attempt list[] = {{"SIGSEGV", crashes, "crashed (SIGSEGV)"}};
    try_all(list, CHECK_LENGTH(list));
}

static struct nl_trace *hangs(void *context, struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    atomic_store((_Atomic int *)context, 1);
    for (;;)
        pause();
    return NULL;
}

static void *cancels(void *context)
{
    const struct timespec nap = {0, 100000000};
    nanosleep(&nap, NULL);
    atomic_store(&((struct nl_job *)context)->cancelled, true);
    return NULL;
}

static void is_ended_with_the_job(void)
{
    struct nl_err err;
    struct nl_job job = job_of(1);
    _Atomic int unused = 0;
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, cancels, &job) == 0);
    CHECK(!run(hangs, &unused, &job, &err));
    CHECK_INT(err.code, NL_INTERRUPTED);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    pthread_join(thread, NULL);
}

static struct nl_trace *lies(void *context, struct nl_job *job, struct nl_err *err)
{
    struct nl_trace *trace = makes_a_trace(context, job, err);
    if (trace && trace->kernel.rows)
        ((uint32_t *)(uintptr_t)trace->kernel.slice)[0] = UINT32_MAX - 5;
    return trace;
}

static void believes_nothing(void)
{
    struct nl_err err;
    struct nl_job job = job_of(1);
    CHECK(!run(lies, NULL, &job, &err));
    CHECK_INT(err.code, NL_INTERNAL);
    CHECK(strstr(err.text, "damaged trace") != NULL);
}

static struct nl_trace *exhausts(void *context, struct nl_job *job, struct nl_err *err)
{
    (void)context;
    (void)job;
    (void)err;
    nl_memory_exhausted(12345);
    return NULL;
}

static void says_when_memory_ends(void)
{
    struct nl_err err;
    struct nl_job job = job_of(1);
    CHECK(!run(exhausts, NULL, &job, &err));
    CHECK_INT(err.code, NL_MEMORY);
    CHECK(strstr(err.text, "12345 bytes more were needed") != NULL);
}

#define WHEN_POSSIBLE(name)                                                                        \
    static void possible_##name(void)                                                              \
    {                                                                                              \
        holds = nl_confine_available();                                                            \
        if (sandbox_possible())                                                                    \
            name();                                                                                \
        else                                                                                       \
            check_skip("nothing can be confined here");                                            \
    }
WHEN_POSSIBLE(gives_the_same_trace)
WHEN_POSSIBLE(passes_errors_on)
WHEN_POSSIBLE(lets_readers_read)
WHEN_POSSIBLE(lets_nobody_out)
WHEN_POSSIBLE(survives_crashes)
WHEN_POSSIBLE(is_ended_with_the_job)
WHEN_POSSIBLE(believes_nothing)
WHEN_POSSIBLE(says_when_memory_ends)

CHECK_MAIN("sandbox", {"gives the same trace", possible_gives_the_same_trace},
           {"passes errors on", possible_passes_errors_on},
           {"lets readers read", possible_lets_readers_read},
           {"lets nobody out", possible_lets_nobody_out},
           {"survives crashes", possible_survives_crashes},
           {"is ended with the job", possible_is_ended_with_the_job},
           {"believes nothing", possible_believes_nothing},
           {"says when memory ends", possible_says_when_memory_ends})

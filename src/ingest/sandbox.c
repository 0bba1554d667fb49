/* fork, confine, load, write the trace to memory; in the parent wait, then open it. */
#define _GNU_SOURCE
#include "ingest/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/signalname.h"
#include "base/spill.h"
#include "ingest/lib/dbspool.h"
#include "store/tracefile.h"

#define TICK_MS      20
#define SAID_BYTES   400
#define MAX_HANDLES  65536
#define SPARE_MEMORY ((uint64_t)512 << 20) /* stacks of threads, what is mapped and not touched */
#define SPARE_FILE   ((uint64_t)64 << 20)
#define SIGNALS      65

/* A child of a program with threads may find the allocator of a sanitizer locked by one of them,
 * for ever (glibc's is unlocked by fork); ThreadSanitizer forbids threads in it. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* In memory that both see. The child may write anything there: nothing is believed. */
struct verdict {
    struct nl_job job;
    struct nl_err err;
    char phase[24];
    bool returned, good;
};

struct run {
    const struct sandbox *sandbox;
    struct nl_job *job;
    struct verdict *verdict;
    int trace, said,
        alive[2]; /* files in memory: the trace, what is printed; a pipe that ends with the child */
    int messages[2]; /* a socket from the child; -1 without `work` */
    char *folder;    /* for copies of databases and members of archives; or NULL */
    char *message;   /* room for one */
};

bool sandbox_possible(void)
{
#ifdef SANITIZED
    return false;
#else
    return nl_confine_available() != 0;
#endif
}

/* Text is read by readers of text: none of them is risky. Cheap, since most profiles are. */
bool sandbox_worth(const struct nl_inputs *inputs)
{
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        unsigned char start[16];
        size_t got = nl_file_start(inputs->items[i].path, start, sizeof start);
        for (size_t k = 0; k < got; k++)
            if (start[k] >= 0x7f ||
                (start[k] < ' ' && start[k] != '\n' && start[k] != '\r' && start[k] != '\t'))
                return true;
    }
    return false;
}

/* ---- in the child ---- */

static const char **names_of(const struct run *run, size_t *count)
{
    const struct nl_inputs *both[] = {run->sandbox->inputs, run->sandbox->join};
    static const char *const beside[] = {"", "-wal", "-journal", "-shm"}; /* of databases */
    size_t room = 0;
    *count = 0;
    for (int i = 0; i < 2; i++)
        room += both[i] ? both[i]->count : 0;
    const char **names = nl_alloc(room * 4 * sizeof *names);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; both[i] && k < both[i]->count; k++)
            for (int b = 0; b < 4; b++) {
                struct nl_buf name;
                nl_buf_init(&name, 8192);
                nl_buf_format(&name, "%s%s", both[i]->items[k].path, beside[b]);
                nl_buf_char(&name, '\0');
                if (b == 0 || access(name.ptr, F_OK) == 0)
                    names[(*count)++] = name.ptr;
                else
                    nl_buf_release(&name);
            }
    return names;
}

/* Copies of standard input, pipes and members of archives are known by their descriptors alone. */
static void mark_spools(const struct nl_inputs *inputs, bool *kept)
{
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        int fd = -1;
        if (sscanf(inputs->items[i].path, "/proc/self/fd/%d", &fd) == 1 && fd > 2 &&
            fd < MAX_HANDLES)
            kept[fd] = true;
    }
}

/* What the parent has open is none of the child's business: outputs, a ledger, a terminal. */
static void close_others(const struct run *run)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), most = 2;
    bool *kept = nl_zalloc(MAX_HANDLES * sizeof *kept);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(run->said, STDERR_FILENO);
    mark_spools(run->sandbox->inputs, kept);
    mark_spools(run->sandbox->join, kept);
    kept[run->trace] = kept[run->alive[1]] = true;
    if (run->messages[1] >= 0)
        kept[run->messages[1]] = true;
    for (int fd = 3; fd < MAX_HANDLES; fd++)
        most = kept[fd] ? fd : most;
    for (int fd = 3; fd <= most; fd++)
        if (!kept[fd])
            (void)close(fd);
    if (syscall(SYS_close_range, (unsigned)most + 1, ~0U, 0U) != 0)
        for (int fd = most + 1; fd < MAX_HANDLES; fd++)
            (void)close(fd);
    nl_free(kept);
}

static void set_signals(void)
{
    static const int back[] = {SIGSEGV, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGHUP};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof back / sizeof *back; i++)
        (void)signal(back[i], SIG_DFL);
    (void)signal(SIGINT, SIG_IGN); /* the parent ends us */
    (void)signal(SIGXFSZ, SIG_IGN);
}

static void confine(const struct run *run)
{
    struct nl_confine to = {
        .folder = run->folder, .read_all = run->sandbox->read_all, .sends = run->sandbox->work};
    to.readable = names_of(run, &to.readable_count);
    uint64_t budget = run->job->memory_bytes;
    if (budget && budget < UINT64_MAX / 8) {
        to.memory_bytes =
            2 * budget + SPARE_MEMORY + ((uint64_t)16 << 20) * nl_job_threads(run->job);
        if (!run->sandbox
                 ->work) /* members of archives may be larger: the room on the disk bounds them */
            to.file_bytes = 2 * budget + SPARE_FILE;
    }
    if (run->folder && !run->sandbox->work)
        (void)setenv("TMPDIR", run->folder, 1);
    (void)nl_confine(&to);
}

static bool write_trace(const struct run *run, const struct nl_trace *trace, struct nl_err *err)
{
    FILE *out = fdopen(run->trace, "w");
    if (out && nl_trace_write(trace, out) && fflush(out) == 0)
        return true;
    return nl_fail(err, NL_MEMORY,
                   "not enough memory to read it in a confined process; raise --memory");
}

bool sandbox_send(int to, const void *bytes, size_t len, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } beside = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &beside;
        message.msg_controllen = sizeof beside;
        beside.head = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&beside.head), &fd, sizeof fd);
    }
    ssize_t sent;
    while ((sent = sendmsg(to, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return sent == (ssize_t)len;
}

_Noreturn static void run_child(const struct run *run)
{
    struct verdict *verdict = run->verdict;
    struct nl_job *job = &verdict->job;
    nl_spill_in_child(nl_process_spill());
    set_signals();
    close_others(run);
    confine(run);
    atomic_store(&job->look, job->guard);
    const struct sandbox *sandbox = run->sandbox;
    if (sandbox->work) {
        verdict->good =
            sandbox->work(sandbox->context, run->messages[1], run->folder, job, &verdict->err);
    } else {
        struct nl_trace *trace = sandbox->load(sandbox->context, job, &verdict->err);
        verdict->good = trace && write_trace(run, trace, &verdict->err);
    }
    const char *phase = atomic_load(&job->phase);
    (void)snprintf(verdict->phase, sizeof verdict->phase, "%s", phase ? phase : "");
    verdict->returned = true;
    _exit(0);
}

/* ---- in the parent ---- */

/* Its own texts: a pointer from the child leads anywhere. */
static const char *phase_of(const struct verdict *verdict)
{
    static const char *const phases[] = {"reading", "sorting", "merging", "checking", "preparing"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strncmp(verdict->phase, phases[i], sizeof verdict->phase) == 0)
            return phases[i];
    return phases[0];
}

/* The file of a message, -1 without; those beyond one are closed. */
static int file_of(struct msghdr *message)
{
    int first = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
            if (first >= 0)
                (void)close(fd);
            else
                first = fd;
        }
    }
    return first;
}

/* One message when there is one. False: it was refused, or cannot be taken. */
static bool take_message(const struct run *run, bool *some, struct nl_err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(4 * sizeof(int))];
    } beside;
    struct iovec part = {.iov_base = run->message, .iov_len = APART_MESSAGE};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &beside, .msg_controllen = sizeof beside};
    ssize_t got = recvmsg(run->messages[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *some = got > 0;
    if (got == 0) {
        int empty = file_of(&message); /* a message of nothing, with a file: nobody sends that */
        if (empty >= 0)
            (void)close(empty);
    }
    if (got <= 0)
        return got == 0 || errno == EAGAIN || errno == EINTR ||
               nl_fail(err, NL_ENVIRONMENT, "cannot receive the unpacked files: %s",
                       strerror(errno));
    int fd = file_of(&message);
    if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return run->sandbox->take(run->sandbox->context, run->message, (size_t)got, fd, err);
    if (fd >= 0)
        (void)close(fd);
    return nl_fail(err, NL_LIMIT,
                   "the archive holds more files than this process may open; unpack it, or raise "
                   "`ulimit -n`");
}

static bool take_messages(const struct run *run, struct nl_err *err)
{
    bool some = run->messages[0] >= 0;
    while (some)
        if (!take_message(run, &some, err))
            return false;
    return true;
}

/* Waits for its end. False: what it sent was refused. */
static bool wait_for(const struct run *run, pid_t child, int *status, struct nl_err *err)
{
    struct nl_job *job = run->job;
    struct pollfd ends[2] = {{.fd = run->alive[0], .events = POLLIN},
                             {.fd = run->messages[0], .events = POLLIN}};
    bool ended = false, taken = true;
    while (!ended && taken) {
        ended = poll(ends, 2, TICK_MS) > 0 && ends[0].revents;
        taken = take_messages(run, err);
        if (ends[1].revents & (POLLHUP | POLLERR))
            ends[1].fd = -1; /* it is closed: only the end of the process is of interest */
        atomic_store(&job->total, atomic_load(&run->verdict->job.total));
        atomic_store(&job->done, atomic_load(&run->verdict->job.done));
        if (!taken || (!ended && nl_job_cancelled(job))) {
            (void)kill(child, SIGKILL);
            break;
        }
    }
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        ;
    return taken;
}

/* The last line that it printed, without our name in front; "" without. */
static void read_last_line(const struct run *run, char text[SAID_BYTES + 1])
{
    off_t size = lseek(run->said, 0, SEEK_END);
    ssize_t got =
        size > 0 ? pread(run->said, text, SAID_BYTES, size > SAID_BYTES ? size - SAID_BYTES : 0)
                 : 0;
    while (got > 0 && text[got - 1] == '\n')
        got--;
    text[got > 0 ? got : 0] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (strncmp(line, "neurolens: ", 11) == 0)
        line += 11;
    memmove(text, line, strlen(line) + 1);
}

/* It ended itself with a message: no memory, or an input that became shorter. */
static bool pass_on(int status, const char *text, struct nl_err *err)
{
    static const enum nl_code codes[] = {NL_MEMORY, NL_IO};
    for (size_t i = 0; *text && WIFEXITED(status) && i < sizeof codes / sizeof *codes; i++)
        if (WEXITSTATUS(status) == nl_err_exit_status(codes[i])) {
            nl_err_at(err, "", -1);
            return nl_fail(err, codes[i], "%s", text) || true;
        }
    return false;
}

static void say_end(const struct run *run, int status, struct nl_err *err)
{
    char text[SAID_BYTES + 1];
    read_last_line(run, text);
    if (pass_on(status, text, err))
        return;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = number > 0 && number < SIGNALS ? nl_signal_name(number) : NULL;
    const char *colon = *text ? ": " : "";
    if (number == SIGSYS)
        (void)nl_fail(err, NL_INTERNAL,
                      "its reader called what no reader may call, and was stopped; the file may be "
                      "an attack: do not pass it on, and report it as SECURITY.md says");
    else if (number)
        (void)nl_fail(err, NL_INTERNAL, "its reader crashed (SIG%s)%s%.200s", name ? name : "?",
                      colon, text);
    else
        (void)nl_fail(err, NL_INTERNAL, "its reader ended with status %d%s%.200s",
                      WEXITSTATUS(status), colon, text);
}

static struct nl_trace *open_result(const struct run *run, struct nl_err *err)
{
    char path[40];
    struct nl_err own;
    nl_err_clear(&own);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", run->trace);
    struct nl_trace *trace = nl_trace_open(path, false, nl_job_threads(run->job), &own);
    if (!trace && own.code == NL_IO)
        (void)nl_fail(err, NL_ENVIRONMENT, "cannot receive the trace from its reader: %s",
                      own.text);
    else if (!trace)
        (void)nl_fail(err, NL_INTERNAL, "its reader gave a damaged trace: %s", own.text);
    return trace;
}

/* The child's error, when it is one. */
static void take_error(const struct verdict *verdict, struct nl_err *err)
{
    *err = verdict->err;
    err->text[sizeof err->text - 1] = err->file[sizeof err->file - 1] = '\0';
    if (err->code <= NL_OK || err->code > NL_INTERNAL)
        err->code = NL_INTERNAL;
}

/* True when it did its work. */
static bool judge_end(const struct run *run, int status, struct nl_err *err)
{
    struct nl_job *job = run->job;
    const struct verdict *verdict = run->verdict;
    atomic_store(&job->phase, phase_of(verdict));
    if (atomic_load(&verdict->job.out_of_memory)) {
        atomic_store(&job->out_of_memory, true);
        atomic_store(&job->cancelled, true);
    }
    if (nl_job_cancelled(job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (verdict->returned && verdict->good)
        return true;
    if (verdict->returned)
        take_error(verdict, err);
    else
        say_end(run, status, err);
    return false;
}

static bool make_channel(struct run *run)
{
    run->messages[0] = run->messages[1] = -1;
    if (!run->sandbox->work)
        return true;
    run->message = nl_alloc(APART_MESSAGE);
    return run->folder &&
           socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run->messages) == 0 &&
           run->messages[1] < MAX_HANDLES;
}

static bool make_ready(struct run *run)
{
    struct nl_err ignored;
    nl_err_clear(&ignored);
    run->alive[0] = run->alive[1] = -1;
    run->trace = memfd_create("trace", MFD_CLOEXEC);
    run->said = memfd_create("said", MFD_CLOEXEC);
    run->verdict =
        mmap(NULL, sizeof *run->verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!dbspool_folder(&run->folder, &ignored))
        run->folder = NULL;
    return make_channel(run) && run->trace >= 0 && run->trace < MAX_HANDLES && run->said >= 0 &&
           run->verdict != MAP_FAILED && pipe2(run->alive, O_CLOEXEC) == 0 &&
           run->alive[1] < MAX_HANDLES;
}

static void clean_up(struct run *run)
{
    const int files[] = {run->trace,    run->said,        run->alive[0],
                         run->alive[1], run->messages[0], run->messages[1]};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            (void)close(files[i]);
    if (run->verdict != MAP_FAILED)
        (void)munmap(run->verdict, sizeof *run->verdict);
    if (run->folder)
        dbspool_remove(run->folder);
    nl_free(run->message);
}

/* Starts the child, waits and judges; run->verdict is as the child left it. */
static bool do_work(struct run *run, bool *ran, struct nl_err *err)
{
    struct nl_job *job = run->job;
    int status = 0;
    run->verdict->job.threads = job->threads;
    run->verdict->job.memory_bytes = job->memory_bytes;
    run->verdict->job.guard = job->guard;
    run->verdict->job.parent = job;
    run->verdict->err = *err;
    pid_t child = fork();
    if (child == 0)
        run_child(run);
    *ran = child > 0;
    (void)close(run->alive[1]);
    run->alive[1] = -1;
    if (run->messages[1] >= 0)
        (void)close(run->messages[1]);
    run->messages[1] = -1;
    if (!*ran)
        return false;
    return wait_for(run, child, &status, err) && judge_end(run, status, err);
}

struct nl_trace *sandbox_run(const struct sandbox *sandbox, bool *ran, struct nl_job *job,
                             struct nl_err *err)
{
    struct run run = {.sandbox = sandbox, .job = job};
    struct nl_trace *trace = NULL;
    *ran = make_ready(&run);
    if (*ran && do_work(&run, ran, err))
        trace = open_result(&run, err);
    clean_up(&run);
    return trace;
}

bool sandbox_exchange(const struct sandbox *sandbox, bool *ran, struct nl_job *job,
                      struct nl_err *err)
{
    struct run run = {.sandbox = sandbox, .job = job};
    *ran = make_ready(&run);
    bool done = *ran && do_work(&run, ran, err);
    clean_up(&run);
    return done;
}

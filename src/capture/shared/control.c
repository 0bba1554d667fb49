/* The shared pages of a run. */
#define _GNU_SOURCE
#include "capture/shared/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/shared/fewpages.h"
#include "capture/shared/ticks.h"

#define BYTES ((sizeof(struct nl_control) + 4095) & ~(size_t)4095)

static bool path_of(char path[4096], const char *folder)
{
    static const char name[] = "/.control";
    size_t bytes = few_length(folder);
    if (bytes > NL_CONTROL_PATH)
        return false;
    few_copy(path, bytes + 1, folder);
    few_copy(path + bytes, sizeof name, name);
    return true;
}

static struct nl_control *map(int file)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A lock names its holder by the pid in the namespace of the process that asks: 0 where it has
 * none. One call, where to look up the namespace is ten times that. */
static bool hold(int file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_SETLK, &lock) == 0;
}

static bool is_held_by(int file, uint32_t holder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return holder && syscall(SYS_fcntl, file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK &&
           lock.l_pid == (pid_t)holder;
}

bool control_make(struct nl_control **control, int *lock, const char *folder, struct nl_err *err)
{
    char path[4096];
    nl_err_at(err, folder, -1);
    if (!path_of(path, folder))
        return nl_fail(err, NL_WRITE, "the name of this folder is too long");
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return nl_fail(err, NL_WRITE, "cannot create a file here: %s", strerror(errno));
    int failure = posix_fallocate(file, 0, BYTES);
    *control = failure ? NULL : map(file);
    if (!failure && !*control)
        failure = errno;
    if (failure) {
        close(file);
        return nl_fail(err, NL_WRITE, "cannot create a file here: %s", strerror(failure));
    }
    (*control)->holder = hold(file) ? (uint32_t)getpid() : 0;
    *lock = file;
    return true;
}

/* By `syscall`: each function of the C library's that a program has not called yet is a page fault,
 * which costs more than the call does. */
struct nl_control *control_find(const char *folder, bool *near)
{
    char path[4096];
    struct nl_control *control = NULL;
    *near = false;
    if (!path_of(path, folder))
        return NULL;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return NULL;
    if (syscall(SYS_lseek, file, (long)0, SEEK_END) == (long)BYTES) {
        long memory =
            syscall(SYS_mmap, NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, (long)0);
        control = memory == -1 ? NULL : (struct nl_control *)(intptr_t)memory;
    }
    /* Read by adding nothing: the page is asked for to be written, once, where a
     * load would be a fault more. */
    if (control && __atomic_fetch_add(&control->magic, 0, __ATOMIC_ACQUIRE) != NL_CONTROL_MAGIC) {
        control_unmap(control);
        control = NULL;
    }
    *near = control && is_held_by(file, control->holder);
    (void)syscall(SYS_close, file);
    return control;
}

void control_unmap(struct nl_control *control)
{
    if (control)
        munmap(control, BYTES);
}

uint64_t control_pid_namespace(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}

bool control_gate(struct nl_control *control, uint32_t open)
{
    if (__atomic_exchange_n(&control->gate, open, __ATOMIC_ACQ_REL) == open)
        return false;
    uint32_t move = __atomic_fetch_add(&control->gate_changes, 1, __ATOMIC_RELAXED);
    if (move < NL_CONTROL_MOVES)
        __atomic_store_n(&control->moves_ns[move], ticks_clock_ns(CLOCK_MONOTONIC),
                         __ATOMIC_RELEASE);
    return true;
}

bool control_was_open(const struct nl_control *control, int64_t ns)
{
    uint32_t moves = __atomic_load_n(&control->gate_changes, __ATOMIC_RELAXED);
    uint32_t told = moves < NL_CONTROL_MOVES ? moves : NL_CONTROL_MOVES, move = 0;
    for (; move < told; move++) {
        int64_t moved = __atomic_load_n(&control->moves_ns[move], __ATOMIC_ACQUIRE);
        if (!moved || moved > ns)
            return (control->begins_open != 0) == (move % 2 == 0);
    }
    if (moves > NL_CONTROL_MOVES)
        return __atomic_load_n(&control->gate, __ATOMIC_RELAXED) != 0;
    return (control->begins_open != 0) == (move % 2 == 0);
}

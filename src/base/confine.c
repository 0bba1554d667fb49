/* Landlock and seccomp, by their system calls: the C library has no functions for them. */
#define _GNU_SOURCE
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- Landlock (by numbers, since the headers here may be older than the kernel) ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif
#define WANT_VERSION 1U
#define PATH_BENEATH 1

enum access {
    MAY_EXECUTE = 1 << 0,
    MAY_WRITE = 1 << 1,
    MAY_READ = 1 << 2,
    MAY_LIST = 1 << 3,
    MAY_REMOVE_FOLDER = 1 << 4,
    MAY_REMOVE = 1 << 5,
    MAY_MAKE_FOLDER = 1 << 7,
    MAY_MAKE = 1 << 8,
    ALL_1 = (1 << 13) - 1,
    MAY_REFER = 1 << 13,    /* version 2 */
    MAY_TRUNCATE = 1 << 14, /* version 3 */
    MAY_CONTROL = 1 << 15   /* version 5: ioctl of devices */
};

struct ruleset {
    uint64_t files, network, scopes; /* what is handled: nothing of it is allowed but by a rule */
};

struct rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static long landlock_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, WANT_VERSION);
}

static void allow_path(int ruleset, const char *path, uint64_t what)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat info;
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0) {
        if (!S_ISDIR(info.st_mode))
            what &= MAY_READ | MAY_WRITE | MAY_TRUNCATE;
        struct rule rule = {what, fd};
        (void)syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0U);
    }
    close(fd);
}

/* What the C library, SQLite and the memory guard open. */
static const char *const always[] = {
    "/proc/self", "/dev/urandom",  "/etc/localtime",         "/usr/share/zoneinfo",
    "/dev/null",  "/proc/meminfo", "/sys/devices/system/cpu"};

static bool confine_files(const struct nl_confine *to)
{
    static const uint64_t network = 3, scopes = 3; /* TCP; abstract sockets and signals */
    long version = landlock_version();
    if (version < 1)
        return false;
    struct ruleset handled = {.files = ALL_1};
    handled.files |= version >= 2 ? MAY_REFER : 0;
    handled.files |= version >= 3 ? MAY_TRUNCATE : 0;
    handled.files |= version >= 5 ? MAY_CONTROL : 0;
    handled.network = version >= 4 ? network : 0;
    handled.scopes = version >= 6 ? scopes : 0;
    size_t size = version >= 6   ? sizeof handled
                  : version >= 4 ? offsetof(struct ruleset, scopes)
                                 : offsetof(struct ruleset, network);
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0U);
    if (ruleset < 0)
        return false;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        allow_path(ruleset, always[i], MAY_READ | MAY_LIST);
    for (size_t i = 0; i < to->readable_count; i++)
        allow_path(ruleset, to->readable[i], MAY_READ);
    if (to->read_all)
        allow_path(ruleset, "/", MAY_READ | MAY_LIST);
    if (to->folder)
        allow_path(ruleset, to->folder,
                   handled.files & (MAY_READ | MAY_LIST | MAY_WRITE | MAY_REMOVE |
                                    MAY_REMOVE_FOLDER | MAY_MAKE | MAY_MAKE_FOLDER | MAY_TRUNCATE));
    bool holds = syscall(SYS_landlock_restrict_self, ruleset, 0U) == 0;
    close(ruleset);
    return holds;
}

/* ---- seccomp ---- */

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

/* What reading, computing and threads need. Whatever else is called fails with EPERM. */
static const int allowed[] = {
    SYS_read,
    SYS_write,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readv,
    SYS_writev,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_close,
    SYS_fcntl,
    SYS_dup,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_set_robust_list,
    SYS_gettid,
    SYS_getpid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_restart_syscall,
    SYS_fadvise64,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_getdents64,
    SYS_faccessat,
    SYS_readlinkat,
    SYS_getcwd,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrusage,
    SYS_memfd_create,
    SYS_geteuid,
    SYS_getuid,
    SYS_getegid,
    SYS_getgid,
    SYS_mincore,
    SYS_statfs,
    SYS_fstatfs,
    SYS_msync,
    SYS_membarrier,
    SYS_getcpu,
#ifdef SYS_open
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_time,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
};

/* Only where Landlock says in which folder. */
static const int changes_folders[] = {
    SYS_unlinkat, SYS_mkdirat, SYS_renameat, SYS_fchmod, SYS_fchown,
#ifdef SYS_open
    SYS_unlink,   SYS_mkdir,   SYS_rmdir,    SYS_rename,
#endif
};

/* No reader has a use for these: who calls them is not a reader any more. */
static const int deadly[] = {SYS_execve, SYS_execveat, SYS_socket,           SYS_connect,
                             SYS_bind,   SYS_ptrace,   SYS_process_vm_readv, SYS_process_vm_writev,
                             SYS_bpf,    SYS_mount,    SYS_setuid,           SYS_unshare,
                             SYS_keyctl};

#define CALLS (sizeof allowed / sizeof allowed[0])
#define MAX_LINES                                                                                  \
    (2 * (CALLS + sizeof changes_folders / sizeof *changes_folders +                               \
          sizeof deadly / sizeof *deadly) +                                                        \
     64)

struct program {
    struct sock_filter lines[MAX_LINES];
    unsigned short count;
};

static void put_instruction(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    p->lines[p->count++] = (struct sock_filter){code, yes, no, k};
}

static void put_load(struct program *p, size_t offset)
{
    put_instruction(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end_with(struct program *p, uint32_t action)
{
    put_instruction(p, BPF_RET | BPF_K, action, 0, 0);
}

/* The number of the call is loaded: ends with `action` when it is one of them. */
static void end_if_call_is_any(struct program *p, const int *calls, size_t count, uint32_t action)
{
    for (size_t i = 0; i < count; i++) {
        put_instruction(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
        end_with(p, action);
    }
}

/* A call that is allowed when `mask` of the low half of an argument equals `value`,
 * else fails with `error`. */
static void allow_call_if_argument(struct program *p, int call, unsigned argument, uint32_t mask,
                                   uint32_t value, uint32_t error)
{
    put_instruction(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5);
    put_load(p, offsetof(struct seccomp_data, args) + 8U * argument);
    put_instruction(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    put_instruction(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    end_with(p, SECCOMP_RET_ALLOW);
    end_with(p, SECCOMP_RET_ERRNO | error);
}

static void write_program(struct program *p, bool files_confined, bool sends)
{
    const uint32_t writes = files_confined ? 0 : O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    const int sendmsg = SYS_sendmsg;
    const int clone3 = 435; /* its flags are in memory: without it the C library calls clone */
    put_load(p, offsetof(struct seccomp_data, arch));
    put_instruction(p, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    end_with(p, SECCOMP_RET_KILL_PROCESS);
    put_load(p, offsetof(struct seccomp_data, nr));
    end_if_call_is_any(p, allowed, CALLS, SECCOMP_RET_ALLOW);
    end_if_call_is_any(p, deadly, sizeof deadly / sizeof *deadly, SECCOMP_RET_KILL_PROCESS);
    end_if_call_is_any(p, &clone3, 1, SECCOMP_RET_ERRNO | ENOSYS);
    if (files_confined)
        end_if_call_is_any(p, changes_folders, sizeof changes_folders / sizeof *changes_folders,
                           SECCOMP_RET_ALLOW);
    if (sends)
        end_if_call_is_any(p, &sendmsg, 1, SECCOMP_RET_ALLOW);
    allow_call_if_argument(p, SYS_clone, 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM,
                           EPERM);
    allow_call_if_argument(p, SYS_openat, 2, writes, 0, EACCES);
#ifdef SYS_open
    allow_call_if_argument(p, SYS_open, 1, writes, 0, EACCES);
#endif
    allow_call_if_argument(p, SYS_tgkill, 0, ~0U, (uint32_t)getpid(), EPERM); /* abort */
    allow_call_if_argument(p, SYS_prlimit64, 2, ~0U, 0, EPERM);               /* only asks */
    end_with(p, SECCOMP_RET_ERRNO | EPERM);
}

static bool confine_calls(bool files_confined, bool sends)
{
    struct program *p = nl_zalloc(sizeof *p);
    write_program(p, files_confined, sends);
    struct sock_fprog filter = {.len = p->count, .filter = p->lines};
    bool holds = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
    nl_free(p);
    return holds;
}

static bool have_calls(void)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

#else
static bool confine_calls(bool files_confined, bool sends)
{
    (void)files_confined;
    (void)sends;
    return false;
}

static bool have_calls(void)
{
    return false;
}
#endif

unsigned nl_confine_available(void)
{
    return (landlock_version() >= 1 ? NL_CONFINE_FILES : 0) | (have_calls() ? NL_CONFINE_CALLS : 0);
}

static void set_limit(int resource, uint64_t most)
{
    struct rlimit old, now = {most, most};
    if (getrlimit((__rlimit_resource_t)resource, &old) == 0 && old.rlim_max < most)
        now = (struct rlimit){old.rlim_max, old.rlim_max};
    (void)setrlimit((__rlimit_resource_t)resource, &now);
}

unsigned nl_confine(const struct nl_confine *to)
{
    unsigned holds = 0;
    set_limit(RLIMIT_CORE, 0);
    if (to->memory_bytes)
        set_limit(RLIMIT_DATA, to->memory_bytes);
    if (to->file_bytes)
        set_limit(RLIMIT_FSIZE, to->file_bytes);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 0;
    if (confine_files(to))
        holds |= NL_CONFINE_FILES;
    if (confine_calls(holds & NL_CONFINE_FILES, to->sends))
        holds |= NL_CONFINE_CALLS;
    return holds;
}

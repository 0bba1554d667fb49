/* sandbox CALL… -- PROGRAM…: runs a program to which the kernel denies these system calls (EPERM),
 * as the seccomp profiles of containers do. Exits with 5 where the kernel has no seccomp. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 16

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
#define CALL(name)                                                                                 \
    {                                                                                              \
#name, SYS_##name                                                                          \
    }
    CALL(fallocate),  CALL(madvise),   CALL(perf_event_open), CALL(process_vm_readv),
    CALL(ptrace),     CALL(setrlimit), CALL(memfd_create),
#ifdef SYS_pidfd_open
    CALL(pidfd_open),
#endif
};

static int number_of(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(calls[i].name, name) == 0)
            return (int)calls[i].number;
    return -1;
}

int main(int argc, char **argv)
{
    struct sock_filter code[2 * MOST + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short count = 1;
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0 && count < 2 * MOST; at++) {
        int number = number_of(argv[at]);
        if (number < 0)
            return 2;
        code[count++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
        code[count++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & 0xffff));
    }
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {count, code};
    if (at + 1 >= argc)
        return 2;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 5;
    execvp(argv[at + 1], argv + at + 1);
    return 127;
}

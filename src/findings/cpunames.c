/* cpunames — see cpunames.h. */
#include "findings/cpunames.h"

#include "findings/bookcause.h"

bool nl_is_lock(struct nl_str name)
{
    static const char *const words[] = {"acquire",
                                        "lock",
                                        "futex",
                                        "futex_wait",
                                        "pthread_mutex_lock",
                                        "pthread_mutex_timedlock",
                                        "pthread_rwlock_rdlock",
                                        "pthread_rwlock_wrlock",
                                        "pthread_cond_wait",
                                        "pthread_cond_timedwait",
                                        "pthread_cond_clockwait",
                                        "pthread_join",
                                        "pthread_barrier_wait",
                                        "sem_wait",
                                        "sem_timedwait",
                                        "sem_clockwait",
                                        "take_gil",
                                        "__lll_lock_wait",
                                        "_wait_for_tstate_lock",
                                        "join"};
    bool text = nl_str_contains(name, "join") &&
                (nl_str_contains(name, "'str'") || nl_str_contains(name, "'bytes'") ||
                 nl_str_contains(name, "path")); /* of texts, not of threads */
    return !text && nl_marks_end(NL_MARKS(words), name);
}

bool nl_is_file_io(struct nl_str name)
{
    static const char *const words[] = {
        "read",     "pread",    "pread64",   "readv",     "write",           "pwrite",
        "pwrite64", "writev",   "fsync",     "fdatasync", "sync_file_range", "recv",
        "recvfrom", "recvmsg",  "recv_into", "send",      "sendall",         "sendto",
        "sendmsg",  "open",     "openat",    "fopen",     "fread",           "fwrite",
        "fflush",   "readinto", "readline",  "readlines", "read_bytes",      "read_text",
        "flush",    "print",    "urlopen",   "ReadFile",  "WriteFile"};
    return nl_marks_end(NL_MARKS(words), name);
}

bool nl_is_pause(struct nl_str name)
{
    static const char *const words[] = {"sleep",
                                        "usleep",
                                        "nanosleep",
                                        "clock_nanosleep",
                                        "poll",
                                        "ppoll",
                                        "select",
                                        "pselect",
                                        "epoll_wait",
                                        "epoll_pwait",
                                        "wait",
                                        "wait4",
                                        "waitpid",
                                        "waitid",
                                        "accept",
                                        "kevent",
                                        "WaitForSingleObject",
                                        "WaitForMultipleObjects",
                                        "NtWaitForSingleObject"};
    return nl_marks_end(NL_MARKS(words), name);
}

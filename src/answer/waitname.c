/* waitname — see waitname.h. The last word of a dotted or scoped name decides. */
#include "answer/waitname.h"

#include <ctype.h>

static const char *const waits[] = {
    "poll", "epoll", "ppoll", "select", "pselect", "epoll_wait", "sleep", "nanosleep", "usleep",
    "clock_nanosleep", "join", "wait", "wait4", "waitpid", "acquire", "recv", "_recv", "recv_bytes",
    "futex", "futex_wait", "sem_wait", "sem_timedwait", "pthread_cond_wait",
    "pthread_cond_timedwait", "pthread_join", "accept", "_wait_for_tstate_lock",
    "WaitForSingleObject", "WaitForMultipleObjects", "NtWaitForSingleObject", "_poll", "kevent",
    "get_events", "wait_for",
    /* event loops with nothing to do: Chromium, libuv, Netty, Go */
    "DoIdleWork", "uv__io_poll", "epollWait", "epollwait", "ep_poll", "netpoll", "notesleep",
    "gopark", "park",
    /* of macOS */
    "mach_msg_trap", "mach_msg2_trap", "kevent64", "kevent_qos", "__psynch_cvwait",
    "__psynch_mutexwait", "__semwait_signal", "semaphore_wait_trap", "__workq_kernreturn"};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* End of the last word before arguments, places and templates. */
static size_t plain_end(struct nl_str name)
{
    size_t end = 0;
    while (end < name.len && name.ptr[end] != ' ' && name.ptr[end] != '(' && name.ptr[end] != '<')
        end++;
    return end;
}

/* Of "<method 'acquire' of '_thread.lock' objects>". */
static size_t method_end(struct nl_str name)
{
    size_t from = 0;
    while (from < name.len && name.ptr[from] != '\'' && name.ptr[from] != '.')
        from++;
    size_t end = from + 1;
    while (end < name.len && in_word(name.ptr[end]))
        end++;
    return end < name.len ? end : name.len;
}

/* Of "threading.py(359): wait" what follows the place. */
static struct nl_str without_place(struct nl_str name)
{
    for (size_t i = 0; i + 3 < name.len; i++)
        if (name.ptr[i] == ')' && name.ptr[i + 1] == ':' && name.ptr[i + 2] == ' ')
            return (struct nl_str){name.ptr + i + 3, name.len - i - 3};
    return name;
}

bool nl_is_wait_name(struct nl_str name)
{
    name = without_place(name);
    size_t end = plain_end(name);
    if (!end && name.len)
        end = method_end(name);
    size_t start = end;
    while (start && in_word(name.ptr[start - 1]))
        start--;
    struct nl_str word = {name.ptr + start, end - start};
    bool socket = nl_str_find_nocase((struct nl_str){name.ptr, end}, "socket.") >= 0;
    if (socket && (nl_str_is(word, "read") || nl_str_is(word, "connect") ||
                   nl_str_is(word, "do_handshake") || nl_str_is(word, "recv_into")))
        return true;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (nl_str_is(word, waits[i]))
            return true;
    return false;
}

#define _GNU_SOURCE /* execvpe */
#include "capture/recorder/heldprogram.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that a terminal or a scheduler sends to both: the recorder's handlers
 * must not run in the child. */
static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH};

static void forget_handlers(void)
{
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        struct sigaction now;
        if (sigaction(handled[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)signal(handled[i], SIG_DFL);
    }
}

/* In the child, all signals blocked: only what is safe after a fork of a program with threads. */
static _Noreturn void wait_and_become(int link, char *const *argv, char *const *variables,
                                      const sigset_t *mask)
{
    char go;
    ssize_t got;
    forget_handlers();
    do
        got = recv(link, &go, 1, 0);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execvpe(argv[0], argv, variables);
    int failure = errno;
    (void)send(link, &failure, sizeof failure, MSG_NOSIGNAL);
    _exit(127);
}

int heldprogram_start(struct heldprogram *held, char *const *argv, char *const *variables)
{
    int link[2], failure = 0;
    sigset_t all, mask;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0)
        return errno;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &mask);
    *held = (struct heldprogram){.pid = fork(), .link = link[0]};
    if (held->pid == 0) {
        close(link[0]);
        wait_and_become(link[1], argv, variables, &mask);
    }
    failure = held->pid < 0 ? errno : 0;
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    close(link[1]);
    if (failure)
        close(link[0]);
    return failure;
}

int heldprogram_release(struct heldprogram *held)
{
    int failure = 0;
    ssize_t got = send(held->link, "", 1, MSG_NOSIGNAL);
    if (got == 1)
        do
            got = recv(held->link, &failure, sizeof failure, 0);
        while (got < 0 && errno == EINTR);
    close(held->link);
    held->link = -1;
    if (got == sizeof failure && failure)
        (void)waitpid(held->pid, NULL, 0);
    else
        failure =
            0; /* exec closed the socket; or it was killed, which the wait for its end shows */
    return failure;
}

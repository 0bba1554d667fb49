/* Signals of `neurolens run`: a handler writes their numbers to a pipe. */
#define _GNU_SOURCE
#include "base/chars.h"
#include "base/signalname.h"
#include "cli/record/runsignals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                              SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

static struct sigaction before[NUMBERS], child_before;
static int ends[2] = {-1, -1};
static bool by_terminal;

static void on_signal(int number, siginfo_t *info, void *context)
{
    int failure = errno;
    char byte = (char)number;
    (void)context;
    /* From the kernel: the terminal's keys, which the program gets too. */
    if (info->si_code <= 0 || by_terminal)
        (void)!write(ends[1], &byte, 1);
    errno = failure;
}

bool nl_run_signals_take(bool alone, int *wake, struct nl_err *err)
{
    by_terminal = alone;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return nl_fail(err, NL_ENVIRONMENT, "cannot create a pipe: %s", strerror(errno));
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUMBERS; i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &child_before);
    *wake = ends[0];
    return true;
}

int nl_run_signals_next(void)
{
    unsigned char byte;
    return read(ends[0], &byte, 1) == 1 ? byte : 0;
}

void nl_run_signals_give_back(void)
{
    for (size_t i = 0; i < NUMBERS; i++)
        sigaction(numbers[i], &before[i], NULL);
    sigaction(SIGCHLD, &child_before, NULL);
    close(ends[0]);
    close(ends[1]);
    ends[0] = ends[1] = -1;
}

int nl_run_signal_number(const char *text)
{
    if (strncmp(text, "SIG", 3) == 0)
        text += 3;
    for (size_t i = 0; i < NUMBERS; i++) {
        const char *name = nl_signal_name(numbers[i]);
        if (name && strcmp(name, text) == 0)
            return numbers[i];
        if (nl_is_digit(*text) && strtol(text, NULL, 10) == numbers[i])
            return numbers[i];
    }
    return 0;
}

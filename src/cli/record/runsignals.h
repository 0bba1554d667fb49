/*
 * runsignals — signals while a program is being recorded: those sent to us are passed on to it,
 * those of the terminal reach it by themselves (it is in the same foreground group), and none of
 * them ends us before the recording is safe. SIGCHLD is not ignored meanwhile, by the program
 * neither: the kernel would throw its exit status away.
 */
#ifndef NL_RUNSIGNALS_H
#define NL_RUNSIGNALS_H

#include "base/err.h"

/* Takes the signals over. *wake is a descriptor that becomes readable when one came. `alone`: there
 * is no program in our group, so those of the terminal count, too. */
NL_MUST_CHECK bool nl_run_signals_take(bool alone, int *wake, struct nl_err *err);
/* The next signal to be passed on, 0 = none waits. */
int nl_run_signals_next(void);
/* Back to how it was. */
void nl_run_signals_give_back(void);

/* "USR1", "SIGUSR1", "10" → number; 0 = none of that name that can be used. */
int nl_run_signal_number(const char *text);

#endif

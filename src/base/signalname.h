/*
 * signalname — signals by their names without SIG, as sigabbrev_np gives them; glibc has that only
 * since 2.32, and the program is to start on older ones.
 */
#ifndef NL_SIGNALNAME_H
#define NL_SIGNALNAME_H

/* "INT" for SIGINT; NULL for a number without a name, real-time signals among them. */
const char *nl_signal_name(int number);

#endif

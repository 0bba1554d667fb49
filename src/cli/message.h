/*
 * message — what is reported on stderr: one line per error, notes, details with -v.
 *
 *   neurolens: FILE: at byte N: cause; next step
 *
 * Control characters of file names and causes are shown as '?', so a message is always one line and
 * cannot drive a terminal.
 */
#ifndef NL_MESSAGE_H
#define NL_MESSAGE_H

#include "cli/command.h"

/* With `verbose`, the name of the code on a second line. NL_INTERRUPTED prints nothing unless
 * verbose: who pressed Ctrl-C knows. */
void nl_message_error(const struct nl_err *err, unsigned verbose);

/* A remark, unless --quiet. */
void nl_message_note(const struct nl_call *call, const char *format, ...) NL_PRINTF(2, 3);

/* A detail, only with -v. */
void nl_message_detail(const struct nl_call *call, const char *format, ...) NL_PRINTF(2, 3);

#endif

/*
 * leftout — functions whose calls were not all recorded: tracing stops at so many calls of a
 * function (NEUROLENS_PYTHON_CALLS), and coverage says that it did. What they did later counts as
 * the self time of whoever called them.
 *
 * Known is which functions reached the limit, in which process and when. A call of another
 * function that had not ended by then may hold calls that were left out: its self time is an upper
 * bound, however few they were.
 */
#ifndef NL_LEFTOUT_H
#define NL_LEFTOUT_H

#include "store/trace.h"

/* What the sums of a name are. */
enum nl_left {
    NL_LEFT_NONE,  /* all there was */
    NL_LEFT_LEAST, /* calls of its own are missing */
    NL_LEFT_MOST,  /* its self time may hold calls of others that are missing */
    NL_LEFT_FIRST, /* both: of its first calls, and with others in them */
    NL_LEFTS
};

/* By dictionary id, of Python functions: nl_free it. NULL where no limit was reached. */
uint8_t *nl_left_out(const struct nl_trace *trace);

/* "at least", "at most", "first calls"; NULL of NL_LEFT_NONE. */
const char *nl_left_text(enum nl_left bound);

#endif

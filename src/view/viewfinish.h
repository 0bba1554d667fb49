/* viewfinish — the last word of every renderer: did the stream take it all? */
#ifndef NL_VIEWFINISH_H
#define NL_VIEWFINISH_H

#include <stdio.h>

#include "base/err.h"

/* Flushes; fails with NL_WRITE (with the reason) when any write to the stream failed. */
NL_MUST_CHECK bool nl_view_finish(FILE *out, struct nl_err *err);

#endif

/*
 * lastrank — which rank comes last to collectives, and so waits for no other, by how long each is
 * in them: ranks, or where none are known the devices that ran the same collectives.
 */
#ifndef NL_LASTRANK_H
#define NL_LASTRANK_H

#include "answer/judge.h"

/* One process drives all devices with work, none has a rank, and all of them have the
 * same number of collectives. */
bool nl_lastrank_one_process(const struct nl_trace *trace);

/* "rank 3 arrives last …" when one waits least in collectives by far; nothing otherwise. */
void nl_lastrank_put(struct nl_judged *judged, struct nl_buf *out, const char *before);

#endif

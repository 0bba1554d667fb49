/*
 * perfline — lines of `perf script` text taken apart, without touching the store.
 *
 * A stanza is a header line, frame lines (innermost first) and an empty line. Headers end in
 * `event:`, with what perf was asked for before it: `comm pid[/tid] [cpu] time: period
 * event:`; cpu, time and period may be missing, and comm may hold anything. Intel PT writes a
 * line per branch instead:
 * the same start, then `kind  target  address symbol (module)`.
 */
#ifndef PERFLINE_H
#define PERFLINE_H

#include "base/str.h"

struct perfline_header {
    struct nl_str comm, event;              /* event with modifiers, without its ':' */
    int64_t pid, tid, cpu, time_ns, period; /* NL_NULL_I64 = not given */
    struct nl_str rest;                     /* after the event: a one-line stack, or a message */
    bool is_branch; /* event is the kind of branch, rest the place it left */
};

struct perfline_frame {
    struct nl_str symbol; /* without +0xoffset */
    struct nl_str module; /* as in its brackets; may be empty */
};

/* False when the line is no header. */
bool perfline_header(struct nl_str line, struct perfline_header *header);

/* `address symbol+0x12 (module)`; false when there is no hexadecimal address and a symbol. */
bool perfline_frame(struct nl_str line, struct perfline_frame *frame);

/* "instruction trace error ..." and the like. */
bool perfline_is_trouble(struct nl_str line);

#endif

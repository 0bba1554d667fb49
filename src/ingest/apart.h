/*
 * apart — foreign files that could carry an attack are read in a process of their own.
 *
 * Reports of Nsight Compute carry ELF and DWARF of machine code, others are programs of a small machine (pickle, marshal). A child
 * that is confined (base/confine.h) reads them: it can open its input and nothing else, starts nothing, talks to nobody. It writes the
 * trace to a file in memory; when it has ended, the parent opens that as it opens any .nlt file, with every check. What goes wrong in the
 * child is the same error as here; when it crashes, that is an error too (NL_INTERNAL).
 *
 *     struct apart apart = {.load = load, .context = &mine, .inputs = inputs, .count = n};
 *     trace = apart_run(&apart, &ran, job, err);    // !ran: no process could be started; load here
 */
#ifndef APART_H
#define APART_H

#include "ingest/inputs.h"
#include "store/trace.h"

typedef struct nl_trace *apart_load_fn(void *context, struct nl_job *job, struct nl_err *err);

struct apart {
    apart_load_fn *load; /* runs in the child; what it changes in memory is lost */
    void *context;
    const struct nl_inputs *inputs, *join; /* what it may read; join may be NULL */
    bool read_all;                         /* it may read everything (symbols of programs) */
};

/* The trace, or NULL with the reason. *ran is false when nothing was done. */
struct nl_trace *apart_run(const struct apart *apart, bool *ran, struct nl_job *job,
                           struct nl_err *err);

/* False when all begin with text, which only readers of text take; none of them is risky. Cheap, since most profiles
 * are of that kind. */
bool apart_worth(const struct nl_inputs *inputs);

/* Can processes be confined here at all? Not in builds with Address- or ThreadSanitizer. */
bool apart_possible(void);

#endif

/*
 * apart — foreign files that could carry an attack are read in a separate process.
 *
 * Reports of Nsight Compute carry ELF and DWARF of machine code, others are programs of a small
 * machine (pickle, marshal). A child that is confined (base/confine.h) reads them: it can open its
 * input and nothing else, starts no program and has no network. It writes the trace to a file in
 * memory; when it has ended, the parent opens that as it opens any .nlt file, with every check.
 * What goes wrong in the child is the same error as here; when it crashes, that is an error too
 * (NL_INTERNAL).
 *
 *     struct sandbox sandbox = {.load = load, .context = &mine, .inputs = inputs, .count = n};
 *     trace = sandbox_run(&sandbox, &ran, job, err);    // !ran: no process could be started; load here
 *
 * A child may send messages with files in place of a trace (sandbox_send, sandbox_exchange); so
 * archives are unpacked (unpack.h).
 */
#ifndef APART_H
#define APART_H

#include "ingest/inputs.h"
#include "store/trace.h"

typedef struct nl_trace *sandbox_load_fn(void *context, struct nl_job *job, struct nl_err *err);

#define APART_MESSAGE ((size_t)96 << 10) /* bytes of a message at the most */

/* In the child: sends messages over the socket `to`; makes files in `folder` alone. */
typedef bool sandbox_work_fn(void *context, int to, const char *folder, struct nl_job *job,
                             struct nl_err *err);
/* In the parent: gets each message in turn; fd is a file that came with it, now the taker's, or -1.
 * False with a reason ends the child. Nothing in a message is to be believed. */
typedef bool sandbox_take_fn(void *context, const void *bytes, size_t len, int fd,
                             struct nl_err *err);

struct sandbox {
    sandbox_load_fn *load; /* runs in the child; what it changes in memory is lost */
    sandbox_work_fn *work; /* or this, with `take` */
    sandbox_take_fn *take;
    void *context;
    const struct nl_inputs *inputs, *join; /* what it may read; join may be NULL */
    bool read_all;                         /* it may read everything (symbols of programs) */
};

/* The trace, or NULL with the reason. *ran is false when nothing was done. */
struct nl_trace *sandbox_run(const struct sandbox *sandbox, bool *ran, struct nl_job *job,
                             struct nl_err *err);

/* Runs sandbox->work; true when it came to its end and all that it sent was
 * taken. *ran as above. */
NL_MUST_CHECK bool sandbox_exchange(const struct sandbox *sandbox, bool *ran, struct nl_job *job,
                                    struct nl_err *err);

/* One message, with a file when fd >= 0. False with errno. */
NL_MUST_CHECK bool sandbox_send(int to, const void *bytes, size_t len, int fd);

/* False when all begin with text, which only readers of text take; none of them is risky. Cheap,
 * since most profiles are of that kind. */
bool sandbox_worth(const struct nl_inputs *inputs);

/* Can processes be confined here at all? Not in builds with Address- or ThreadSanitizer. */
bool sandbox_possible(void);

#endif

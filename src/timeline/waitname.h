/*
 * waitname — whether a function or call only waits: sleeping, polling, joining, locks. By its name,
 * of Python, libc, Go, Java, macOS and Windows (waitnames.def); what waits is no hot spot. Names of
 * system calls with separate times are in blockingcalls.def.
 *
 *     nl_is_wait_name(nl_str("join (threading.py:1053)"))       true
 *     nl_is_wait_frame(nl_str("join"), nl_str("frame.py"))      false: of a table, not of a thread
 */
#ifndef NL_WAITNAME_H
#define NL_WAITNAME_H

#include "store/trace.h"

bool nl_is_wait_name(struct nl_str name);
bool nl_is_lock_name(struct nl_str name); /* of these, for a lock, a condition, another thread */
/* The same of the innermost frame of a stack, where its file is known; it may be empty. */
bool nl_is_wait_frame(struct nl_str name, struct nl_str file);

/* The same of many names of one trace: each is judged once.
 *
 *     nl_wait_names_init(&waits, trace);  …  nl_wait_names_has(&waits, trace->slice.name[row]);  …  nl_wait_names_release(&waits);
 */
struct nl_wait_names {
    const struct nl_trace *trace; /* borrowed */
    uint8_t *known;               /* per name: 0 not judged yet, 1 works, 2 waits */
};
void nl_wait_names_init(struct nl_wait_names *names, const struct nl_trace *trace);
void nl_wait_names_release(struct nl_wait_names *names);
/* False for NL_NO_NAME. */
bool nl_wait_names_has(struct nl_wait_names *names, uint32_t name);

/* Whether samples of that event are taken while a thread runs (cpu, cpu-clock, cycles): a function
 * that waits is at work there. */
bool nl_is_on_cpu(struct nl_str event);
/* Whether its weights are waits for locks (contentions, delay, mutex, block; as pprof's producers
 * call them): of all threads together, so no thread's time. */
bool nl_is_lock_event(struct nl_str event);

#endif

/*
 * waitname — whether a function or call only waits: sleeping, polling, joining, locks. By its name, of Python, libc, Go, Java,
 * macOS and Windows (waitnames.def); what waits is no hot spot. Names of system calls with times of their own are
 * waitcalls.def.
 *
 *     nl_is_wait_name(nl_str("join (threading.py:1053)"))       true
 *     nl_is_wait_frame(nl_str("join"), nl_str("frame.py"))      false: of a table, not of a thread
 */
#ifndef NL_WAITNAME_H
#define NL_WAITNAME_H

#include "base/str.h"

bool nl_is_wait_name(struct nl_str name);
/* The same, where the frame's file is known; it may be empty. */
bool nl_is_wait_frame(struct nl_str name, struct nl_str file);

/* Whether samples of that event are taken while a thread runs (cpu, cpu-clock, cycles): a function that waits is at work there. */
bool nl_is_on_cpu(struct nl_str event);

#endif

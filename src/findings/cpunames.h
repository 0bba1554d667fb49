/*
 * cpunames — what functions of the CPU are for, by the last word of their names: waiting for another thread, files
 * and sockets, sleeping. Python, libc and their like call them alike.
 */
#ifndef NL_CPUNAMES_H
#define NL_CPUNAMES_H

#include "base/str.h"

bool nl_is_lock(struct nl_str name);    /* waits for a lock, a condition, another thread */
bool nl_is_file_io(struct nl_str name); /* reads, writes, sends, receives, flushes */
bool nl_is_pause(struct nl_str name);   /* sleeps, polls, waits for a child or an event */

#endif

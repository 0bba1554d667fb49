/*
 * cpunames — what functions of the CPU are for, by the last word of their names: files and sockets.
 * Python, libc and their like call them alike. What waits is timeline/waitname.h.
 */
#ifndef NL_CPUNAMES_H
#define NL_CPUNAMES_H

#include "store/trace.h"

/* Reads, writes, sends, receives, flushes: by its name, and no function of Python that
 * parses what it was given. */
bool nl_is_file_io(const struct nl_trace *trace, struct nl_str name);

/* As profilers of Python write what runs in C: "<built-in method time.sleep>", "<method
 * 'decode' of 'bytes' objects>". */
bool nl_is_builtin(struct nl_str name);

#endif

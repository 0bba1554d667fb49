/*
 * cpunames — what functions of the CPU are for, by the last word of their names: files and sockets. Python, libc and their like
 * call them alike. What waits is timeline/waitname.h.
 */
#ifndef NL_CPUNAMES_H
#define NL_CPUNAMES_H

#include "base/str.h"

bool nl_is_file_io(struct nl_str name); /* reads, writes, sends, receives, flushes */

#endif

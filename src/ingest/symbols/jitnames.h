/*
 * jitnames — functions that a program made while it ran, as it listed them in /tmp/perf-PID.map
 * (Node, Java with an agent, CPython with -X perf, LLVM's and others' JITs): lines of "start size
 * name" in hex.
 */
#ifndef JITNAMES_H
#define JITNAMES_H

#include "base/str.h"

struct jitnames;

/* The map of a process that lived from `begin` on and ended, at the latest, at `end` (real time,
 * ns). NULL: there is none, or it is not of that time: process ids come again. */
struct jitnames *jitnames_open(int64_t pid, int64_t begin, int64_t end);
void jitnames_close(struct jitnames *names); /* NULL is fine */

/* The function at an address; .len 0 = none. Of several at that address the last one listed. */
struct nl_str jitnames_find(const struct jitnames *names, uint64_t address);

#endif

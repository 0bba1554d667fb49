/*
 * pychildren — children of sampled processes that have no recording: a fork that records no event
 * makes no file, and children of a process that was attached to do not have the recording library.
 *
 * They are given a recording when they are Python programs and have lived for two looks, so that
 * what forks only to become another program is left to itself.
 */
#ifndef PYCHILDREN_H
#define PYCHILDREN_H

#include "capture/recorder/parts.h"

struct pychildren;

struct pychildren *pychildren_new(void);
void pychildren_free(struct pychildren *children);

/* One look: the children of every sampled process, then what to do about them;
 * parts may be added by that. */
void pychildren_see(struct pychildren *children, int64_t parent);
void pychildren_settle(struct pychildren *children, struct parts *parts);
/* How many could not be given a recording. */
uint64_t pychildren_refused(const struct pychildren *children);

#endif

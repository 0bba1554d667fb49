/*
 * pychildren — children of sampled processes that have no recording of their own: a fork that records no
 * event makes no file, and children of a process that was attached to do not have the recording library.
 *
 * They are given a recording when they are Python programs and have lived for two looks, so that what forks
 * only to become another program is left to itself.
 */
#ifndef PYCHILDREN_H
#define PYCHILDREN_H

#include "capture/parts.h"

struct pychildren;

struct pychildren *pychildren_new(void);
void pychildren_free(struct pychildren *children);

/* Looks at the children of all live parts; parts may be added. `refused` counts those that could not be given a
 * recording. */
void pychildren_look(struct pychildren *children, struct parts *parts);
uint64_t pychildren_refused(const struct pychildren *children);

#endif

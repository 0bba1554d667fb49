/*
 * hostfacts — what this machine is, as settings of a run that was measured on it.
 */
#ifndef NL_HOSTFACTS_H
#define NL_HOSTFACTS_H

#include "base/mem.h"
#include "rundoc/rundoc.h"

#define NL_HOST_FACTS 5

/* Processor, number of processors, memory, kernel and system; fewer when one is unknown. Texts live
 * in the arena. Returns how many. */
size_t nl_host_facts(struct nl_rundoc_setting settings[NL_HOST_FACTS], struct nl_arena *arena);

#endif

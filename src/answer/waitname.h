/*
 * waitname — whether a function or call only waits: sleeping, polling, joining, locks. By its name, of Python, libc and
 * Windows; what waits is no hot spot.
 */
#ifndef NL_WAITNAME_H
#define NL_WAITNAME_H

#include "base/str.h"

bool nl_is_wait_name(struct nl_str name);

#endif

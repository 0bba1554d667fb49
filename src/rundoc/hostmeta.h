/*
 * hostmeta — which machine a profile was recorded on, as its metadata tell.
 */
#ifndef NL_HOSTMETA_H
#define NL_HOSTMETA_H

#include "store/trace.h"

/* Name of the host, product and number of its processors. "" and 0 where they are not told, or where the
 * files of the profile tell different ones. */
struct nl_host_roofs nl_host_meta(const struct nl_trace *trace);

#endif

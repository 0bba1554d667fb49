/*
 * hostmeta — which machine a profile was recorded on, by its metadata.
 */
#ifndef NL_HOSTMETA_H
#define NL_HOSTMETA_H

#include "store/trace.h"

/* Name of the host, product and number of its processors. "" and 0 if they are not given, or if the
 * files of the profile give different ones. */
struct nl_host_roofs nl_host_meta(const struct nl_trace *trace);

/* "gpu01" of "gpu01:8080". */
struct nl_str nl_host_without_port(struct nl_str host);

#endif

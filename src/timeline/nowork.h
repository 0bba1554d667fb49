/*
 * nowork — names under which no thread works: those of states, which are on lanes of asynchronous
 * events and of processes alone (start/end ranges, requests, "the app has the focus"), and of
 * functions that wait only on helper threads. Their time comes on top of that of the program, so
 * that shares of work leave them out.
 */
#ifndef NL_NOWORK_H
#define NL_NOWORK_H

#include "store/trace.h"

/* Per dictionary id 1 for such a name; nl_free it. */
uint8_t *nl_names_without_work(const struct nl_trace *trace);

#endif

/*
 * nowork — names under which no thread works: those of states, which are on lanes of asynchronous
 * events and of processes alone (start/end ranges, requests, "the app has the focus"), and of
 * functions that wait only on helper threads; and of slices in which the scheduler shows that the
 * thread is off the processors. Their time comes on top of that of the program, so that shares of
 * work leave them out.
 */
#ifndef NL_NOWORK_H
#define NL_NOWORK_H

#include "store/trace.h"

enum nl_no_work { NL_NOBODY_WORKS = 1, NL_OFF_CPU }; /* offnames.h */

/* Per dictionary id one of these for such a name, else 0; nl_free it. */
uint8_t *nl_names_without_work(const struct nl_trace *trace);

#endif

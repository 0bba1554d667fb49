/*
 * selfcost — what an event costs the program that records it, measured in place.
 */
#ifndef NL_SELFCOST_H
#define NL_SELFCOST_H

#include "capture/agent/agent.h"

/* Measures what an event costs, if no process of this run did yet. */
void agent_measure(void);

#endif

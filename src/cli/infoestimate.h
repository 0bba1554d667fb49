/*
 * infoestimate — `info --estimate`: how many rows a profile has and what memory it
 * needs, without loading it.
 */
#ifndef NL_INFOESTIMATE_H
#define NL_INFOESTIMATE_H

#include "cli/command.h"

NL_MUST_CHECK bool nl_info_estimate(struct nl_call *call, struct nl_err *err);

#endif

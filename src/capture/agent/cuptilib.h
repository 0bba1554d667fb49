/*
 * cuptilib — libcupti found in the recorded process, and its functions.
 *
 * A process may have one libcupti only, so one that it has loaded already (PyTorch brings its own)
 * comes first; then that of the driver's major version, the toolkit's, and those of Python
 * packages. Nothing is linked. $NEUROLENS_CUPTI names a library to use in place of all that.
 */
#ifndef NL_CUPTILIB_H
#define NL_CUPTILIB_H

#include <stdbool.h>

#include "capture/agent/cuptiabi.h"

struct cupti_calls {
#define CUPTI_CALL(member, symbol, needed, parameters) int(*member) parameters;
#include "capture/agent/cupticalls.def"
};

/* False: there is none here, or one that lacks what is needed; `why` (of `room` bytes) gives the
 * reason. */
bool cupti_open(struct cupti_calls *calls, char *why, size_t room);

/* Which other tool probably holds CUPTI, by the libraries in this process: a text that lives on. */
const char *cupti_holder(void);

#endif

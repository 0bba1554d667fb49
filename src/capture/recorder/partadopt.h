/*
 * partadopt — recordings for processes that do not record themselves.
 */
#ifndef NL_PARTADOPT_H
#define NL_PARTADOPT_H

#include "capture/recorder/parts.h"

/* Makes a recording for a process that does not record itself. Fails with NL_WRITE. */
NL_MUST_CHECK bool parts_adopt(struct parts *parts, int64_t pid, struct nl_err *err);

#endif

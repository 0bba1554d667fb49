/*
 * profiletrt — the backend TensorRT of `profile`.
 */
#ifndef NL_PROFILETRT_H
#define NL_PROFILETRT_H

#include "cli/profile/profilework.h"

/* The backend TensorRT (profiletrt.c): trtexec as a child process. */
NL_MUST_CHECK bool nl_profile_tensorrt(struct nl_profile_work *work, struct nl_err *err);

#endif

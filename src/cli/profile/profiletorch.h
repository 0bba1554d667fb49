/*
 * profiletorch — the backend PyTorch of `profile`.
 */
#ifndef NL_PROFILETORCH_H
#define NL_PROFILETORCH_H

#include "cli/profile/profilework.h"

/* The backend PyTorch (profiletorch.c): the user's Python as a child process. */
NL_MUST_CHECK bool nl_profile_torch(struct nl_profile_work *work, struct nl_err *err);

#endif

/*
 * redact — keys whose values must never be echoed (tokens, passwords, environments).
 */
#ifndef NL_REDACT_H
#define NL_REDACT_H

#include "base/str.h"

/* True when a metadata key or environment variable looks like it holds a secret. */
bool nl_is_secret_key(struct nl_str key);

#endif

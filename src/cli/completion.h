/*
 * completion — completion scripts for shells.
 */
#ifndef NL_COMPLETION_H
#define NL_COMPLETION_H

#include <stdio.h>

/* The completion script for "bash", "zsh" or "fish"; the man page for "man". */
void nl_completion(FILE *out, const char *shell);

#endif

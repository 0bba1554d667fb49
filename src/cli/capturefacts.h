/*
 * capturefacts — what the ledger knows of a run and its profile may lack: the values of --set and
 * neurolens.yaml, the commit, the host. Comparisons judge by them whether two runs can be compared.
 */
#ifndef NL_CAPTUREFACTS_H
#define NL_CAPTUREFACTS_H

#include "cli/input.h"
#include "compare/diff.h"

/* The facts of the run that the words name, in `arena`; none of words that name a file. False with
 * err when the ledger cannot be read. */
NL_MUST_CHECK bool nl_capture_facts(const struct nl_input_words *words, const struct nl_call *call,
                                    struct nl_arena *arena, struct nl_diff_input *input,
                                    struct nl_err *err);

#endif

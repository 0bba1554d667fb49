/*
 * input — the PROFILE words of a call and the trace they stand for.
 *
 * All PROFILE words of a call together are one profile. A window in brackets on one of them limits
 * the whole; two different windows are refused.
 */
#ifndef NL_INPUT_H
#define NL_INPUT_H

#include "cli/command.h"
#include "cli/window.h"

struct nl_input_words {
    const char **paths; /* brackets removed */
    size_t count;
    struct nl_window_words window; /* zeroed = no window */
    const char *cache;             /* the folder that has the loaded trace, or NULL, */
    uint64_t cached_as;            /* and its key there */
    struct nl_arena arena;
};

/* Fails with NL_USAGE for a bad window, NL_ENVIRONMENT for runs of the ledger (@…). Release in any
 * case. */
NL_MUST_CHECK bool nl_input_read(struct nl_input_words *input, char *const *words, size_t count,
                                 struct nl_err *err);
void nl_input_release(struct nl_input_words *input);

/* Loads the profile with the call's options and cache. */
struct nl_trace *nl_input_load(struct nl_input_words *input, const struct nl_call *call,
                               struct nl_err *err);

/* The window in the trace's own times; says on stderr what is worth knowing about it. */
NL_MUST_CHECK bool nl_input_window(const struct nl_input_words *input, const struct nl_trace *trace,
                                   const struct nl_call *call, struct nl_window *window,
                                   struct nl_err *err);

/* Could this word be a profile: is there such a file, or is it "-", a pattern or a run? */
bool nl_input_plausible(const char *word);

#endif

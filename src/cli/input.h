/*
 * input — the PROFILE words of a call and the trace they stand for.
 *
 * All PROFILE words of a call together are one profile. A window in brackets on one of them limits
 * the whole; two different windows are refused. A run of the ledger stands alone.
 */
#ifndef NL_INPUT_H
#define NL_INPUT_H

#include "cli/command.h"
#include "timeline/window.h"
#include "ingest/cache.h"
#include "ledger/ledger.h"

struct nl_input_words {
    const char **paths; /* brackets removed */
    size_t count;
    struct nl_window_words window; /* zeroed = no window */
    const char *cache;             /* the folder that has the loaded trace, or NULL, */
    uint64_t cached_as;            /* and its key there */
    /* set before loading: a large trace goes to the cache when nl_input_keep says so */
    bool background;
    bool unchecked; /* set before loading: a cached trace may come unchecked (store/tracefile.h) */
    struct nl_cache_later later;
    struct nl_arena arena;
};

/* Fails with NL_USAGE for a bad window. Release in any case. */
NL_MUST_CHECK bool nl_input_read(struct nl_input_words *input, char *const *words, size_t count,
                                 struct nl_err *err);
void nl_input_release(struct nl_input_words *input);

/* Loads the profile with the call's options and cache. A single word that is no file may name a run
 * of the ledger. */
struct nl_trace *nl_input_load(struct nl_input_words *input, const struct nl_call *call,
                               struct nl_err *err);

/* With `background`: starts writing to the cache what is not there yet. Call it when the trace is
 * not needed but for an answer that may take its time to print, or when there will be none. */
void nl_input_keep(struct nl_input_words *input, const struct nl_trace *trace,
                   const struct nl_call *call);

/* The run of the ledger that the words name; *is_run is false when they name something else. */
NL_MUST_CHECK bool nl_input_run(const struct nl_input_words *input, const struct nl_call *call,
                                struct nl_ledger_run *run, bool *is_run, struct nl_err *err);

/* The stored document of a run of the ledger, added to `out`; *is_run is false when the words name
 * something else. */
NL_MUST_CHECK bool nl_input_document(const struct nl_input_words *input, const struct nl_call *call,
                                     struct nl_buf *out, bool *is_run, struct nl_err *err);

/* The window in the trace's own times; says on stderr what is worth knowing about it. */
NL_MUST_CHECK bool nl_input_window(const struct nl_input_words *input, const struct nl_trace *trace,
                                   const struct nl_call *call, struct nl_window *window,
                                   struct nl_err *err);

/* Could this word be a profile: is there such a file, or is it "-", a pattern or a run? */
bool nl_input_plausible(const char *word);

/* Is there a run of that name in the ledger of this call? */
bool nl_input_names_run(const struct nl_call *call, const char *word);

#endif

/*
 * captures — one side of a comparison: the captures that words stand for, each loaded as a separate
 * profile.
 *
 *     a.json,b.json,c.json      three captures
 *     FOLDER                    a capture of several ranks; or several, where files of one rank repeat
 *     @~2,@~1,@                 runs of the ledger
 *     tag:main  tag:main~5      all runs with that tag; the newest 5 of them
 *     branch:main~5             the newest 5 runs of a branch (run.git_branch)
 *
 * A word that exists as it is written is never cut at its commas. Windows in
 * brackets hold for their word.
 */
#ifndef NL_CAPTURES_H
#define NL_CAPTURES_H

#include "cli/input.h"
#include "compare/diff.h"

#define NL_MAX_CAPTURES 64 /* a side */

struct nl_captures {
    struct nl_capture_input {
        struct nl_input_words words;
        struct nl_trace *trace;
        const char *name; /* as the user may type it */
    } * items;
    size_t count, cap;
    struct nl_diff_input input;   /* the first, followed by the others */
    struct nl_diff_input *others; /* count - 1 */
    const char **paths;           /* every word's path, count of them: inputs of -o */
    struct nl_arena arena;
};

/* Zeroed before. Release in any case. */
NL_MUST_CHECK bool nl_captures_load(struct nl_captures *captures, char *const *words, size_t count,
                                    const struct nl_call *call, struct nl_err *err);
void nl_captures_release(struct nl_captures *captures);

/* The words between commas, in `arena`; one where the word exists as it is. */
size_t nl_captures_split(struct nl_arena *arena, const char *word, char ***parts);

#endif

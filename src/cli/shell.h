/*
 * shell — SQL statements and dot commands, from a person, a file or the command line.
 *
 * A session holds the open database and how answers are shown. nl_shell_run takes text as it would
 * be typed: statements ended by ';' (the last one may lack it) and lines that begin with a dot.
 */
#ifndef NL_SHELL_H
#define NL_SHELL_H

#include "cli/output.h"
#include "sql/db.h"

struct nl_shell {
    const struct nl_call *call;
    struct nl_output *output;
    const struct nl_trace *trace;
    const struct nl_profile *profile;
    struct nl_db *db;
    uint64_t answers; /* printed so far */
    bool talks;       /* with a person */
    bool quit;
};

/* Runs everything in `text`; stops at the first error. */
NL_MUST_CHECK bool nl_shell_run(struct nl_shell *shell, const char *text, struct nl_err *err);

/* Reads, runs and prints until the end of input or .quit. Errors are printed and survived. */
void nl_shell_talk(struct nl_shell *shell);

#endif

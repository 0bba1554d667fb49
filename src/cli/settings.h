/*
 * settings — the options that several commands have. Those of one command alone are a struct next
 * to their table in its file (cli/command.h).
 *
 * Choices keep the position of the word in the option's list; what such a number means is an enum
 * of the command's own header, or one of those below.
 */
#ifndef NL_SETTINGS_H
#define NL_SETTINGS_H

#include "cli/options.h"

enum nl_color { NL_COLOR_AUTO, NL_COLOR_ALWAYS, NL_COLOR_NEVER };
enum nl_progress_mode { NL_PROGRESS_AUTO, NL_PROGRESS_JSON, NL_PROGRESS_NEVER };

/* The target of an option: a member of nl_settings. */
#define NL_SETTING(member)                                                                         \
    {                                                                                              \
        false, offsetof(struct nl_settings, member)                                                \
    }

/* Zero (or NULL) = not given, except where said. */
struct nl_settings {
    /* of all commands */
    bool help, short_help, version;
    bool quiet, csv_safe;
    unsigned verbose;
    int format;   /* position in nl_format_names[] */
    int color;    /* enum nl_color */
    int progress; /* enum nl_progress_mode */
    const char *output;
    const char *ledger;
    /* how a profile is read */
    uint64_t memory_bytes;
    int64_t threads;
    bool no_cache;
    int64_t rank;         /* NL_NULL_I64 = not given */
    const char *host;     /* of a profile that does not say its own */
    struct nl_texts join; /* files with metrics for the profile's kernels */
    /* how much is shown of what, and how */
    const char *section;
    int64_t limit;
    bool all, absolute, no_pager;
    int64_t timeout_ns;
    const char *flops_per_step, *tokens_per_step;
};

#endif

/*
 * options — from words to settings, by tables.
 *
 * An option is one row: names, type, where its value goes, and its help. Parsing, `-h`,
 * `--help` and the shell completions all read the same rows. Options may stand before, between
 * or after arguments; `--` ends them; `--name=value`, `--name value`, `-n value` and `-nvalue`
 * are the same; flags of one letter may be joined (`-vq`). A repeated option overrides the
 * earlier one, unless it is a list.
 *
 * A target is an offset into one of two structs of the caller, so the tables are constants.
 */
#ifndef NL_OPTIONS_H
#define NL_OPTIONS_H

#include <stddef.h>

#include "base/err.h"
#include "base/nearest.h"

enum nl_option_type {
    NL_OPTION_FLAG,   /* bool: set to true */
    NL_OPTION_COUNT,  /* unsigned: one more each time */
    NL_OPTION_TEXT,   /* const char *: borrows the word; the last one counts */
    NL_OPTION_ONE,    /* const char *, of which another one is refused: nothing is dropped unsaid */
    NL_OPTION_CHOICE, /* int: position in `choices` */
    NL_OPTION_NUMBER, /* int64_t, 0 or more */
    NL_OPTION_SIZE,   /* uint64_t bytes: 512M, 4GiB */
    NL_OPTION_TIME,   /* int64_t ns: 30s, 500ms; a bare number is seconds */
    NL_OPTION_LIST    /* struct nl_texts: one more each time, borrows the word */
};

/* What an option that may be repeated was given; nl_free(items) when done. */
struct nl_texts {
    const char **items;
    size_t count, cap;
};

/* Where a value goes: into the settings that several commands have, or into
 * the command's own options. */
struct nl_target {
    bool own;
    size_t offset;
};

/* The target of an option of one command: a member of the struct of its options. */
#define NL_OWN(type, member)                                                                       \
    {                                                                                              \
        true, offsetof(struct type, member)                                                        \
    }

struct nl_option {
    const char *name; /* "format" for --format; NULL ends a table */
    char letter;      /* 'f' for -f, or 0 */
    enum nl_option_type type;
    struct nl_target target;
    const char *argument; /* "FILE" in help; NULL for flags */
    const char *help;     /* one line, no full stop; NULL = not listed */
    const char *const
        *choices; /* NULL-terminated, for NL_OPTION_CHOICE; of texts, for completion */
};

#define NL_OPTIONS_END                                                                             \
    {                                                                                              \
        .name = NULL                                                                               \
    }

struct nl_words {
    char **word;
    int count;
};

/*
 * Reads the options among `words` into `settings` and `own`, following the tables (a
 * NULL-terminated list; earlier ones win). Without `own`, values of options whose target it is are
 * skipped. Words that are no options are moved to the front, in order; `words->count` becomes their
 * number. With `leading`, parsing stops at the first of them and what follows is kept as it is.
 * Fails with NL_USAGE, naming the nearest known option for an unknown one.
 */
NL_MUST_CHECK bool nl_options_parse(const struct nl_option *const *tables, struct nl_words *words,
                                    bool leading, void *settings, void *own, struct nl_err *err);

/* Frees what options that may be repeated were given. */
void nl_options_release(const struct nl_option *const *tables, void *settings, void *own);

#endif

/*
 * command — what a command of the command line is, and one call of it.
 *
 * A command is the row nl_command_NAME that ends cmd_NAME.c, and its name in commands.def. The row
 * has everything that `-h`, `--help`, `help` and the completions show, the tables of its options,
 * and how many arguments it takes. run gets the words already parsed; it returns false with err
 * filled, and main prints that one line and exits with the status of its code.
 */
#ifndef NL_COMMAND_H
#define NL_COMMAND_H

#include "base/job.h"
#include "cli/options.h"
#include "cli/settings.h"

struct nl_call {
    const struct nl_command *command;
    struct nl_settings settings;
    void *own;        /* the options of this command alone, of the type in its file */
    const char *line; /* all words of the command line, for provenance */
    char **argument;
    int count;
    struct nl_job *job;
    struct nl_progress *progress; /* runs while run does */
    bool pipe_ignored;            /* SIGPIPE was, when we were started */
    int status;                   /* exit status when run returns true; 1 = the answer is "no" */
};

/* The tables of a command's options, in which earlier ones win. */
#define NL_TABLES(...)                                                                             \
    (const struct nl_option *const[])                                                              \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* The struct with the options of this command alone, and their defaults. */
#define NL_DEFAULTS(type, ...)                                                                     \
    .defaults = &(const struct type){__VA_ARGS__}, .own_bytes = sizeof(struct type)

struct nl_command {
    const char *name, *group, *summary;
    const char *usage;    /* the arguments: "PROFILE… [QUERY]" */
    bool leading;         /* options end at the first argument */
    int least, most;      /* number of arguments; most -1 = any */
    const void *defaults; /* of the options of this command alone; NULL: it has none */
    size_t own_bytes;
    const struct nl_option *const *tables; /* NULL-terminated */
    const char *help;                      /* paragraphs of --help */
    const char *examples;                  /* lines "command line   # what it does" */
    const char *const *words;              /* what the argument can be, NULL-terminated, or NULL */
    bool (*run)(struct nl_call *call, struct nl_err *err);
};

#define NL_COMMAND(name) extern const struct nl_command nl_command_##name;
#include "cli/commands.def"
#undef NL_COMMAND
/* All, in the order of help; NULL-terminated. */
extern const struct nl_command *const nl_commands[];
extern const char *const nl_command_groups[]; /* order of the groups in help, NULL-terminated */
enum { NL_FORMAT_TEXT, NL_FORMAT_JSON };      /* the first of nl_format_names[], of views.def */
extern const char *const nl_format_names[];
extern const struct nl_option nl_common_options[];
/* Of several commands: how a profile is read, what is analysed, what is compared. */
extern const struct nl_option nl_profile_options[], nl_report_options[], nl_diff_options[];
/* The option tables of all commands, each once, NULL-terminated. */
const struct nl_option *const *nl_command_all_options(void);

/* Runs another command on this call, with its own options as they are when not given;
 * returns what its `run` does. */
NL_MUST_CHECK bool nl_command_instead(const struct nl_command *command, struct nl_call *call,
                                      struct nl_err *err);

/* A copy of these defaults, for nl_free; NULL: it has none. */
void *nl_command_defaults(const struct nl_command *command);

/* NULL when there is none of that name. */
const struct nl_command *nl_command_find(const char *name);

#endif

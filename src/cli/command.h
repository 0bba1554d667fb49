/*
 * command — what a command of the command line is, and one call of it.
 *
 * A command is a row of its group (*commands.def) and a run function in cmd_NAME.c. The row says
 * everything that `-h`, `--help`, `help` and the completions show, which options it takes beside
 * the common ones, and how many arguments. run gets the words already parsed; it returns false with
 * err filled, and main prints that one line and exits with the status of its code.
 */
#ifndef NL_COMMAND_H
#define NL_COMMAND_H

#include "base/job.h"
#include "cli/options.h"
#include "cli/settings.h"

struct nl_call {
    const struct nl_command *command;
    struct nl_settings settings;
    const char *line; /* all words of the command line, for provenance */
    char **argument;
    int count;
    struct nl_job *job;
    struct nl_progress *progress; /* runs while run does */
    bool pipe_ignored;            /* SIGPIPE was, when we were started */
    int status;                   /* exit status when run returns true; 1 = the answer is "no" */
};

struct nl_command {
    const char *name, *group, *summary;
    const char *usage;                     /* the arguments: "PROFILE… [QUERY]" */
    bool leading;                          /* options end at the first argument */
    int least, most;                       /* number of arguments; most -1 = any */
    const struct nl_option *const *tables; /* NULL-terminated */
    const char *help;                      /* paragraphs of --help */
    const char *examples;                  /* lines "command line   # what it does" */
    const char *const *words;              /* what the argument can be, NULL-terminated, or NULL */
    bool (*run)(struct nl_call *call, struct nl_err *err);
};

extern const struct nl_command nl_commands[]; /* ends with a NULL name */
extern const char *const nl_command_groups[]; /* order of the groups in help, NULL-terminated */
enum { NL_FORMAT_TEXT, NL_FORMAT_JSON };      /* the first of nl_format_names[], of views.def */
extern const char *const nl_format_names[];
extern const struct nl_option nl_common_options[];
/* Of single commands, in cmd_NAME.c. */
extern const struct nl_option nl_diff_options[], nl_export_options[], nl_open_options[],
    nl_fingerprint_options[], nl_init_options[], nl_ledger_options[], nl_model_options[],
    nl_similar_options[], nl_run_options[], nl_top_options[];
extern const struct nl_option nl_page_options[], nl_flame_options[];
extern const struct nl_option nl_bench_options[], nl_check_options[], nl_trend_options[],
    nl_rank_options[], nl_roof_options[];
extern const char *const nl_ledger_verbs[]; /* check, rebuild, merge; NULL-terminated */
/* The option tables of all commands, each once, NULL-terminated. */
const struct nl_option *const *nl_command_all_options(void);

/* NULL when there is none of that name. */
const struct nl_command *nl_command_find(const char *name);

/* One per command, in cmd_NAME.c. */
NL_MUST_CHECK bool nl_cmd_run(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_top(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_info(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_analyze(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_sql(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_check(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_bench(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_trend(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_rank(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_diff(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_page(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_flame(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_open(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_export(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_validate(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_profile(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_doctor(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_roof(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_init(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_add(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_ls(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_show(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_tag(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_note(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_rm(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_ledger(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_gc(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_fingerprint(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_similar(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_trust(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_schema(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_completion(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_help(struct nl_call *call, struct nl_err *err);
NL_MUST_CHECK bool nl_cmd_version(struct nl_call *call, struct nl_err *err);

#endif

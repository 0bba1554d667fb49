/*
 * command — what a command of the command line is, and one call of it.
 *
 * A command is a row of nl_commands[] (commands.c) and a run function in cmd_NAME.c. The row says
 * everything that `-h`, `--help`, `help` and the completions show, which options it takes beside
 * the common ones, and how many arguments. run gets the words already parsed; it returns false with
 * err filled, and main prints that one line and exits with the status of its code.
 */
#ifndef NL_COMMAND_H
#define NL_COMMAND_H

#include "base/job.h"
#include "cli/options.h"

enum nl_color { NL_COLOR_AUTO, NL_COLOR_ALWAYS, NL_COLOR_NEVER };
enum nl_progress_mode { NL_PROGRESS_AUTO, NL_PROGRESS_JSON, NL_PROGRESS_NEVER };

enum nl_roof_only { NL_ROOF_ONLY_NONE, NL_ROOF_ONLY_CPU, NL_ROOF_ONLY_GPU };

/* What the options say: first what several commands share, then what one command has, under its name. Zero (or
 * NULL) = not given, except where said. */
struct nl_settings {
    bool help, short_help, version;
    bool quiet, csv_safe;
    unsigned verbose;
    int format; /* position in nl_format_names[] */
    int color;  /* enum nl_color */
    int progress;
    const char *output;
    const char *ledger;
    uint64_t memory_bytes;
    int64_t threads;
    bool no_cache, absolute, all;
    int64_t rank;         /* NL_NULL_I64 = not given */
    const char *host;     /* of a profile that does not tell its own */
    struct nl_texts join; /* reports whose metrics go to the profile's kernels */
    int64_t limit;
    int64_t timeout_ns;
    const char *section;
    struct nl_texts set;                        /* export, add, profile: key=value */
    bool remove, move, restore;                 /* tag, trust, rm */
    bool estimate, update, shared, quick, list; /* info, similar, init, ledger check, trust */
    const char *at;                             /* note */
    struct {
        bool full, no_pager;
        const char *flops_per_step, *tokens_per_step;
    } analyze;
    struct {
        bool dry_run, orphans;
        uint64_t max_bytes; /* UINT64_MAX = not given */
    } gc;
    struct {
        bool no_trace, keep_source;
    } add;
    struct {
        const char *sort, *columns;
        bool bin;
    } ls;
    struct {
        const char *by, *base;
    } flame;
    struct {
        const char *site, *template;
    } report;
    struct {
        const char *to;
        const char *events; /* a number or "all" */
        const char *table, *of;
    } export;
    struct {
        bool perfetto, no_browser, page;
        const char *ui;
    } open;
    struct {
        int policy; /* enum nl_rec_policy */
        int graphs; /* 1 = whole */
        bool unified_memory;
        uint64_t buffer_bytes;
        int64_t delay_ns, duration_ns;
        const char *steps, *on_signal, *trigger;
        bool paused;
        int python; /* enum nl_run_python */
        bool shapes, python_heap;
        int64_t sample_rate;  /* a second, of both kinds of samples; NL_NULL_I64 = not given */
        int64_t pid;          /* to attach to; 0 = not given */
        int native;           /* 1 = off */
        int stacks;           /* enum perf_stacks */
        uint64_t stack_bytes; /* copied of a stack per sample; 0 = not given */
        int switches;         /* enum nl_switches */
    } run;
    struct {
        struct nl_texts inputs, dims, providers;
        const char *library, *trtexec, *python_program;
        int backend; /* enum nl_profile_backend */
        int64_t warm_up, max_runs, profiled_runs, max_time_ns;
        bool no_add;
    } profile;
    struct {
        struct nl_texts baseline, fail_on, allow;
        const char *rules, *junit, *sarif, *markdown;
        bool self_test;
    } check;
    struct {
        int64_t least, most;
        const char *within, *build;
        struct nl_texts commits;
    } bench;
    struct {
        int by;
        int64_t window;
        const char *magnitude;
        bool fail_on_change;
        const char *alert, *webhook;
    } trend;
    struct {
        int64_t interval_ns;
        bool once;
        int sort; /* enum top_sort */
    } top;
    struct {
        bool no_keep, replace;
        int only; /* enum nl_roof_only */
    } roof;
    struct nl_texts prices; /* rank */
};

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
enum { NL_FORMAT_TEXT, NL_FORMAT_JSON };      /* the first of nl_format_names[] */
extern const char *const nl_format_names[];
extern const struct nl_option nl_common_options[];
/* Of single commands, in cmd_NAME.c. */
extern const struct nl_option nl_diff_options[], nl_export_options[], nl_open_options[],
    nl_fingerprint_options[], nl_init_options[], nl_ledger_options[], nl_model_options[],
    nl_similar_options[], nl_run_options[], nl_top_options[];
extern const struct nl_option nl_page_options[], nl_flame_options[];
extern const struct nl_option nl_bench_options[], nl_check_options[], nl_trend_options[],
    nl_rank_options[];
extern const char *const nl_ledger_verbs[]; /* check, rebuild, merge; NULL-terminated */
/* The tables of all commands, NULL-terminated. */
extern const struct nl_option *const nl_every_option[];

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

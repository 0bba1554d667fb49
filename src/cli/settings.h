/*
 * settings — what the options of a command line say.
 *
 * One struct for all commands: first what several of them share, then what one command has, under its
 * name. An option's row (cli/options.h) names the member that it sets by its offset here. Choices keep the
 * position of the word in the option's list; what such a number means is an enum of the command's own
 * header, or one of those below.
 */
#ifndef NL_SETTINGS_H
#define NL_SETTINGS_H

#include "cli/options.h"

enum nl_color { NL_COLOR_AUTO, NL_COLOR_ALWAYS, NL_COLOR_NEVER };
enum nl_progress_mode { NL_PROGRESS_AUTO, NL_PROGRESS_JSON, NL_PROGRESS_NEVER };

enum nl_roof_only { NL_ROOF_ONLY_NONE, NL_ROOF_ONLY_CPU, NL_ROOF_ONLY_GPU };

/* The target of an option: a member of nl_settings. */
#define NL_SETTING(member) offsetof(struct nl_settings, member)

/* Zero (or NULL) = not given, except where said. */
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

#endif

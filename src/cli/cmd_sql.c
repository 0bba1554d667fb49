/* sql: which words are the profile and which the query, then one statement, a script or a shell. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/progress.h"
#include "cli/shell.h"
#include "findings/claims.h"

#define MAX_SCRIPT       ((size_t)64 << 20)
#define TALK_ROWS        1000 /* rows of an answer in the shell unless --limit */
#define NS_PER_MS        1000000
#define QUERY_CHARACTERS " \t\n;"

/* A query has blanks (or is a dot command); a profile is something that exists. */
static bool is_query(const char *word)
{
    return !nl_input_plausible(word) && (strpbrk(word, QUERY_CHARACTERS) || word[0] == '.');
}

/* SQL looks at the whole profile: gives the words to write instead of a window. */
static bool refuse_window(const struct nl_input_words *input, const struct nl_trace *trace,
                          const struct nl_call *call, struct nl_err *err)
{
    struct nl_window window;
    struct nl_window_words none = {0};
    if (memcmp(&input->window, &none, sizeof none) == 0)
        return true;
    if (!nl_input_window(input, trace, call, &window, err))
        return false;
    return nl_window_refuse_sql(&window, call->settings.absolute ? 0 : trace->first_ts, err);
}

static bool run_script(struct nl_shell *shell, struct nl_err *err)
{
    struct nl_buf script;
    char part[4096];
    size_t got;
    nl_buf_init(&script, MAX_SCRIPT);
    while ((got = fread(part, 1, sizeof part, stdin)) > 0)
        nl_buf_add(&script, part, got);
    bool done = script.overflow
                    ? nl_fail(err, NL_LIMIT, "standard input: over 64 MiB of SQL; run it in parts")
                : script.len
                    ? nl_shell_run(shell, script.ptr, err)
                    : nl_fail(err, NL_USAGE, "no QUERY given, and standard input is empty");
    nl_buf_release(&script);
    return done;
}

static bool ask(struct nl_shell *shell, const char *query, struct nl_err *err)
{
    const struct nl_settings *settings = &shell->call->settings;
    bool talk = !query && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !settings->output;
    struct nl_db_options options = {.absolute = settings->absolute,
                                    .time_limit_ms = settings->timeout_ns / NS_PER_MS,
                                    .row_limit = (uint64_t)settings->limit,
                                    .claims = nl_claims_new};
    if (talk && !options.row_limit)
        options.row_limit = TALK_ROWS;
    shell->db = nl_db_open(shell->trace, &options, shell->call->job, err);
    if (!shell->db)
        return false;
    bool done = true;
    if (query)
        done = nl_shell_run(shell, query, err);
    else if (talk)
        nl_shell_talk(shell);
    else
        done = run_script(shell, err);
    nl_db_close(shell->db);
    return done;
}

static bool query_trace(struct nl_input_words *input, const char *query, const struct nl_call *call,
                        struct nl_output *output, struct nl_err *err)
{
    input->background = true;
    struct nl_trace *trace = nl_input_load(input, call, err);
    if (!trace)
        return false;
    nl_input_keep(input, trace, call); /* rows are printed as they come */
    bool done = refuse_window(input, trace, call, err);
    if (done) {
        struct nl_profile *profile = nl_profile_new(trace, NULL);
        struct nl_shell shell = {
            .call = call, .output = output, .trace = trace, .profile = profile};
        done = ask(&shell, query, err);
        nl_profile_free(profile);
    }
    nl_trace_free(trace);
    return done;
}

static bool sql_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_output output;
    size_t count = (size_t)call->count;
    const char *query =
        count > 1 && is_query(call->argument[count - 1]) ? call->argument[count - 1] : NULL;
    bool done = nl_input_read(&input, call->argument, count - (query != NULL), err);
    for (size_t i = 0; done && !query && i < input.count; i++)
        if (strcmp(input.paths[i], "-") == 0)
            done = nl_fail(err, NL_USAGE, "the profile is read from standard input; give QUERY");
    if (done && nl_output_open(&output, call, input.paths, input.count, err)) {
        done = query_trace(&input, query, call, &output, err);
        done = nl_output_close(&output, call, done, err);
    } else {
        done = false;
    }
    nl_input_release(&input);
    return done;
}

static const struct nl_option sql_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows of each answer", NULL},
    {"timeout", 0, NL_OPTION_TIME, NL_SETTING(timeout_ns), "TIME",
     "stop a statement after this time, such as 30s", NULL},
    {"absolute", 0, NL_OPTION_FLAG, NL_SETTING(absolute), NULL,
     "times as recorded instead of from the first event", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_sql = {
    .name = "sql",
    .group = "Understand",
    .summary = "query a profile with SQL",
    .usage = "PROFILE… [QUERY]",
    .least = 1,
    .most = -1,
    .tables = NL_TABLES(sql_options, nl_profile_options, nl_common_options),
    .help =
        "Runs QUERY on the profile. Without QUERY it opens a shell on a terminal, and otherwise\n"
        "reads statements from standard input. The profile is read-only. `neurolens schema sql`\n"
        "lists the tables, columns and functions, as do .tables and .schema in the shell.",
    .examples = "neurolens sql trace.json.gz 'SELECT * FROM kernel_summary LIMIT 10'\n"
                "neurolens sql run.sqlite --format csv < question.sql\n"
                "neurolens sql run.sqlite                      # a shell",
    .run = sql_run,
};

/* The SQL shell: dot commands are rows of a table, the rest is SQL. */
#define _GNU_SOURCE
#include "cli/shell.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "cli/folders.h"
#include "cli/line.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/statement.h"

#define MAX_TEXT ((size_t)16 << 20)

static bool show_result(struct nl_shell *shell, const struct nl_result *result, bool sql,
                        struct nl_err *err)
{
    struct nl_output *output = shell->output;
    struct nl_view_options options = {.schema = sql ? "sql" : NULL,
                                      .matrix = sql,
                                      .every_column = sql,
                                      .width = output->width,
                                      .color = output->color};
    if (shell->answers++ && !shell->talks && strcmp(output->view->name, "json") != 0)
        fputc('\n', output->stream);
    return output->view->render_result(output->stream, shell->profile, result, &options, err);
}

static bool run_statement(struct nl_shell *shell, const char *text, struct nl_err *err)
{
    nl_job_phase(shell->call->job, "running", 0);
    struct nl_result *result = nl_db_query(shell->db, text, err);
    if (!result)
        return err->code == NL_OK;
    nl_progress_quiet(shell->call->progress);
    bool done = show_result(shell, result, true, err);
    if (result->truncated)
        nl_message_note(shell->call, "only the first %zu rows are shown; --limit sets how many",
                        result->rows);
    nl_result_free(result);
    return done;
}

/* ---- Dot commands ---- */

static bool dot_tables(struct nl_shell *shell, const char *argument, struct nl_err *err)
{
    static const struct nl_result_column columns[] = {
        {"name", "Table", NL_MEANS_TEXT},
        {"rows", "Rows", NL_MEANS_COUNT},
        {"doc", "A row is", NL_MEANS_TEXT},
    };
    struct nl_result *result = nl_result_new("tables", "Tables", columns, 3);
    (void)argument;
    for (enum nl_table_id t = 0; t < NL_TABLE_COUNT; t++) {
        struct nl_cell *cell = nl_result_row(result);
        cell[0] = nl_cell_text(result, nl_str(nl_tables[t].sql));
        cell[1] = nl_cell_i64(nl_trace_rows(shell->trace, t));
        cell[2] = nl_cell_text(result, nl_str(nl_tables[t].doc));
    }
    bool done = show_result(shell, result, false, err);
    nl_result_free(result);
    return done;
}

static void add_columns(struct nl_result *result, enum nl_table_id table)
{
    const struct nl_table_def *def = &nl_tables[table];
    for (unsigned i = def->first; i < def->first + def->count; i++) {
        struct nl_cell *cell = nl_result_row(result);
        cell[0] = nl_cell_text(result, nl_str(def->sql));
        cell[1] = nl_cell_text(result, nl_str(nl_columns[i].name));
        cell[2] = nl_cell_text(result, nl_str(nl_columns[i].unit));
        cell[3] = nl_cell_text(result, nl_str(nl_columns[i].doc));
    }
}

static bool dot_schema(struct nl_shell *shell, const char *argument, struct nl_err *err)
{
    static const struct nl_result_column columns[] = {
        {"table", "Table", NL_MEANS_TEXT},
        {"column", "Column", NL_MEANS_TEXT},
        {"unit", "Unit", NL_MEANS_TEXT},
        {"doc", "Meaning", NL_MEANS_TEXT},
    };
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, argument);
    struct nl_result *result = nl_result_new("schema", "Columns", columns, 4);
    for (enum nl_table_id t = 0; t < NL_TABLE_COUNT; t++) {
        nl_nearest_offer(&nearest, nl_tables[t].sql);
        if (!*argument || strcmp(argument, nl_tables[t].sql) == 0)
            add_columns(result, t);
    }
    bool done;
    const char *best = nl_nearest_best(&nearest);
    if (result->rows)
        done = show_result(shell, result, false, err);
    else
        done = nl_fail(err, NL_QUERY, "no table '%s'; %s%s%s", argument,
                       best ? "did you mean " : ".tables lists them", best ? best : "",
                       best ? "?" : "");
    nl_result_free(result);
    return done;
}

static bool dot_format(struct nl_shell *shell, const char *argument, struct nl_err *err)
{
    const struct nl_view *view = nl_output_view(shell->call, argument);
    if (!view)
        return nl_fail(err, NL_QUERY, ".format: there are text, json, csv and md");
    shell->output->view = view;
    return true;
}

static bool dot_quit(struct nl_shell *shell, const char *argument, struct nl_err *err)
{
    (void)argument, (void)err;
    shell->quit = true;
    return true;
}

static bool dot_help(struct nl_shell *shell, const char *argument, struct nl_err *err);

static const struct {
    const char *name, *argument, *doc;
    bool (*run)(struct nl_shell *shell, const char *argument, struct nl_err *err);
} dots[] = {
    {".tables", "", "the tables, with their rows", dot_tables},
    {".schema", "[TABLE]", "the columns of a table, or of all", dot_schema},
    {".format", "text|json|csv|md", "how answers are shown", dot_format},
    {".help", "", "this list", dot_help},
    {".quit", "", "leave (also Ctrl-D)", dot_quit},
};
#define DOTS (sizeof dots / sizeof dots[0])

static bool dot_help(struct nl_shell *shell, const char *argument, struct nl_err *err)
{
    (void)argument, (void)err;
    fprintf(shell->output->stream,
            "SQL statements end with ; and may span lines. Ctrl-C stops one.\n");
    for (size_t i = 0; i < DOTS; i++)
        fprintf(shell->output->stream, "  %s %-*s %s\n", dots[i].name,
                (int)(24 - strlen(dots[i].name)), dots[i].argument, dots[i].doc);
    fprintf(shell->output->stream, "`neurolens schema sql` explains the functions too.\n");
    return true;
}

static bool run_dot(struct nl_shell *shell, const char *text, size_t len, struct nl_err *err)
{
    char words[256];
    if (len >= sizeof words)
        return nl_fail(err, NL_QUERY, "too long for a dot command");
    memcpy(words, text, len);
    while (len && (nl_is_space(words[len - 1]) || words[len - 1] == ';'))
        len--;
    words[len] = '\0';
    size_t name_len = strcspn(words, " \t");
    const char *argument = words + name_len + strspn(words + name_len, " \t");
    words[name_len] = '\0';
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, words);
    for (size_t i = 0; i < DOTS; i++) {
        if (strcmp(dots[i].name, words) == 0)
            return dots[i].run(shell, argument, err);
        nl_nearest_offer(&nearest, dots[i].name);
    }
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(err, NL_QUERY, "no command '%s'; %s%s%s", words,
                   best ? "did you mean " : ".help lists them", best ? best : "", best ? "?" : "");
}

/* ---- Text, from wherever ---- */

bool nl_shell_run(struct nl_shell *shell, const char *text, struct nl_err *err)
{
    struct nl_arena arena;
    bool done = true;
    nl_arena_init(&arena);
    while (done && !shell->quit) {
        text += strspn(text, " \t\r\n");
        if (!*text)
            break;
        size_t len = *text == '.' ? strcspn(text, "\n") : nl_statement_length(text);
        len = len ? len : strlen(text);
        if (*text == '.')
            done = run_dot(shell, text, len, err);
        else if (!nl_statement_empty(text, len))
            done = run_statement(shell, nl_arena_text(&arena, text, len), err);
        text += len;
    }
    nl_arena_free(&arena);
    return done;
}

static size_t complete(void *context, const char *prefix, struct nl_arena *arena,
                       const char ***candidates)
{
    const struct nl_shell *shell = context;
    if (*prefix != '.')
        return nl_db_complete(shell->db, prefix, arena, candidates);
    size_t count = 0;
    *candidates = nl_arena_alloc(arena, DOTS * sizeof **candidates);
    for (size_t i = 0; i < DOTS; i++)
        if (nl_str_starts(nl_str(dots[i].name), prefix))
            (*candidates)[count++] = dots[i].name;
    return count;
}

/* Runs what was typed; a Ctrl-C during it ends the statement only. */
static void run_typed(struct nl_shell *shell, const char *text)
{
    struct nl_err err;
    nl_err_clear(&err);
    atomic_store(&shell->call->job->cancelled, false);
    atomic_store(&shell->call->job->out_of_memory, false);
    if (!nl_shell_run(shell, text, &err)) {
        nl_progress_explain(shell->call->progress, &err);
        if (err.code == NL_INTERRUPTED)
            fputs("stopped\n", stderr);
        else
            nl_message_error(&err, shell->call->settings.verbose);
    }
    fflush(shell->output->stream);
}

static void talk(struct nl_shell *shell, struct nl_line *line)
{
    struct nl_buf typed;
    char *text;
    nl_buf_init(&typed, MAX_TEXT);
    while (!shell->quit) {
        enum nl_line_what what = nl_line_read(line, typed.len ? "   ...> " : "neurolens> ", &text);
        if (what == NL_LINE_END)
            break;
        if (what == NL_LINE_CANCELLED) {
            nl_buf_clear(&typed);
            continue;
        }
        if (typed.len)
            nl_buf_char(&typed, '\n');
        nl_buf_text(&typed, text);
        nl_free(text);
        bool dot = typed.len && typed.ptr[0] == '.';
        bool blank = !typed.len || nl_statement_empty(typed.ptr, typed.len);
        if (!blank && !dot && !nl_statement_length(typed.ptr))
            continue;
        if (!blank) {
            nl_line_remember(line, typed.ptr);
            run_typed(shell, typed.ptr);
        }
        nl_buf_clear(&typed);
    }
    nl_buf_release(&typed);
}

void nl_shell_talk(struct nl_shell *shell)
{
    char *history = nl_history_file();
    struct nl_line *line = nl_line_new(history, complete, shell);
    shell->talks = true;
    nl_progress_guard(shell->call->progress, false);
    signal(SIGTERM, SIG_DFL); /* only Ctrl-C is special here */
    signal(SIGHUP, SIG_DFL);
    nl_progress_quiet(shell->call->progress);
    if (!shell->call->settings.quiet)
        fprintf(shell->output->stream, "Type SQL ended by ; or .help\n");
    if (line)
        talk(shell, line);
    nl_line_free(line);
    nl_free(history);
}

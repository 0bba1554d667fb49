/* The C API over the rooms: each function opens what it needs, asks, and closes it, so that threads
 * share only the trace, which never changes. */
#define _GNU_SOURCE
#include <neurolens-engine.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plainlocale.h"
#include "base/pool.h"
#include "engine/arrowanswer.h"
#include "engine/callbudget.h"
#include "engine/public.h"
#include "export/export.h"
#include "findings/claims.h"
#include "ingest/ingest.h"
#include "ledger/runopen.h"
#include "timeline/window.h"
#include "view/view.h"

#define MAX_TEXT          2048
#define CACHE_BYTES       ((uint64_t)20 << 30)
#define MAX_WORDS         4 /* files named in them */
#define MAX_THREADS       1024
#define MIN_OPTIONS_BYTES offsetof(struct nlens_options, task)

struct nlens_error {
    struct nl_err err;
    char text[MAX_TEXT];
};

struct nlens_task {
    struct nl_job job;
};

/* What a profile and its windows share. */
struct opened {
    struct nl_trace *trace;
    char *first;        /* of the names it was opened as, */
    struct nl_buf rest; /* and the others as words of a shell */
    uint64_t memory_bytes;
    unsigned threads;
    atomic_uint holders;
};

struct nlens_profile {
    struct opened *opened;
    struct nl_buf bare,
        words; /* what it was opened as, for commands that people paste; with the window */
    struct nl_buf within;    /* the words of the window; empty = the whole profile */
    struct nl_window window; /* zeroed = the whole profile */
};

/* A call of the library: its job, with a budget, in the program's place of numbers. */
struct call {
    struct nl_job job;
    struct engine_budget budget;
    locale_t theirs;
    struct nl_err err;
};

NL_PUBLIC const char *nlens_version(void)
{
    return NL_VERSION;
}

/* ---- errors ---- */

static void give_error(struct nlens_error **error, const struct nl_err *err)
{
    if (!error)
        return;
    struct nl_buf text;
    struct nlens_error *made = nl_zalloc(sizeof *made);
    made->err = *err;
    nl_buf_init(&text, sizeof made->text - 1);
    if (err->file[0])
        nl_buf_format(&text, "%s: ", err->file);
    if (err->offset >= 0)
        nl_buf_format(&text, "at byte %" PRId64 ": ", err->offset);
    nl_buf_text(&text, err->text[0] ? err->text : "failed without a reason");
    snprintf(made->text, sizeof made->text, "%s", text.ptr);
    nl_buf_release(&text);
    *error = made;
}

NL_PUBLIC const char *nlens_error_text(const struct nlens_error *error)
{
    return error->text;
}

NL_PUBLIC int nlens_error_status(const struct nlens_error *error)
{
    return nl_err_exit_status(error->err.code);
}

NL_PUBLIC const char *nlens_error_name(const struct nlens_error *error)
{
    return nl_err_name(error->err.code);
}

NL_PUBLIC const char *nlens_error_file(const struct nlens_error *error)
{
    return error->err.file;
}

NL_PUBLIC int64_t nlens_error_offset(const struct nlens_error *error)
{
    return error->err.offset;
}

NL_PUBLIC void nlens_error_free(struct nlens_error *error)
{
    nl_free(error);
}

/* ---- tasks ---- */

NL_PUBLIC struct nlens_task *nlens_task_new(void)
{
    return nl_zalloc(sizeof(struct nlens_task));
}

NL_PUBLIC void nlens_task_cancel(struct nlens_task *task)
{
    atomic_store(&task->job.cancelled, true);
}

NL_PUBLIC void nlens_task_free(struct nlens_task *task)
{
    nl_free(task);
}

/* A call has a separate job, cancelled with the caller's task. */
static void begin_call(struct call *call, const struct opened *opened, struct nlens_task *task)
{
    const char *sandbox = getenv("NEUROLENS_SANDBOX"); /* as the command reads it */
    call->job =
        (struct nl_job){.sandbox = sandbox && strcmp(sandbox, "off") == 0   ? NL_SANDBOX_NEVER
                                   : sandbox && strcmp(sandbox, "all") == 0 ? NL_SANDBOX_ALL
                                                                            : NL_SANDBOX_RISKY,
                        .threads = opened->threads,
                        .memory_bytes = opened->memory_bytes,
                        .parent = task ? &task->job : NULL};
    nl_err_clear(&call->err);
    call->theirs = nl_locale_enter();
    engine_budget_begin(&call->budget, &call->job);
}

/* Gives what the call failed with to the program; `done` back. */
static bool end(struct call *call, bool done, struct nlens_error **error)
{
    engine_budget_end(&call->budget, done ? NULL : &call->err);
    nl_locale_leave(call->theirs);
    if (!done)
        give_error(error, &call->err);
    return done;
}

/* ---- profiles ---- */

static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* Foreign texts must not be able to choose which of them collide. */
static void prepare(void)
{
    nl_hash_choose_key();
}

/* The words of a shell for the files: the first, with a window where there is one, and the rest. */
static void keep_words(struct nl_buf *words, const struct opened *opened, const char *within)
{
    struct nl_buf first;
    nl_buf_init(&first, SIZE_MAX);
    nl_buf_text(&first, opened->first);
    if (within[0])
        nl_buf_format(&first, "[%s]", within);
    nl_buf_init(words, SIZE_MAX);
    nl_buf_shell_word(words, nl_str(first.ptr));
    nl_buf_text(words, opened->rest.len ? opened->rest.ptr : "");
    nl_buf_release(&first);
}

static void keep_names(struct opened *opened, const char *const *paths, size_t count)
{
    opened->first = nl_strdup(paths[0]);
    nl_buf_init(&opened->rest, SIZE_MAX);
    for (size_t i = 1; i < count && i < MAX_WORDS; i++) {
        nl_buf_text(&opened->rest, " ");
        nl_buf_shell_word(&opened->rest, nl_str(paths[i]));
    }
    nl_buf_text(&opened->rest, count > MAX_WORDS ? " …" : "");
}

static bool read_options(struct nlens_options *to, const struct nlens_options *given)
{
    *to = (struct nlens_options){0};
    if (given && given->size < MIN_OPTIONS_BYTES)
        return false;
    if (given)
        memcpy(to, given, given->size < sizeof *to ? given->size : sizeof *to);
    return true;
}

/* A run of the ledger, where the program named one and the word is no file. */
static struct nl_trace *load_trace(const char *const *paths, size_t count,
                                   const struct nlens_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    struct nl_ingest_options ingest = {.cache_folder = options->cache,
                                       .cache_bytes = options->cache ? CACHE_BYTES : 0,
                                       .rank = NL_NULL_I64,
                                       .verify = true};
    if (count != 1 || !options->ledger || access(paths[0], F_OK) == 0 ||
        !nl_ledger_may_name(paths[0]))
        return nl_ingest(paths, count, &ingest, job, err);
    struct nl_open_options open = {ingest.cache_folder, ingest.cache_bytes};
    struct nl_ledger_run run;
    struct nl_ledger *ledger = nl_ledger_open(options->ledger, NL_LEDGER_READ, err);
    struct nl_trace *trace = ledger && nl_ledger_find(ledger, paths[0], false, &run, err)
                                 ? nl_ledger_trace(ledger, &run, &open, job, err)
                                 : NULL;
    nl_ledger_close(ledger);
    return trace;
}

static bool are_usable(const struct nlens_options *options, bool sized, const char *const *paths,
                       size_t count, struct nl_err *err)
{
    if (!sized)
        return nl_fail(err, NL_USAGE,
                       "options.size is not set; it is sizeof(struct nlens_options)");
    if (!paths || !count)
        return nl_fail(err, NL_USAGE, "name at least one file");
    for (size_t i = 0; i < count && count > 1; i++)
        if (paths[i][0] == '@' && options->ledger && access(paths[i], F_OK) != 0)
            return nl_fail(err, NL_USAGE,
                           "%s: a run of the ledger is a profile of its own; name one at a time",
                           paths[i]);
    return true;
}

NL_PUBLIC struct nlens_profile *nlens_open(const char *const *paths, size_t count,
                                           const struct nlens_options *given,
                                           struct nlens_error **error)
{
    struct nlens_options options;
    struct call call;
    pthread_once(&prepared, prepare);
    nl_err_clear(&call.err);
    bool sized = read_options(&options, given);
    if (!are_usable(&options, sized, paths, count, &call.err)) {
        give_error(error, &call.err);
        return NULL;
    }
    struct opened *opened = nl_zalloc(sizeof *opened);
    opened->memory_bytes = options.memory_bytes ? options.memory_bytes : nl_memory_available() / 2;
    opened->threads =
        options.threads && options.threads <= MAX_THREADS ? options.threads : nl_processors();
    atomic_init(&opened->holders, 1);
    begin_call(&call, opened, options.task);
    opened->trace = load_trace(paths, count, &options, &call.job, &call.err);
    if (!end(&call, opened->trace != NULL, error)) {
        nl_free(opened);
        return NULL;
    }
    struct nlens_profile *profile = nl_zalloc(sizeof *profile);
    profile->opened = opened;
    keep_names(opened, paths, count);
    keep_words(&profile->bare, opened, "");
    keep_words(&profile->words, opened, "");
    nl_buf_init(&profile->within, SIZE_MAX);
    return profile;
}

/* The window's words with those of the profile that it is a part of. */
static bool narrowed(struct nlens_profile *part, const struct nlens_profile *of, const char *window,
                     struct nl_err *err)
{
    struct nl_window_words words;
    struct nl_arena arena;
    nl_arena_init(&arena);
    nl_buf_text(&part->within, of->within.len ? of->within.ptr : "");
    nl_buf_text(&part->within, of->within.len ? "," : "");
    nl_buf_text(&part->within, window);
    bool done = nl_window_parse(nl_str(part->within.ptr), &words, &arena, err) &&
                nl_window_resolve(&words, of->opened->trace, false, &part->window, NULL, err);
    nl_arena_free(&arena);
    return done;
}

NL_PUBLIC struct nlens_profile *nlens_window(struct nlens_profile *profile, const char *window,
                                             struct nlens_error **error)
{
    struct nl_err err;
    struct nlens_profile *part = nl_zalloc(sizeof *part);
    nl_err_clear(&err);
    atomic_fetch_add(&profile->opened->holders, 1);
    part->opened = profile->opened;
    nl_buf_init(&part->within, SIZE_MAX);
    keep_words(&part->bare, part->opened, "");
    locale_t theirs = nl_locale_enter();
    bool done = window && window[0]
                    ? narrowed(part, profile, window, &err)
                    : nl_fail(&err, NL_USAGE, "name a window, such as \"step=10:20\"");
    nl_locale_leave(theirs);
    if (!done) {
        nlens_close(part);
        give_error(error, &err);
        return NULL;
    }
    keep_words(&part->words, part->opened, part->within.ptr);
    return part;
}

NL_PUBLIC void nlens_close(struct nlens_profile *profile)
{
    if (!profile)
        return;
    if (atomic_fetch_sub(&profile->opened->holders, 1) == 1) {
        nl_trace_free(profile->opened->trace);
        nl_free(profile->opened->first);
        nl_buf_release(&profile->opened->rest);
        nl_free(profile->opened);
    }
    nl_buf_release(&profile->bare);
    nl_buf_release(&profile->words);
    nl_buf_release(&profile->within);
    nl_free(profile);
}

/* ---- answers ---- */

static bool write_report(struct nlens_profile *profile, const struct nl_view *view,
                         const char *what, const char *section, struct nl_job *job, FILE *out,
                         struct nl_err *err)
{
    struct nl_analyze_options options = {
        .section = section, .fold = view->folds, .window = profile->window};
    struct nl_view_options shown = {
        .section = section, .brief = true, .input = profile->words.ptr, .bare = profile->bare.ptr};
    struct nl_report *report = nl_report_new(profile->opened->trace, what, &options, job, err);
    if (!report)
        return false;
    struct nl_profile *facts = nl_profile_new(profile->opened->trace, &options.window);
    bool done = view->render_report(out, facts, report, &shown, err);
    nl_profile_free(facts);
    nl_report_free(report);
    return done;
}

NL_PUBLIC char *nlens_report(struct nlens_profile *profile, const char *what, const char *section,
                             const char *format, struct nlens_task *task, size_t *length,
                             struct nlens_error **error)
{
    struct call call;
    char *text = NULL;
    size_t bytes = 0;
    nl_err_clear(&call.err);
    const struct nl_view *view = nl_view_find(format ? format : "json");
    if (!view) {
        (void)nl_fail(&call.err, NL_USAGE,
                      "no format is called '%s'; there are text, json, csv and md", format);
        give_error(error, &call.err);
        return NULL;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        nl_memory_exhausted(1);
    begin_call(&call, profile->opened, task);
    bool done =
        write_report(profile, view, what ? what : "analyze", section, &call.job, out, &call.err);
    if (fclose(out) != 0 && done)
        done = nl_fail(&call.err, NL_MEMORY, "the report does not fit into memory");
    if (!end(&call, done, error)) {
        nl_free(text);
        return NULL;
    }
    if (length)
        *length = bytes;
    return text;
}

NL_PUBLIC struct nlens_answer *nlens_sql(struct nlens_profile *profile, const char *query,
                                         struct nlens_task *task, struct nlens_error **error)
{
    struct call call;
    struct nl_db_options options = {.claims = nl_claims_new};
    struct nlens_answer *answer = nl_arrowanswer_new(profile->opened->memory_bytes / 2);
    struct nl_db_sink sink = nl_arrowanswer_sink(answer);
    const struct nl_trace *trace = profile->opened->trace;
    begin_call(&call, profile->opened, task);
    struct nl_db *db =
        profile->within.len && !nl_window_refuse_sql(&profile->window, trace->first_ts, &call.err)
            ? NULL
            : nl_db_open(trace, &options, &call.job, &call.err);
    bool done = db && nl_db_rows(db, query ? query : "", &sink, &call.err);
    nl_db_close(db);
    if (end(&call, done, error))
        return answer;
    nlens_answer_free(answer);
    return NULL;
}

static bool write_export(struct nlens_profile *profile, const struct nl_exporter *exporter,
                         const char *path, struct nl_job *job, struct nl_err *err)
{
    struct nl_export export;
    FILE *out = fopen(path, "we");
    if (!out) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_WRITE, "cannot be written: %s", strerror(errno));
    }
    nl_export_init(&export, profile->opened->trace, &profile->window, job);
    export.out = out;
    bool done = exporter->write(&export, err);
    nl_export_release(&export);
    if (fclose(out) != 0 && done) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_WRITE, "cannot be written: %s", strerror(errno));
    }
    return done;
}

NL_PUBLIC bool nlens_export(struct nlens_profile *profile, const char *format, const char *path,
                            struct nlens_task *task, struct nlens_error **error)
{
    struct call call;
    const char *name = format ? format : "";
    const struct nl_exporter *exporter = nl_exporter_find(name);
    bool done = false;
    begin_call(&call, profile->opened, task);
    if (!path)
        (void)nl_fail(&call.err, NL_USAGE, "name the file to write");
    else if (!exporter || exporter->shape != NL_EXPORT_FILE)
        (void)nl_fail(
            &call.err, NL_USAGE,
            "no format that is one file is called '%s'; `neurolens export --help` lists them",
            name);
    else
        done = write_export(profile, exporter, path, &call.job, &call.err);
    return end(&call, done, error);
}

NL_PUBLIC void nlens_free(void *memory)
{
    nl_free(memory);
}

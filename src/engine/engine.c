/* The C API over the rooms: each function opens what it needs, asks, and closes it, so that threads share only the trace, which
 * nobody changes. */
#define _GNU_SOURCE
#include <neurolens-engine.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plainlocale.h"
#include "base/pool.h"
#include "engine/arrowanswer.h"
#include "engine/public.h"
#include "export/export.h"
#include "findings/claims.h"
#include "ingest/ingest.h"
#include "view/view.h"

#define MOST_TEXT        2048
#define CACHE_BYTES      ((uint64_t)20 << 30)
#define MOST_WORDS       4 /* files named in them */
#define MOST_THREADS     1024
#define OPTIONS_AT_LEAST offsetof(struct nlens_options, task)

struct nlens_error {
    struct nl_err err;
    char text[MOST_TEXT];
};

struct nlens_task {
    struct nl_job job;
};

struct nlens_profile {
    struct nl_trace *trace;
    struct nl_buf words; /* what it was opened as, for commands that people paste */
    uint64_t memory_bytes;
    unsigned threads;
};

NL_PUBLIC const char *nlens_version(void)
{
    return NL_VERSION;
}

/* ---- errors ---- */

static void tell(struct nlens_error **error, const struct nl_err *err)
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

/* A call's own job, cancelled with the caller's task. */
static struct nl_job call_job(const struct nlens_profile *profile, struct nlens_task *task)
{
    const char *apart = getenv("NEUROLENS_SANDBOX"); /* as the command reads it */
    return (struct nl_job){.apart = apart && strcmp(apart, "off") == 0   ? NL_APART_NEVER
                                    : apart && strcmp(apart, "all") == 0 ? NL_APART_ALL
                                                                         : NL_APART_RISKY,
                           .threads = profile->threads,
                           .memory_bytes = profile->memory_bytes,
                           .parent = task ? &task->job : NULL};
}

/* ---- profiles ---- */

static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* Foreign texts must not be able to choose which of them collide. */
static void prepare(void)
{
    nl_hash_choose_key();
}

static void keep_words(struct nlens_profile *profile, const char *const *paths, size_t count)
{
    nl_buf_init(&profile->words, SIZE_MAX);
    for (size_t i = 0; i < count && i < MOST_WORDS; i++) {
        nl_buf_text(&profile->words, i ? " " : "");
        nl_buf_shell_word(&profile->words, nl_str(paths[i]));
    }
    nl_buf_text(&profile->words, count > MOST_WORDS ? " …" : "");
}

static bool read_options(struct nlens_options *to, const struct nlens_options *given)
{
    *to = (struct nlens_options){0};
    if (given && given->size < OPTIONS_AT_LEAST)
        return false;
    if (given)
        memcpy(to, given, given->size < sizeof *to ? given->size : sizeof *to);
    return true;
}

NL_PUBLIC struct nlens_profile *nlens_open(const char *const *paths, size_t count,
                                           const struct nlens_options *given,
                                           struct nlens_error **error)
{
    struct nlens_options options;
    struct nl_err err;
    pthread_once(&prepared, prepare);
    nl_err_clear(&err);
    bool sized = read_options(&options, given);
    if (!sized || !paths || !count) {
        (void)nl_fail(&err, NL_USAGE,
                      sized ? "name at least one file"
                            : "options.size is not set; it is sizeof(struct nlens_options)");
        tell(error, &err);
        return NULL;
    }
    struct nlens_profile *profile = nl_zalloc(sizeof *profile);
    profile->memory_bytes = options.memory_bytes ? options.memory_bytes : nl_memory_available() / 2;
    profile->threads =
        options.threads && options.threads <= MOST_THREADS ? options.threads : nl_processors();
    locale_t theirs = nl_locale_enter();
    struct nl_job job = call_job(profile, options.task);
    struct nl_ingest_options ingest = {.cache_folder = options.cache,
                                       .cache_bytes = options.cache ? CACHE_BYTES : 0,
                                       .rank = NL_NULL_I64,
                                       .verify = true};
    profile->trace = nl_ingest(paths, count, &ingest, &job, &err);
    nl_locale_leave(theirs);
    if (profile->trace) {
        keep_words(profile, paths, count);
        return profile;
    }
    nl_free(profile);
    tell(error, &err);
    return NULL;
}

NL_PUBLIC void nlens_close(struct nlens_profile *profile)
{
    if (!profile)
        return;
    nl_trace_free(profile->trace);
    nl_buf_release(&profile->words);
    nl_free(profile);
}

/* ---- answers ---- */

static bool write_report(struct nlens_profile *profile, const struct nl_view *view,
                         const char *what, const char *section, struct nl_job *job, FILE *out,
                         struct nl_err *err)
{
    struct nl_analyze_options options = {.section = section, .fold = view->folds};
    struct nl_view_options shown = {
        .section = section, .input = profile->words.ptr, .bare = profile->words.ptr};
    struct nl_report *report = nl_report_new(profile->trace, what, &options, job, err);
    if (!report)
        return false;
    struct nl_profile *facts = nl_profile_new(profile->trace, &options.window);
    bool done = view->render_report(out, facts, report, &shown, err);
    nl_profile_free(facts);
    nl_report_free(report);
    return done;
}

NL_PUBLIC char *nlens_report(struct nlens_profile *profile, const char *what, const char *section,
                             const char *format, struct nlens_task *task, size_t *length,
                             struct nlens_error **error)
{
    struct nl_err err;
    char *text = NULL;
    size_t bytes = 0;
    nl_err_clear(&err);
    const struct nl_view *view = nl_view_find(format ? format : "json");
    if (!view) {
        (void)nl_fail(&err, NL_USAGE, "no format is called '%s'; there are text, json, csv and md",
                      format);
        tell(error, &err);
        return NULL;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        nl_memory_exhausted(1);
    struct nl_job job = call_job(profile, task);
    locale_t theirs = nl_locale_enter();
    bool done = write_report(profile, view, what ? what : "analyze", section, &job, out, &err);
    nl_locale_leave(theirs);
    if (fclose(out) != 0 && done)
        done = nl_fail(&err, NL_MEMORY, "the report does not fit into memory");
    if (!done) {
        nl_free(text);
        tell(error, &err);
        return NULL;
    }
    if (length)
        *length = bytes;
    return text;
}

NL_PUBLIC struct nlens_answer *nlens_sql(struct nlens_profile *profile, const char *query,
                                         struct nlens_task *task, struct nlens_error **error)
{
    struct nl_err err;
    struct nl_db_options options = {.claims = nl_claims_new};
    struct nl_job job = call_job(profile, task);
    nl_err_clear(&err);
    struct nlens_answer *answer = nl_answer_new(profile->memory_bytes / 2);
    struct nl_db_sink sink = nl_answer_sink(answer);
    locale_t theirs = nl_locale_enter();
    struct nl_db *db = nl_db_open(profile->trace, &options, &job, &err);
    bool done = db && nl_db_rows(db, query ? query : "", &sink, &err);
    nl_db_close(db);
    nl_locale_leave(theirs);
    if (done)
        return answer;
    nlens_answer_free(answer);
    tell(error, &err);
    return NULL;
}

static bool write_export(struct nlens_profile *profile, const struct nl_exporter *exporter,
                         const char *path, struct nl_job *job, struct nl_err *err)
{
    struct nl_window everything = {0};
    struct nl_export export;
    FILE *out = fopen(path, "we");
    if (!out) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_WRITE, "cannot be written: %s", strerror(errno));
    }
    nl_export_init(&export, profile->trace, &everything, job);
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
    struct nl_err err;
    struct nl_job job = call_job(profile, task);
    nl_err_clear(&err);
    const char *name = format ? format : "";
    const struct nl_exporter *exporter = nl_exporter_find(name);
    bool done = false;
    locale_t theirs = nl_locale_enter();
    if (!path)
        (void)nl_fail(&err, NL_USAGE, "name the file to write");
    else if (!exporter || exporter->shape != NL_EXPORT_FILE)
        (void)nl_fail(
            &err, NL_USAGE,
            "no format that is one file is called '%s'; `neurolens export --help` lists them",
            name);
    else
        done = write_export(profile, exporter, path, &job, &err);
    nl_locale_leave(theirs);
    if (!done)
        tell(error, &err);
    return done;
}

NL_PUBLIC void nlens_free(void *memory)
{
    nl_free(memory);
}

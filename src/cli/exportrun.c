/* export --to run.json: the document of a run, made or, where it is there already, handed on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stream.h"
#include "base/units.h"
#include "base/mem.h"
#include "cli/exportrun.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/record/runsources.h"
#include "cli/settingwords.h"

struct export_call {
    const struct nl_call *call;
    struct nl_input_words *input;
    const struct nl_trace *trace;
    FILE *out;
};

/* ---- options ---- */

static bool read_events(const struct nl_export_options *own, uint64_t *limit, struct nl_err *err)
{
    int64_t number;
    *limit = 0;
    if (!own->events)
        return true;
    if (strcmp(own->events, "all") == 0) {
        *limit = UINT64_MAX;
        return true;
    }
    if (!nl_parse_i64(nl_str(own->events), &number) || number < 1)
        return nl_fail(err, NL_USAGE, "--events: '%s' is not a number over 0 nor all", own->events);
    *limit = (uint64_t)number;
    return true;
}

/* ---- run.json ---- */

static bool write_run(const struct export_call *export, const struct nl_run_sources *sources,
                      struct nl_err *err)
{
    const struct nl_export_options *own = nl_export_own(export->call);
    struct nl_rundoc_options options = {
        .sources = sources->items, .source_count = sources->count, .setting_count = own->set.count};
    struct nl_rundoc_setting *facts;
    struct nl_arena arena;
    struct nl_buf text;
    nl_arena_init(&arena);
    nl_buf_init(&text, export->call->job->memory_bytes);
    nl_job_phase(export->call->job, "writing", 0);
    bool done = read_events(own, &options.event_limit, err) &&
                nl_setting_words(&own->set, &facts, &arena, err);
    options.settings = done ? facts : NULL;
    done = done && nl_rundoc_write(export->trace, &options, export->call->job, &text, err);
    nl_progress_quiet(export->call->progress);
    if (done)
        fwrite(text.ptr, 1, text.len, export->out);
    nl_buf_release(&text);
    nl_arena_free(&arena);
    return done;
}

/* A document is handed on as it is: the run that it is of, with the id that it has. One that is not
 * valid is a profile like others, of which is written what can be read. */
static bool read_document(const struct nl_input_words *input, struct nl_buf *text, bool *valid,
                          struct nl_err *err)
{
    struct nl_rundoc_faults faults;
    const char *path = input->paths[0];
    *valid = false;
    if (input->count != 1 || strcmp(path, "-") == 0 || !nl_rundoc_recognise(path))
        return true;
    struct nl_err damage;
    nl_err_clear(&damage);
    if (!nl_stream_read_all(text, path, &damage)) {
        if (damage.code == NL_FORMAT)
            return true;
        *err = damage;
        return false;
    }
    *valid = nl_rundoc_check(text->ptr ? text->ptr : "", text->len, &faults);
    nl_rundoc_faults_release(&faults);
    return true;
}

/* A run of the ledger has its document, and a document is one. */
static bool export_stored(const struct export_call *export, bool *stored, struct nl_err *err)
{
    const struct nl_export_options *own = nl_export_own(export->call);
    struct nl_buf text;
    nl_buf_init(&text, export->call->job->memory_bytes);
    bool done = nl_input_document(export->input, export->call, &text, stored, err);
    if (done && !*stored)
        done = read_document(export->input, &text, stored, err);
    if (done && *stored && (own->events || own->set.count))
        done = nl_fail(err, NL_USAGE,
                       "a run document is written as it is; leave --events and --set out, or set "
                       "facts with `add --set`");
    if (done && *stored)
        fwrite(text.ptr, 1, text.len, export->out);
    nl_buf_release(&text);
    return done;
}

/* Joined reports are files of the run like the others. */
static bool export_run(const struct export_call *export, struct nl_err *err)
{
    struct nl_run_sources sources;
    const struct nl_texts *join = &export->call->settings.join;
    size_t count = export->input->count;
    const char **paths = nl_alloc((count + join->count) * sizeof *paths);
    memcpy(paths, export->input->paths, count * sizeof *paths);
    for (size_t i = 0; i < join->count; i++)
        paths[count++] = join->items[i];
    bool done =
        nl_run_sources_find(&sources, paths, count, export->trace, export->call->job, err) &&
        write_run(export, &sources, err);
    nl_run_sources_release(&sources);
    nl_free(paths);
    return done;
}

bool nl_export_run_options(const struct nl_export_options *own, struct nl_err *err)
{
    struct nl_rundoc_setting *facts;
    struct nl_arena arena;
    uint64_t limit;
    nl_arena_init(&arena);
    bool good = read_events(own, &limit, err) && nl_setting_words(&own->set, &facts, &arena, err);
    nl_arena_free(&arena);
    return good;
}

static bool no_window(const struct nl_input_words *input, struct nl_err *err)
{
    struct nl_window_words none = {0};
    if (memcmp(&input->window, &none, sizeof none) == 0)
        return true;
    return nl_fail(err, NL_USAGE,
                   "a run document is about the whole profile; leave the window out");
}

bool nl_export_run(const struct nl_call *call, struct nl_input_words *input, FILE *out,
                   struct nl_err *err)
{
    struct export_call export = {.call = call, .input = input, .out = out};
    bool stored = false;
    if (!no_window(input, err) || !export_stored(&export, &stored, err))
        return false;
    if (stored)
        return true;
    struct nl_trace *trace = nl_input_load(input, call, err);
    export.trace = trace;
    bool done = trace && export_run(&export, err);
    if (trace)
        nl_trace_free(trace);
    return done;
}

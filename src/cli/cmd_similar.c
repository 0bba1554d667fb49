/* similar: the fingerprint of a profile compared with those of the ledger's runs. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/folders.h"
#include "cli/input.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "fingerprint/similar.h"
#include "ingest/cache.h"
#include "ledger/runlist.h"
#include "ledger/runopen.h"
#include "ledger/runfingerprint.h"

struct similar_options {
    bool update;
};

static const struct similar_options *similar_own(const struct nl_call *call)
{
    return call->own;
}

#define USUAL_RUNS 10

static const struct nl_option similar_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "the N nearest runs (default 10)",
     NULL},
    {"update", 0, NL_OPTION_FLAG, NL_OWN(similar_options, update), NULL,
     "first compute missing fingerprints", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every run", NULL},
    NL_OPTIONS_END,
};

struct nearest {
    struct nl_ledger_run run;
    struct nl_likeness likeness;
};

struct similar {
    struct nl_call *call;
    struct nl_ledger *ledger;
    struct nl_input_words input;
    struct nl_ledger_run self; /* what PROFILE names, when that is a run */
    bool is_run;
    struct nl_ledger_fingerprint print; /* of PROFILE */
    struct nl_fingerprint_view view, other;
    struct nl_fingerprint_texts texts;
    struct nearest *nearest; /* the best so far, best first */
    size_t count, cap, wanted;
    struct nl_similar_count counts;
    struct nl_similar_run *runs; /* the nearest as they are shown */
    size_t shown;
    struct nl_arena arena;
};

/* ---- the profile ---- */

static bool make_print(struct similar *s, struct nl_err *err)
{
    struct nl_window window;
    struct nl_trace *trace = nl_input_load(&s->input, s->call, err);
    bool done = trace && nl_input_window(&s->input, trace, s->call, &window, err);
    struct nl_runfingerprint *made =
        done ? nl_runfingerprint_new(trace, &window, s->call->job, err) : NULL;
    if (made)
        nl_fingerprint_pack(made, &s->print.items, &s->print.names);
    nl_runfingerprint_free(made);
    if (trace)
        nl_trace_free(trace);
    return made != NULL;
}

/* Asked for as it was added, without a window and without reports? */
static bool is_plain(const struct similar *s)
{
    const struct nl_window_words *window = &s->input.window;
    return s->is_run && !s->call->settings.join.count &&
           !(window->has_time || window->has_steps || window->has_rank || window->has_device ||
             window->nvtx);
}

/* False when it has none or a damaged one. */
static bool read_print(const struct nl_ledger_fingerprint *print, struct nl_fingerprint_view *view,
                       struct nl_fingerprint_texts *texts, struct nl_arena *arena)
{
    struct nl_str items = {print->items.ptr, print->items.len};
    struct nl_str names = {print->names.ptr, print->names.len};
    return nl_fingerprint_unpack(view, items) && nl_fingerprint_texts(texts, view, names, arena);
}

/* A run's own is taken as it is kept; one that is missing or damaged is made of its trace. */
static bool take_print(struct similar *s, struct nl_err *err)
{
    if (is_plain(s) && !nl_ledger_fingerprint_get(s->ledger, s->self.run, NL_FINGERPRINT_FORM,
                                                  &s->print.items, &s->print.names, err))
        return false;
    if (read_print(&s->print, &s->view, &s->texts, &s->arena))
        return true;
    nl_buf_clear(&s->print.items);
    nl_buf_clear(&s->print.names);
    return make_print(s, err) &&
           (read_print(&s->print, &s->view, &s->texts, &s->arena) ||
            nl_fail(err, NL_LIMIT, "the profile's fingerprint is too large to be compared"));
}

/* ---- the runs ---- */

static void keep_nearest(struct similar *s, const struct nl_ledger_run *run,
                         const struct nl_likeness *like)
{
    size_t at = s->count;
    while (at > 0 && s->nearest[at - 1].likeness.similarity < like->similarity)
        at--;
    if (at >= s->wanted)
        return;
    nl_grow(&s->nearest, &s->cap, s->count + 1);
    size_t moved = (s->count < s->wanted ? s->count : s->wanted - 1) - at;
    memmove(&s->nearest[at + 1], &s->nearest[at], moved * sizeof *s->nearest);
    s->nearest[at] = (struct nearest){*run, *like};
    s->count += s->count < s->wanted;
}

static bool see(void *context, const struct nl_ledger_fingerprint_row *row, struct nl_err *err)
{
    struct similar *s = context;
    if (nl_job_cancelled(s->call->job))
        return nl_fail(err, NL_INTERRUPTED, "stopped on request");
    if (s->is_run && row->run->run == s->self.run) {
        s->counts.itself = true;
        return true;
    }
    if (!row->items.len) {
        s->counts.without++;
        return true;
    }
    if (!nl_fingerprint_unpack(&s->other, row->items)) {
        s->counts.damaged++;
        return true;
    }
    struct nl_likeness like = nl_likeness_of(&s->view, &s->other);
    if (isnan(like.similarity)) {
        s->counts.apart++;
        return true;
    }
    s->counts.compared++;
    keep_nearest(s, row->run, &like);
    return true;
}

/* ---- --update ---- */

struct missing {
    struct nl_ledger *ledger;
    struct nl_fingerprint_view view;
    struct nl_ledger_run *runs;
    size_t count, cap;
};

/* Its names are read, too: a run whose names are damaged cannot be shown. */
static bool see_missing(void *context, const struct nl_ledger_fingerprint_row *row,
                        struct nl_err *err)
{
    struct missing *missing = context;
    struct nl_ledger_fingerprint print;
    struct nl_fingerprint_texts texts;
    struct nl_arena arena;
    nl_ledger_fingerprint_init(&print, NL_FINGERPRINT_FORM);
    nl_arena_init(&arena);
    bool done = nl_ledger_fingerprint_get(missing->ledger, row->run->run, NL_FINGERPRINT_FORM,
                                          &print.items, &print.names, err);
    if (done && !read_print(&print, &missing->view, &texts, &arena)) {
        nl_grow(&missing->runs, &missing->cap, missing->count + 1);
        missing->runs[missing->count++] = *row->run;
    }
    nl_arena_free(&arena);
    nl_ledger_fingerprint_release(&print);
    return done;
}

/* One run: what cannot be opened any more stays without. */
static bool update_one(struct similar *s, const struct nl_ledger_run *run, const char *cache,
                       struct nl_err *err)
{
    struct nl_open_options open = {cache, cache ? nl_cache_bound(cache) : 0};
    struct nl_ledger_fingerprint print;
    struct nl_err wrong;
    bool whole, done = true;
    nl_err_clear(&wrong);
    if (!nl_ledger_fingerprint_can(s->ledger, run->run, &whole, err))
        return false;
    struct nl_trace *trace =
        whole ? nl_ledger_trace(s->ledger, run, &open, s->call->job, &wrong) : NULL;
    if (!trace) {
        nl_message_detail(s->call, "%.8s: %s", run->id,
                          whole ? wrong.text : "its document lists only part of the events");
        return !nl_job_cancelled(s->call->job) ||
               nl_fail(err, NL_INTERRUPTED, "stopped on request");
    }
    nl_ledger_fingerprint_init(&print, NL_FINGERPRINT_FORM);
    done = nl_ledger_fingerprint_make(&print, trace, s->call->job, err) &&
           nl_ledger_fingerprint_keep(s->ledger, run->run, &print, err);
    nl_ledger_fingerprint_release(&print);
    nl_trace_free(trace);
    return done;
}

static bool update(struct similar *s, const char *const *filters, size_t count, struct nl_err *err)
{
    struct missing missing = {.ledger = s->ledger};
    char *cache =
        s->call->settings.no_cache ? NULL : nl_cache_folder(s->call->settings.ledger, err);
    bool done = (cache || s->call->settings.no_cache) &&
                nl_ledger_fingerprints(s->ledger, filters, count, NL_FINGERPRINT_FORM, see_missing,
                                       &missing, err);
    nl_job_phase(s->call->job, "making fingerprints", missing.count);
    for (size_t i = 0; done && i < missing.count; i++) {
        done = update_one(s, &missing.runs[i], cache, err);
        nl_job_add(s->call->job, 1);
    }
    nl_fingerprint_view_release(&missing.view);
    nl_free(missing.runs);
    nl_free(cache);
    return done;
}

/* ---- the answer ---- */

static const char *cell_text(struct similar *s, const struct nl_result *row, size_t column)
{
    const struct nl_cell *cell = nl_result_cell(row, 0, column);
    if (cell->type != NL_CELL_TEXT)
        return NULL;
    return nl_arena_text(&s->arena, cell->text.ptr, cell->text.len);
}

/* What `ls` says of it. */
static bool describe(struct similar *s, struct nl_similar_run *run, const char *id, bool eyes,
                     struct nl_err *err)
{
    const char *filter = nl_arena_format(&s->arena, "id=%s", id);
    struct nl_list_options options = {.filters = &filter,
                                      .filter_count = 1,
                                      .columns = "id,name,added,tags,workload.model",
                                      .short_texts = eyes};
    struct nl_result *row = nl_ledger_list(s->ledger, &options, err);
    if (!row)
        return false;
    run->id = id;
    if (row->rows) {
        run->id = cell_text(s, row, 0);
        run->name = cell_text(s, row, 1);
        run->added = cell_text(s, row, 2);
        run->tags = cell_text(s, row, 3);
        run->model = cell_text(s, row, 4);
    }
    nl_result_free(row);
    return true;
}

/* The next to be shown. One whose names are damaged is counted as such and not shown. */
static bool read_run(struct similar *s, const struct nearest *nearest, bool eyes,
                     struct nl_err *err)
{
    struct nl_similar_run *run = &s->runs[s->shown];
    struct nl_ledger_fingerprint print;
    nl_ledger_fingerprint_init(&print, NL_FINGERPRINT_FORM);
    bool done = nl_ledger_fingerprint_get(s->ledger, nearest->run.run, NL_FINGERPRINT_FORM,
                                          &print.items, &print.names, err);
    bool whole = done && read_print(&print, &run->view, &run->texts, &s->arena);
    nl_ledger_fingerprint_release(&print);
    if (!whole) {
        s->counts.damaged++;
        s->counts.compared--;
        return done;
    }
    s->shown++;
    run->likeness = nearest->likeness;
    return describe(s, run, nl_arena_text(&s->arena, nearest->run.id, 32), eyes, err);
}

static bool show_similar(struct similar *s, struct nl_output *output, struct nl_err *err)
{
    const char *format = output->view->name;
    bool eyes = strcmp(format, "text") == 0 || strcmp(format, "md") == 0, done = true;
    s->runs = nl_zalloc((s->count + 1) * sizeof *s->runs);
    for (size_t i = 0; done && i < s->count; i++)
        done = read_run(s, &s->nearest[i], eyes, err);
    if (!done)
        return false;
    struct nl_report *report =
        nl_similar_report(&s->view, &s->texts, s->runs, s->shown, &s->counts);
    struct nl_view_options options = {.section = strcmp(format, "csv") == 0 ? "runs" : NULL,
                                      .width = output->width,
                                      .color = output->color,
                                      .all = s->call->settings.all,
                                      .rows = s->shown > 12 ? s->shown : 12};
    nl_progress_quiet(s->call->progress);
    done = output->view->render_report(output->stream, NULL, report, &options, err);
    nl_report_free(report);
    return done;
}

static bool similar(struct similar *s, struct nl_output *output, struct nl_err *err)
{
    const char *const *filters = (const char *const *)s->call->argument + 1;
    size_t count = (size_t)s->call->count - 1;
    bool may_write = similar_own(s->call)->update;
    s->counts.filtered = count > 0;
    s->counts.updated = may_write;
    s->wanted = s->call->settings.limit > 0 ? (size_t)s->call->settings.limit : USUAL_RUNS;
    if (s->call->settings.all)
        s->wanted = SIZE_MAX;
    s->ledger = nl_ledgercall_open(s->call, may_write ? NL_LEDGER_WRITE : NL_LEDGER_READ, err);
    return s->ledger && nl_input_run(&s->input, s->call, &s->self, &s->is_run, err) &&
           (!may_write || update(s, filters, count, err)) && take_print(s, err) &&
           nl_ledger_fingerprints(s->ledger, filters, count, NL_FINGERPRINT_FORM, see, s, err) &&
           show_similar(s, output, err);
}

static void release_similar(struct similar *s)
{
    for (size_t i = 0; s->runs && i < s->count; i++)
        nl_fingerprint_view_release(&s->runs[i].view);
    nl_fingerprint_view_release(&s->view);
    nl_fingerprint_view_release(&s->other);
    nl_ledger_fingerprint_release(&s->print);
    nl_free(s->runs);
    nl_free(s->nearest);
    nl_ledger_close(s->ledger);
    nl_input_release(&s->input);
    nl_arena_free(&s->arena);
}

static bool similar_run(struct nl_call *call, struct nl_err *err)
{
    struct similar s = {.call = call};
    struct nl_output output;
    nl_arena_init(&s.arena);
    nl_ledger_fingerprint_init(&s.print, NL_FINGERPRINT_FORM);
    bool done = nl_input_read(&s.input, call->argument, 1, err) &&
                nl_output_open(&output, call, s.input.paths, s.input.count, err);
    if (done)
        done = nl_output_close(&output, call, similar(&s, &output, err), err);
    release_similar(&s);
    return done;
}

const struct nl_command nl_command_similar = {
    .name = "similar",
    .group = "Compare",
    .summary = "ledger runs most similar to a profile",
    .usage = "PROFILE [FILTER…]",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(similar_options, 0),
    .tables = NL_TABLES(similar_options, nl_profile_options, nl_common_options),
    .help =
        "Compares the fingerprint of PROFILE with those of the runs in the ledger (FILTERs select\n"
        "them, as in `ls`) and lists the nearest: similarity from 0 to 1, the share of time that "
        "it\n"
        "is based on, what matches and what differs most. If PROFILE is itself a run, it is left\n"
        "out. --update computes fingerprints for runs that an older version added.",
    .examples = "neurolens similar trace.json.gz\n"
                "neurolens similar @ tag=nightly 'added>2026-11-01'\n"
                "neurolens similar @ --limit 3 --format json",
    .run = similar_run,
};

/* add: profiles into the ledger, a line each. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/folders.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/settingwords.h"
#include "ledger/runadd.h"

struct add_options {
    bool no_trace, keep_source;
    struct nl_texts set;
};

static const struct add_options *add_own(const struct nl_call *call)
{
    return call->own;
}

static const char *const outcome_names[] = {[NL_ADD_FAILED] = "failed",
                                            [NL_ADD_ADDED] = "added",
                                            [NL_ADD_THERE] = "already there",
                                            [NL_ADD_UPDATED] = "updated"};

static void put_details(struct nl_buf *line, const struct nl_add_result *result)
{
    char bytes[NL_UNIT_TEXT];
    if (result->outcome == NL_ADD_ADDED)
        nl_buf_format(line, " (%s%s, %s)", result->trace ? "document and trace" : "document",
                      result->findings ? "" : ", not judged",
                      nl_format_bytes(bytes, result->artefact_bytes));
    if (result->outcome != NL_ADD_FAILED && result->settings)
        nl_buf_format(line, "; %zu value%s set", result->settings,
                      result->settings == 1 ? "" : "s");
    if (result->restored)
        nl_buf_text(line, "; restored from the trash");
}

/* "added 1a2b3c4d  trace.json (document and trace, 1.2 MiB)" */
static void put_lines(FILE *out, const struct nl_call *call, const struct nl_add_result *results)
{
    for (int i = 0; i < call->count; i++) {
        struct nl_buf line;
        if (results[i].outcome == NL_ADD_FAILED)
            continue;
        nl_buf_init(&line, 8192);
        nl_buf_format(&line, "%s%s %s  %s", outcome_names[results[i].outcome],
                      results[i].outcome == NL_ADD_THERE ? " as" : "", results[i].short_id,
                      call->argument[i]);
        put_details(&line, &results[i]);
        fprintf(out, "%s\n", line.ptr);
        nl_buf_release(&line);
    }
}

static struct nl_result *as_table(const struct nl_call *call, const struct nl_add_result *results)
{
    static const struct nl_result_column columns[] = {{"profile", "Profile", NL_MEANS_TEXT},
                                                      {"outcome", "Outcome", NL_MEANS_TEXT},
                                                      {"id", "Run", NL_MEANS_TEXT},
                                                      {"settings", "Set", NL_MEANS_COUNT},
                                                      {"restored", "Restored", NL_MEANS_COUNT},
                                                      {"kept_bytes", "Kept", NL_MEANS_BYTES},
                                                      {"error", "Error", NL_MEANS_TEXT}};
    struct nl_result *table =
        nl_result_new("add", "Added", columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < call->count; i++) {
        const struct nl_add_result *result = &results[i];
        bool failed = result->outcome == NL_ADD_FAILED;
        struct nl_cell *cell = nl_result_row(table);
        cell[0] = nl_cell_text(table, nl_str(call->argument[i]));
        cell[1] = nl_cell_text(table, nl_str(outcome_names[result->outcome]));
        if (failed) {
            cell[6] = nl_cell_text(table, nl_str(result->err.text));
            continue;
        }
        cell[2] = nl_cell_text(table, nl_str(result->id));
        cell[3] = nl_cell_i64((int64_t)result->settings);
        cell[4] = nl_cell_i64(result->restored);
        cell[5] = nl_cell_i64((int64_t)result->artefact_bytes);
    }
    return table;
}

/* Failures go to stderr; the first one is the exit status. */
static bool report_results(struct nl_call *call, const struct nl_add_result *results,
                           struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, (const char *const *)call->argument, (size_t)call->count,
                        err))
        return false;
    bool done = true;
    if (strcmp(output.view->name, "text") == 0) {
        put_lines(output.stream, call, results);
    } else {
        struct nl_result *table = as_table(call, results);
        struct nl_view_options options = {0};
        done = output.view->render_result(output.stream, NULL, table, &options, err);
        nl_result_free(table);
    }
    if (!nl_output_close(&output, call, done, err))
        return false;
    for (int i = 0; i < call->count; i++) {
        if (results[i].outcome != NL_ADD_FAILED || results[i].err.code == NL_INTERRUPTED)
            continue;
        nl_message_error(&results[i].err, call->settings.verbose);
        if (!call->status)
            call->status = nl_err_exit_status(results[i].err.code);
    }
    return true;
}

/* What was added until then stays. */
static void tell_interruption(const struct nl_call *call, const struct nl_add_result *results)
{
    int left = 0;
    for (int i = 0; i < call->count; i++)
        left += results[i].outcome == NL_ADD_FAILED;
    nl_message_note(call, "stopped; %d of %d were not added", left, call->count);
}

static bool add_profiles(struct nl_call *call, const char *folder, const char *cache,
                         const struct nl_rundoc_setting *settings, struct nl_err *err)
{
    struct nl_add_options options = {.settings = settings,
                                     .setting_count = add_own(call)->set.count,
                                     .no_trace = add_own(call)->no_trace,
                                     .keep_source = add_own(call)->keep_source,
                                     .cache_folder = call->settings.no_cache ? NULL : cache,
                                     .cache_bytes = nl_cache_bound(cache),
                                     .rank = call->settings.rank,
                                     .join = call->settings.join.items,
                                     .join_count = call->settings.join.count,
                                     .command = call->line};
    struct nl_add_result *results = nl_zalloc((size_t)call->count * sizeof *results);
    bool done = nl_ledger_add(folder, (const char *const *)call->argument, (size_t)call->count,
                              &options, results, call->job, err);
    nl_progress_quiet(call->progress);
    if (done) {
        done = report_results(call, results, err);
    } else if (err->code == NL_INTERRUPTED) {
        struct nl_err ignored;
        nl_err_clear(&ignored);
        (void)report_results(call, results, &ignored);
        tell_interruption(call, results);
    }
    nl_free(results);
    return done;
}

static bool add_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_rundoc_setting *settings;
    struct nl_arena arena;
    char *folder = NULL, *cache = NULL;
    nl_arena_init(&arena);
    bool done = nl_setting_words(&add_own(call)->set, &settings, &arena, err) &&
                (folder = nl_ledger_folder(call->settings.ledger, err)) &&
                (cache = nl_cache_folder(call->settings.ledger, err)) &&
                add_profiles(call, folder, cache, settings, err);
    nl_free(folder);
    nl_free(cache);
    nl_arena_free(&arena);
    return done;
}

static const struct nl_option add_options[] = {
    {"set", 0, NL_OPTION_LIST, NL_OWN(add_options, set), "KEY=VALUE",
     "metadata of the runs, such as batch_size=32 (repeatable)", NULL},
    {"no-trace", 0, NL_OPTION_FLAG, NL_OWN(add_options, no_trace), NULL,
     "keep the document and its numbers, not the events", NULL},
    {"keep-source", 0, NL_OPTION_FLAG, NL_OWN(add_options, keep_source), NULL,
     "keep the source files, too", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_add = {
    .name = "add",
    .group = "Ledger",
    .summary = "add profiles to the ledger as runs",
    .usage = "PROFILE…",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(add_options, 0),
    .tables = NL_TABLES(add_options, nl_profile_options, nl_common_options),
    .help = "Adds every PROFILE as a run: its document (run.json), events, metrics, steps, "
            "operators and\n"
            "findings. A folder or a quoted pattern is one multi-rank run. Identical content is "
            "added\n"
            "only once. Metadata comes from the file; --set overrides it, and neurolens.yaml "
            "beside the\n"
            "file supplies what is still missing. A run.json is validated and stored unchanged. "
            "The new\n"
            "run is then @, wherever a PROFILE is expected.",
    .examples = "neurolens add trace.json.gz\n"
                "neurolens add night/*.json.gz --set model=llama-7b # a run each\n"
                "neurolens add 'ranks/*.json.gz'                            # one run\n"
                "neurolens analyze @",
    .run = add_run,
};

/* export: load the profile, write it in the format that --to names, list what that cannot hold. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/exportrun.h"
#include "cli/message.h"
#include "cli/outfolder.h"
#include "cli/output.h"
#include "cli/cmd_report.h"
#include "cli/progress.h"
#include "export/absent.h"
#include "export/export.h"

#define RUN_DOCUMENT "run.json"
#define PAGE         "html" /* what `report -o F.html` writes */

/* Names that --to takes, for completion. */
static const char *const export_names[] = {RUN_DOCUMENT, PAGE,
#define NL_EXPORTER(identifier, name, ending, shape, lacks, doc) name,
#include "export/exporters.def"
#undef NL_EXPORTER
                                           NULL};

static const struct nl_option export_options[] = {
    {"to", 0, NL_OPTION_TEXT, NL_OWN(nl_export_options, to), "FORMAT",
     "output format (export --help lists them)", export_names},
    {"table", 0, NL_OPTION_TEXT, NL_OWN(nl_export_options, table), "NAME",
     "only this table, such as kernels, as one file", NULL},
    {"of", 0, NL_OPTION_TEXT, NL_OWN(nl_export_options, of), "EVENT",
     "folded, callgrind: which stacks, such as cycles, 'device time' or 'thread time'", NULL},
    {"events", 0, NL_OPTION_TEXT, NL_OWN(nl_export_options, events), "N",
     "list at most N events in the timeline, or all (default 20000)", NULL},
    {"set", 0, NL_OPTION_LIST, NL_OWN(nl_export_options, set), "KEY=VALUE",
     "metadata missing in the profile, such as batch_size=32 (repeatable)", NULL},
    NL_OPTIONS_END,
};

/* ---- which format ---- */

static bool unknown_format(const char *name, struct nl_err *err)
{
    struct nl_nearest nearest;
    char list[480] = RUN_DOCUMENT ", " PAGE;
    nl_nearest_init(&nearest, name ? name : "");
    nl_nearest_offer(&nearest, RUN_DOCUMENT);
    nl_nearest_offer(&nearest, PAGE);
    for (const struct nl_exporter *exporter = nl_exporters; exporter->name; exporter++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, ", %s", exporter->name);
        nl_nearest_offer(&nearest, exporter->name);
    }
    if (!name)
        return nl_fail(err, NL_USAGE, "--to is missing; formats are %s", list);
    const char *best = nl_nearest_best(&nearest);
    if (best)
        return nl_fail(err, NL_USAGE, "--to: unknown format '%s'; did you mean %s?", name, best);
    return nl_fail(err, NL_USAGE, "--to: unknown format '%s'; formats are %s", name, list);
}

static bool is_page(const struct nl_call *call)
{
    return strcmp(nl_export_own(call)->to, PAGE) == 0;
}

/* Options that say something about another format than the one that is written. */
static bool check_options(const struct nl_call *call, const struct nl_exporter *exporter,
                          struct nl_err *err)
{
    const struct nl_export_options *own = nl_export_own(call);
    const char *name = own->to;
    bool run = strcmp(name, RUN_DOCUMENT) == 0;
    if (call->settings.format != NL_FORMAT_TEXT &&
        !(run && call->settings.format == NL_FORMAT_JSON))
        return nl_fail(err, NL_USAGE,
                       "--format is for answers; --to alone names the format of an export: leave "
                       "--format out");
    if (own->of && strcmp(name, "folded") != 0 && strcmp(name, "callgrind") != 0)
        return nl_fail(err, NL_USAGE,
                       "--of is for --to folded and callgrind, which contain one kind of stacks");
    if (!run && (own->events || own->set.count))
        return nl_fail(err, NL_USAGE, "--events and --set are for --to run.json");
    if (!run && own->table && (!exporter || exporter->shape != NL_EXPORT_TABLES))
        return nl_fail(err, NL_USAGE,
                       "--table is for --to csv, parquet and arrow; %s has no tables to choose",
                       name);
    return true;
}

/* *exporter is NULL for run.json and html. */
static bool find_format(const struct nl_call *call, const struct nl_exporter **exporter,
                        struct nl_err *err)
{
    const struct nl_export_options *own = nl_export_own(call);
    const char *name = own->to;
    bool run = name && strcmp(name, RUN_DOCUMENT) == 0;
    *exporter = name ? nl_exporter_find(name) : NULL;
    if (!name || (!run && !*exporter && strcmp(name, PAGE) != 0))
        return unknown_format(name, err);
    if (!check_options(call, *exporter, err))
        return false;
    if (run)
        return own->table ? nl_fail(err, NL_USAGE, "--table: run.json has no tables")
                          : nl_export_run_options(own, err);
    return true;
}

/* A table alone is a file; all of them are a folder. */
static bool wants_folder(const struct nl_exporter *exporter, const struct nl_call *call)
{
    return exporter && exporter->shape == NL_EXPORT_TABLES && !nl_export_own(call)->table;
}

static bool check_output(const struct nl_exporter *exporter, const struct nl_call *call,
                         struct nl_err *err)
{
    const char *output = call->settings.output;
    if (wants_folder(exporter, call) && (!output || strcmp(output, "-") == 0))
        return nl_fail(err, NL_USAGE,
                       "%s writes a folder with a file per table: name it with -o FOLDER, or one "
                       "table with --table NAME",
                       exporter->name);
    return true;
}

/* ---- writing ---- */

static void tell_lost(const struct nl_call *call, const struct nl_exporter *exporter,
                      const struct nl_export *export)
{
    char count[NL_UNIT_TEXT];
    for (size_t i = 0; i < export->lost_count; i++)
        nl_message_note(call, "not in %s: %s %s", exporter->name,
                        nl_format_count(count, export->lost[i].count), export->lost[i].what);
}

static bool load_and_write(const struct nl_call *call, const struct nl_exporter *exporter,
                           struct nl_input_words *input, FILE *out, const char *folder,
                           struct nl_err *err)
{
    struct nl_window window;
    struct nl_export export;
    struct nl_trace *trace = nl_input_load(input, call, err);
    if (!trace)
        return false;
    bool done = nl_input_window(input, trace, call, &window, err);
    if (done) {
        nl_export_init(&export, trace, &window, call->job);
        const char *name = strrchr(input->paths[0], '/');
        export.title = name && name[1] ? name + 1 : input->paths[0];
        export.out = out;
        export.folder = folder;
        export.table = nl_export_own(call)->table;
        export.of = nl_export_own(call)->of;
        export.csv_safe = call->settings.csv_safe;
        done = exporter->write(&export, err);
        nl_progress_quiet(call->progress);
        if (done) {
            nl_export_count_absent(&export, exporter->lacks);
            tell_lost(call, exporter, &export);
        }
        nl_export_release(&export);
    }
    nl_trace_free(trace);
    return done;
}

static bool write_folder(const struct nl_call *call, const struct nl_exporter *exporter,
                         struct nl_input_words *input, struct nl_err *err)
{
    struct nl_outfolder folder;
    return nl_outfolder_open(&folder, call->settings.output, call->progress, err) &&
           nl_outfolder_close(
               &folder, load_and_write(call, exporter, input, NULL, folder.temporary, err), err);
}

/* The page does not depend on what the file is called. */
static bool write_page(const struct nl_call *call, struct nl_input_words *input, FILE *out,
                       struct nl_err *err)
{
    struct nl_call nameless = *call;
    nameless.settings.output = NULL;
    struct nl_trace *trace = nl_input_load(input, call, err);
    bool done = trace && nl_page_write(&nameless, input, trace, out, err);
    if (trace)
        nl_trace_free(trace);
    return done;
}

static bool write_file(const struct nl_call *call, const struct nl_exporter *exporter,
                       struct nl_input_words *input, struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, input->paths, input->count, err))
        return false;
    bool done = exporter        ? load_and_write(call, exporter, input, output.stream, NULL, err)
                : is_page(call) ? write_page(call, input, output.stream, err)
                                : nl_export_run(call, input, output.stream, err);
    return nl_output_close(&output, call, done, err);
}

static bool export_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    const struct nl_exporter *exporter;
    if (!find_format(call, &exporter, err) || !check_output(exporter, call, err))
        return false;
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err);
    if (done)
        done = wants_folder(exporter, call) ? write_folder(call, exporter, &input, err)
                                            : write_file(call, exporter, &input, err);
    nl_input_release(&input);
    return done;
}

const struct nl_command nl_command_export = {
    .name = "export",
    .group = "Share",
    .summary = "convert a profile to another tool's format",
    .usage = "PROFILE… --to FORMAT",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(nl_export_options, 0),
    .tables = NL_TABLES(export_options, nl_profile_options, nl_common_options),
    .help =
        "Formats:\n"
#define NL_EXPORTER(identifier, name, ending, shape, lacks, doc) "  " name ": " doc "\n"
#include "export/exporters.def"
#undef NL_EXPORTER
        "  html: the page that `report -o F.html` writes\n"
        "  run.json: the strict document of a run (`neurolens schema run`); --set adds metadata\n"
        "A window in brackets limits what is written: events that overlap it, at their whole\n"
        "length (run.json describes a whole run and takes no window). What a format cannot hold\n"
        "is counted on stderr. The output appears at once, when all of it is written.",
    .examples =
        "neurolens export trace.json.gz --to perfetto -o trace.pftrace\n"
        "neurolens export 'run.sqlite[step=10:20,rank=0]' --to perfetto -o ten.pftrace\n"
        "neurolens export 'ranks/*.json.gz' --to parquet -o tables    # a folder\n"
        "neurolens export run.sqlite --to csv --table kernels -o kernels.csv\n"
        "neurolens export run.sqlite --to folded --of 'device time' | flamegraph.pl > gpu.svg\n"
        "neurolens export run.sqlite --to run.json --set workload.batch_size=32 \\\n"
        "    --set workload.precision=bf16 -o run.json",
    .run = export_run,
};

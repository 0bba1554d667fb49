/* report: what is in a profile as a page, Markdown or JSON, by the ending of -o. */
#include <stddef.h>

#include "base/mem.h"
#include "base/spill.h"
#include "cli/kept.h"
#include "cli/output.h"
#include "cli/cmd_report.h"
#include "cli/progress.h"
#include "cli/quotedprofile.h"
#include "pages/page.h"
#include "sql/db.h"
#include "cli/site.h"

static const struct nl_option page_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table of F.md",
     NULL},
    {"template", 0, NL_OPTION_TEXT, NL_OWN(nl_report_options, template), "FILE",
     "YAML: your title, logo, front page, sections in SQL (docs/report.md)", NULL},
    {"site", 0, NL_OPTION_TEXT, NL_OWN(nl_report_options, site), "FOLDER",
     "write a page per run of the ledger, and an index, to FOLDER", NULL},
    NL_OPTIONS_END,
};

/* Reads the template and asks what it asks of the profile. */
static bool add_template(struct nl_template *template, struct nl_report *answer,
                         const struct nl_trace *trace, const struct nl_analyze_options *analyze,
                         const struct nl_call *call, struct nl_err *err)
{
    struct nl_db_options options = {.time_limit_ms = call->settings.timeout_ns / 1000000};
    if (!nl_template_open(template, nl_report_own(call)->template, err))
        return false;
    struct nl_db *db = nl_db_open(trace, &options, call->job, err);
    struct nl_template_asked asked = {db, trace, analyze, call->job};
    bool done = db && nl_template_answer(template, answer, &asked, err);
    if (db)
        nl_db_close(db);
    if (template->title)
        answer->title = nl_arena_text(&answer->arena, template->title, strlen(template->title));
    return done;
}

/* "Nightly training: trace.json.gz" */
static const char *page_title(const struct nl_template *template, const char *title,
                              struct nl_report *answer)
{
    return template && template->title
               ? nl_arena_format(&answer->arena, "%s: %s", template->title, title)
               : title;
}

static bool write_report(const struct nl_call *call, const struct nl_input_words *input,
                         const struct nl_trace *trace, struct nl_output *output, struct nl_err *err)
{
    enum nl_page_ending ending = nl_page_ending_of(call->settings.output);
    struct nl_analyze_options options = {.fold = ending != NL_ENDING_JSON};
    if (!nl_input_window(input, trace, call, &options.window, err))
        return false;
    nl_job_phase(call->job, "analyzing", 0);
    if (!nl_spill_started(call->job->spill))
        nl_expect_arrays(nl_trace_bytes(trace) / 2);
    struct nl_kept kept;
    if (!nl_kept_find(input, trace, "analyze", &options, call, &kept) &&
        !nl_kept_make(input, trace, "analyze", &options, call, &kept, err))
        return false;
    struct nl_report *answer = kept.report;
    const struct nl_profile *profile = kept.profile;
    struct nl_template template, *added = nl_report_own(call)->template ? &template : NULL;
    if (added && !add_template(added, answer, trace, &options, call, err)) {
        nl_template_release(added);
        nl_kept_release(&kept);
        return false;
    }
    char *words = nl_quoted_profile(call, false), *bare = nl_quoted_profile(call, true);
    struct nl_page page = {.kind = "analyze",
                           .title =
                               page_title(added, nl_page_title(profile, &answer->arena), answer),
                           .command = call->line,
                           .template = added,
                           .input = words,
                           .bare = call->count <= NL_MAX_QUOTED ? bare : NULL};
    struct nl_view_options view = {
        .rows = (size_t)call->settings.limit, .input = page.input, .bare = page.bare};
    nl_progress_quiet(call->progress);
    bool done = ending == NL_ENDING_MD
                    ? nl_page_markdown(output->stream, trace, profile, answer, &view, added, err)
                : ending == NL_ENDING_JSON
                    ? nl_view_json.render_report(output->stream, profile, answer, &view, err)
                    : nl_page_report(output->stream, &page, trace, profile, answer, err);
    nl_free(words);
    nl_free(bare);
    if (added)
        nl_template_release(added);
    nl_kept_release(&kept);
    return done;
}

bool nl_page_write(const struct nl_call *call, const struct nl_input_words *input,
                   const struct nl_trace *trace, FILE *out, struct nl_err *err)
{
    struct nl_output output = {.stream = out};
    return write_report(call, input, trace, &output, err);
}

static bool report_run(struct nl_call *call, struct nl_err *err)
{
    if (nl_report_own(call)->site)
        return nl_report_site(call, err);
    if (!call->settings.output)
        return nl_fail(err, NL_USAGE, "report needs an output file, such as -o report.html");
    if (nl_page_ending_of(call->settings.output) > NL_ENDING_JSON)
        return nl_fail(err, NL_USAGE, "unknown file type '%s'; use .html, .md or .json",
                       call->settings.output);
    return nl_page_call(call, write_report, err);
}

const struct nl_command nl_command_report = {
    .name = "report",
    .group = "Look",
    .summary = "write the whole answer as one HTML, Markdown or JSON file",
    .usage = "PROFILE… -o FILE",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(nl_report_options, 0),
    .tables = NL_TABLES(page_options, nl_profile_options, nl_common_options),
    .help =
        "Writes what `analyze` says to one file; the extension of -o selects the format. F.html is "
        "a\n"
        "self-contained page that needs no network: the answer, findings with evidence and the\n"
        "commands that verify it, the timeline of a typical step, flame graphs, plots of steps,\n"
        "memory and counters, and all tables, sortable and filterable; it can be printed, and has "
        "a\n"
        "dark mode. F.md is Markdown with text plots. F.json is what `analyze --format json` "
        "prints.\n"
        "With --site, every run of the ledger (@), or those that FILTERs select as in `ls`, "
        "becomes a\n"
        "page in FOLDER, with an index to sort and filter; existing pages are kept.",
    .examples =
        "neurolens report trace.json.gz -o report.html\n"
        "neurolens report 'ranks/*.json.gz' -o ranks.html      # all ranks on one page\n"
        "neurolens report 'run.sqlite[step=10:20]' -o steps.html\n"
        "neurolens report @ -o report.md                       # for an issue or a mail\n"
        "neurolens report trace.json.gz --template team.yaml -o report.html   # own sections\n"
        "neurolens report @ --site public                      # the ledger for a file host\n"
        "neurolens report tag=nightly --site public",
    .run = report_run,
};

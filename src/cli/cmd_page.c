/* report and flame: what is in a profile as a file to look at, by the ending of -o. */
#include <stddef.h>

#include "base/mem.h"
#include "base/spill.h"
#include "cli/kept.h"
#include "cli/output.h"
#include "cli/pagecall.h"
#include "cli/progress.h"
#include "cli/quotedprofile.h"
#include "report/flame.h"
#include "report/page.h"
#include "sql/db.h"

#define TARGET(member) offsetof(struct nl_settings, member)

const struct nl_option nl_page_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows in each table of F.md",
     NULL},
    {"template", 0, NL_OPTION_TEXT, TARGET(report.template), "FILE",
     "YAML: your title, logo, front page, sections in SQL (docs/report.md)", NULL},
    {"site", 0, NL_OPTION_TEXT, TARGET(report.site), "FOLDER",
     "write a page per run of the ledger, and an index, to FOLDER", NULL},
    {.name = NULL},
};

static const char *const source_names[] = {"device", "samples", "host", "waiting", "memory", NULL};

const struct nl_option nl_flame_options[] = {
    {"by", 0, NL_OPTION_TEXT, TARGET(flame.by), "WHAT",
     "device, samples, host, waiting or memory (default: the first that the profile has)",
     source_names},
    {"base", 0, NL_OPTION_TEXT, TARGET(flame.base), "PROFILE",
     "draw what changed from PROFILE to this one", NULL},
    {.name = NULL},
};

/* ---- what both do ---- */

enum ending { ENDING_HTML, ENDING_MD, ENDING_JSON, ENDING_SVG, ENDING_FOLDED, ENDING_OTHER };

static enum ending ending_of(const char *path)
{
    static const struct {
        const char *text;
        enum ending ending;
    } endings[] = {{".html", ENDING_HTML}, {".htm", ENDING_HTML}, {".md", ENDING_MD},
                   {".json", ENDING_JSON}, {".svg", ENDING_SVG},  {".folded", ENDING_FOLDED},
                   {".txt", ENDING_FOLDED}};
    size_t len = path ? strlen(path) : 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i].text);
        if (len > end && !strcmp(path + len - end, endings[i].text))
            return endings[i].ending;
    }
    return ENDING_OTHER;
}

typedef bool write_function(const struct nl_call *call, const struct nl_input_words *input,
                            const struct nl_trace *trace, struct nl_output *output,
                            struct nl_err *err);

/* Opens, loads, writes, closes. */
static bool with_profile(struct nl_call *call, write_function *write, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_output output;
    struct nl_trace *trace = NULL;
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err) &&
                nl_output_open(&output, call, input.paths, input.count, err);
    if (done) {
        trace = nl_input_load(&input, call, err);
        done = trace && write(call, &input, trace, &output, err);
        done = nl_output_close(&output, call, done, err);
    }
    if (trace)
        nl_trace_free(trace);
    nl_input_release(&input);
    return done;
}

/* ---- report ---- */

/* Reads the template and asks what it asks of the profile. */
static bool add_template(struct nl_template *template, struct nl_report *answer,
                         const struct nl_trace *trace, const struct nl_analyze_options *analyze,
                         const struct nl_call *call, struct nl_err *err)
{
    struct nl_db_options options = {.time_limit_ms = call->settings.timeout_ns / 1000000};
    if (!nl_template_open(template, call->settings.report.template, err))
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
    enum ending ending = ending_of(call->settings.output);
    struct nl_analyze_options options = {.fold = ending != ENDING_JSON};
    if (!nl_input_window(input, trace, call, &options.window, err))
        return false;
    nl_job_phase(call->job, "analyzing", 0);
    if (!nl_spill_started(call->job->spill))
        nl_expect_arrays(nl_trace_bytes(trace) / 2);
    struct nl_answer kept;
    if (!nl_kept_find(input, trace, "analyze", &options, call, &kept) &&
        !nl_kept_make(input, trace, "analyze", &options, call, &kept, err))
        return false;
    struct nl_report *answer = kept.report;
    const struct nl_profile *profile = kept.profile;
    struct nl_template template, *added = call->settings.report.template ? &template : NULL;
    if (added && !add_template(added, answer, trace, &options, call, err)) {
        nl_template_release(added);
        nl_answer_release(&kept);
        return false;
    }
    char *words = nl_quoted_profile(call, false), *bare = nl_quoted_profile(call, true);
    struct nl_page page = {.kind = "analyze",
                           .title =
                               page_title(added, nl_page_title(profile, &answer->arena), answer),
                           .command = call->line,
                           .template = added,
                           .input = words,
                           .bare = call->count <= NL_QUOTED_MOST ? bare : NULL};
    struct nl_view_options view = {
        .rows = (size_t)call->settings.limit, .input = page.input, .bare = page.bare};
    nl_progress_quiet(call->progress);
    bool done = ending == ENDING_MD
                    ? nl_page_markdown(output->stream, trace, profile, answer, &view, added, err)
                : ending == ENDING_JSON
                    ? nl_view_json.render_report(output->stream, profile, answer, &view, err)
                    : nl_page_report(output->stream, &page, trace, profile, answer, err);
    nl_free(words);
    nl_free(bare);
    if (added)
        nl_template_release(added);
    nl_answer_release(&kept);
    return done;
}

bool nl_page_write(const struct nl_call *call, const struct nl_input_words *input,
                   const struct nl_trace *trace, FILE *out, struct nl_err *err)
{
    struct nl_output output = {.stream = out};
    return write_report(call, input, trace, &output, err);
}

bool nl_cmd_page(struct nl_call *call, struct nl_err *err)
{
    if (call->settings.report.site)
        return nl_cmd_site(call, err);
    if (!call->settings.output)
        return nl_fail(err, NL_USAGE, "report needs an output file, such as -o report.html");
    if (ending_of(call->settings.output) > ENDING_JSON)
        return nl_fail(err, NL_USAGE, "unknown file type '%s'; use .html, .md or .json",
                       call->settings.output);
    return with_profile(call, write_report, err);
}

/* ---- flame ---- */

static const struct nl_flame_source *choose_source(const struct nl_call *call,
                                                   const struct nl_trace *trace, struct nl_err *err)
{
    const char *by = call->settings.flame.by;
    for (const struct nl_flame_source *source = nl_flame_sources; source->name; source++)
        if ((!by || !strcmp(by, source->name)) && source->has(trace))
            return source;
    if (!by)
        (void)nl_fail(err, NL_INCOMPARABLE,
                      "the profile has no stacks, ranges or device work to draw");
    else if (!nl_flame_source(by))
        (void)nl_fail(
            err, NL_USAGE,
            "--by: unknown kind of stack '%s'; choose device, samples, host, waiting or memory",
            by);
    else
        (void)nl_fail(err, NL_INCOMPARABLE,
                      "the profile cannot be drawn by '%s': %s were not recorded", by,
                      nl_flame_source(by)->doc);
    return NULL;
}

/* Adds the profile of --base. */
static bool add_base(struct nl_flame *flame, const struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_window window = {0};
    char *words[] = {nl_strdup(call->settings.flame.base)};
    struct nl_trace *trace = NULL;
    bool done = nl_input_read(&input, words, 1, err);
    if (done) {
        trace = nl_input_load(&input, call, err);
        done = trace && nl_input_window(&input, trace, call, &window, err);
    }
    if (done)
        nl_flame_add(flame, trace, &window, true);
    if (trace)
        nl_trace_free(trace);
    nl_input_release(&input);
    nl_free(words[0]);
    return done;
}

static bool write_flame(const struct nl_call *call, const struct nl_input_words *input,
                        const struct nl_trace *trace, struct nl_output *output, struct nl_err *err)
{
    struct nl_window window = {0};
    struct nl_flame flame;
    struct nl_arena arena;
    const struct nl_flame_source *source = choose_source(call, trace, err);
    if (!source || !nl_input_window(input, trace, call, &window, err))
        return false;
    nl_job_phase(call->job, "drawing", 0);
    nl_flame_init(&flame, source);
    if (call->settings.flame.base && !add_base(&flame, call, err)) {
        nl_flame_release(&flame);
        return false;
    }
    nl_flame_add(&flame, trace, &window, false);
    nl_flame_finish(&flame);
    nl_arena_init(&arena);
    struct nl_profile *profile = nl_profile_new(trace, &window);
    struct nl_page page = {
        .kind = "flame", .title = nl_page_title(profile, &arena), .command = call->line};
    const char *heading = nl_arena_format(&arena, "%s · %s", source->title, page.title);
    nl_progress_quiet(call->progress);
    bool done = true;
    switch (ending_of(call->settings.output)) {
    case ENDING_SVG: nl_flame_svg(output->stream, &flame, heading); break;
    case ENDING_HTML: done = nl_page_flame(output->stream, &page, &flame, err); break;
    default: nl_flame_folded(output->stream, &flame); break;
    }
    nl_profile_free(profile);
    nl_arena_free(&arena);
    nl_flame_release(&flame);
    return done;
}

bool nl_cmd_flame(struct nl_call *call, struct nl_err *err)
{
    enum ending ending = ending_of(call->settings.output);
    bool stdout_too = !call->settings.output || !strcmp(call->settings.output, "-");
    if (!stdout_too && (ending == ENDING_OTHER || ending == ENDING_MD || ending == ENDING_JSON))
        return nl_fail(err, NL_USAGE, "unknown file type '%s'; use .html, .svg or .folded",
                       call->settings.output);
    return with_profile(call, write_flame, err);
}

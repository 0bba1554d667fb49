/* info and analyze: load the profile, run the plan of that name, show the report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/spill.h"
#include "cli/infoestimate.h"
#include "cli/kept.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/quotedprofile.h"
#include "store/tracefile.h"

/* Of info and analyze. */
struct analyze_options {
    bool full, estimate;
};

static const struct analyze_options *analyze_own(const struct nl_call *call)
{
    return call->own;
}

static bool show_report(const struct nl_call *call, struct nl_output *output,
                        const struct nl_profile *profile, const struct nl_report *report,
                        struct nl_err *err)
{
    char *input = nl_quoted_profile(call, false), *bare = nl_quoted_profile(call, true);
    struct nl_view_options options = {.section = call->settings.section,
                                      .width = output->width,
                                      .height = output->height,
                                      .ascii = output->ascii,
                                      .color = output->color,
                                      .all = call->settings.all,
                                      .brief = !analyze_own(call)->full,
                                      .input = input,
                                      .bare = call->count <= NL_MAX_QUOTED ? bare : NULL,
                                      .rows = (size_t)call->settings.limit};
    nl_output_page(output, call);
    bool done = output->view->render_report(output->stream, profile, report, &options, err);
    nl_free(input);
    nl_free(bare);
    return done;
}

/* A number above 0, such as 3.2e15; 0 when not given. */
static bool read_amount(const char *option, const char *text, double *amount, struct nl_err *err)
{
    char *end;
    *amount = text ? strtod(text, &end) : 0;
    if (!text || (end != text && !*end && *amount > 0 && isfinite(*amount)))
        return true;
    return nl_fail(err, NL_USAGE, "%s takes a number above 0, such as 3.2e15, not '%s'", option,
                   text);
}

static bool read_amounts(const struct nl_call *call, struct nl_analyze_options *options,
                         struct nl_err *err)
{
    return read_amount("--flops-per-step", call->settings.flops_per_step, &options->flops_per_step,
                       err) &&
           read_amount("--tokens-per-step", call->settings.tokens_per_step,
                       &options->tokens_per_step, err);
}

static bool read_options(const struct nl_input_words *input, const struct nl_trace *trace,
                         const struct nl_call *call, const struct nl_output *output,
                         struct nl_analyze_options *options, struct nl_err *err)
{
    bool page = output->view == &nl_view_text && !analyze_own(call)->full && !call->settings.all &&
                !call->settings.section; /* it shows fewer rows, and says of how many */
    *options = (struct nl_analyze_options){.limit = page ? 0 : (size_t)call->settings.limit,
                                           .brief = page,
                                           .fold = output->view->folds && !call->settings.all,
                                           .all = call->settings.all,
                                           .section = call->settings.section};
    return nl_input_window(input, trace, call, &options->window, err) &&
           read_amounts(call, options, err);
}

static bool make(const struct nl_input_words *input, const struct nl_trace *trace, const char *plan,
                 const struct nl_analyze_options *options, const struct nl_call *call,
                 struct nl_kept *answer, struct nl_err *err)
{
    nl_job_phase(call->job, "analyzing", 0);
    if (!nl_spill_started(call->job->spill))
        nl_expect_arrays(nl_trace_bytes(trace) / 2);
    return nl_kept_make(input, trace, plan, options, call, answer, err);
}

/* From the loaded trace to the last line. False without an error: the trace is not what it was when
 * it was cached, and has to be loaded again. */
static bool report_on_trace(struct nl_input_words *input, struct nl_trace *trace, const char *plan,
                            const struct nl_call *call, struct nl_output *output,
                            struct nl_err *err)
{
    struct nl_analyze_options options;
    struct nl_kept answer;
    if (!read_options(input, trace, call, output, &options, err))
        return false;
    if (!nl_kept_find(input, trace, plan, &options, call, &answer)) {
        if (!nl_trace_check(trace, nl_job_threads(call->job), NULL) ||
            !make(input, trace, plan, &options, call, &answer, err))
            return false;
    }
    nl_input_keep(input, trace, call); /* nothing more is asked of the trace */
    nl_progress_quiet(call->progress);
    bool done = show_report(call, output, answer.profile, answer.report, err);
    nl_kept_release(&answer);
    return done;
}

/* Before anything is loaded: a name that there is. */
static bool check_section(const char *section, struct nl_err *err)
{
    struct nl_nearest nearest;
    if (!section || nl_analysis_find(section) || !strcmp(section, NL_SECTION_FINDINGS))
        return true;
    nl_nearest_init(&nearest, section);
    for (size_t i = 0; nl_analyses[i]; i++)
        nl_nearest_offer(&nearest, nl_analyses[i]->name);
    nl_nearest_offer(&nearest, NL_SECTION_FINDINGS);
    const char *best = nl_nearest_best(&nearest);
    if (best)
        return nl_fail(err, NL_USAGE, "--section: no analysis is called '%s'; did you mean %s?",
                       section, best);
    return nl_fail(err, NL_USAGE,
                   "--section: no analysis is called '%s'; `neurolens help sections` lists them",
                   section);
}

static bool run_plan(const char *plan, struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_output output;
    struct nl_trace *trace = NULL;
    struct nl_analyze_options checked;
    if (!check_section(call->settings.section, err) || !read_amounts(call, &checked, err))
        return false;
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err) &&
                nl_output_open(&output, call, input.paths, input.count, err);
    if (done) {
        input.background = true;
        input.unchecked = !input.window.has_steps && !input.window.nvtx;
        trace = nl_input_load(&input, call, err);
        done = trace && report_on_trace(&input, trace, plan, call, &output, err);
        if (trace && trace->unchecked && !done && !err->code) {
            nl_trace_free(trace);
            input.unchecked = false;
            trace = nl_input_load(&input, call, err);
            done = trace && report_on_trace(&input, trace, plan, call, &output, err);
        }
        if (trace)
            nl_input_keep(&input, trace, call); /* if it came to no answer */
        done = nl_output_close(&output, call, done, err);
    }
    if (trace)
        nl_trace_free(trace);
    nl_input_release(&input);
    return done;
}

static bool info_run(struct nl_call *call, struct nl_err *err)
{
    return analyze_own(call)->estimate ? nl_info_estimate(call, err) : run_plan("info", call, err);
}

static bool analyze_run(struct nl_call *call, struct nl_err *err)
{
    if (nl_output_is_page(call) && !call->settings.section)
        return nl_command_instead(&nl_command_report, call, err);
    return run_plan("analyze", call, err);
}

static const struct nl_option info_options[] = {
    {"estimate", 0, NL_OPTION_FLAG, NL_OWN(analyze_options, estimate), NULL,
     "only estimate the rows and the memory needed, without loading the profile", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_info = {
    .name = "info",
    .group = "Understand",
    .summary = "what a profile contains and what it lacks",
    .usage = "PROFILE…",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(analyze_options, 0),
    .tables = NL_TABLES(info_options, nl_report_options, nl_profile_options, nl_common_options),
    .help =
        "Shows the files, tools, ranks and devices of a profile, its event counts by kind, and "
        "its\n"
        "coverage: what the source did not record, and what was dropped, truncated or repaired.\n"
        "`neurolens PROFILE` does the same in a pipe.\n"
        "--estimate predicts in about 0.1 s how many rows a profile has and how much memory "
        "loading\n"
        "it needs: from the size and first part of each file, or from the row counts of its "
        "tables.\n"
        "Of many files it samples eight.",
    .examples = "neurolens info trace.json.gz            # one profile\n"
                "neurolens info 'ranks/*.json.gz'        # many files: one multi-rank profile\n"
                "neurolens info --format json run.sqlite # for a script\n"
                "neurolens info --estimate huge.json.gz  # before it is loaded",
    .run = info_run,
};

static const struct nl_option page_options[] = {
    {"full", 0, NL_OPTION_FLAG, NL_OWN(analyze_options, full), NULL,
     "the whole report: every table and finding", NULL},
    {"no-pager", 0, NL_OPTION_FLAG, NL_SETTING(no_pager), NULL,
     "do not pipe into $PAGER (default: less) on a terminal", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_analyze = {
    .name = "analyze",
    .group = "Understand",
    .summary = "what limits the program, with evidence",
    .usage = "PROFILE…",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(analyze_options, 0),
    .tables = NL_TABLES(page_options, nl_report_options, nl_profile_options, nl_common_options),
    .help =
        "Prints, on one screen: in one sentence what limits the program, which operation causes "
        "it\n"
        "and how much time it could save; the time of every device; up to three findings; and "
        "the\n"
        "two tables behind the answer. --full prints everything: all findings with their "
        "evidence,\n"
        "and the tables of kernels, copies, operators, ranges, launches and steps. What was not\n"
        "recorded is listed, with how to record it.",
    .examples = "neurolens analyze trace.json.gz\n"
                "neurolens analyze trace.json.gz --full        # everything, in a pager\n"
                "neurolens analyze 'run.sqlite[1.2s:1.5s]'     # a window of time\n"
                "neurolens analyze 'ranks/[step=10:20,rank=3]' # some steps of one rank\n"
                "neurolens analyze run.sqlite --format json -o run.json\n"
                "neurolens analyze run.sqlite --section idle_causes    # one question",
    .run = analyze_run,
};

/* diff: two profiles, loaded as everywhere, and what changed from the first to the second. */
#include <stddef.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "compare/diff.h"

#define STATUS_INCOMPARABLE 3
#define TARGET(member)      offsetof(struct nl_settings, member)

const struct nl_option nl_diff_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_TEXT, TARGET(section), "NAME",
     "only this table, such as attribution or counts", nl_diff_sections},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "every row and every empty table", NULL},
    {.name = NULL},
};

/* One of the two. */
struct side {
    struct nl_input_words words;
    struct nl_trace *trace;
    struct nl_diff_input input;
    struct nl_profile *profile;
};

static bool check_section(const char *section, struct nl_err *err)
{
    struct nl_nearest nearest;
    if (!section)
        return true;
    nl_nearest_init(&nearest, section);
    for (size_t i = 0; nl_diff_sections[i]; i++) {
        if (strcmp(nl_diff_sections[i], section) == 0)
            return true;
        nl_nearest_offer(&nearest, nl_diff_sections[i]);
    }
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(err, NL_USAGE, "--section: a diff has no table '%s'; %s%s", section,
                   best ? "did you mean " : "the first is ", best ? best : nl_diff_sections[0]);
}

static bool load(struct side *side, const char *coverage, const struct nl_call *call,
                 struct nl_err *err)
{
    side->trace = nl_input_load(&side->words, call, err);
    if (!side->trace)
        return false;
    side->input.trace = side->trace;
    if (!nl_input_window(&side->words, side->trace, call, &side->input.window, err))
        return false;
    side->profile = nl_profile_new(side->trace, &side->input.window);
    side->profile->coverage->title = coverage;
    return true;
}

static bool show(const struct nl_call *call, struct nl_output *output, const struct side sides[2],
                 struct nl_report *report, struct nl_err *err)
{
    bool csv = strcmp(output->view->name, "csv") == 0;
    struct nl_view_options options = {.section = call->settings.section ? call->settings.section
                                                 : csv                  ? "attribution"
                                                                        : NULL,
                                      .width = output->width,
                                      .color = output->color,
                                      .all = call->settings.all,
                                      .rows = (size_t)call->settings.limit,
                                      .base = sides[0].profile};
    nl_report_cut(report, (size_t)call->settings.limit);
    return output->view->render_report(output->stream, sides[1].profile, report, &options, err);
}

static bool compare(struct side sides[2], struct nl_call *call, struct nl_output *output,
                    struct nl_err *err)
{
    bool comparable;
    if (!load(&sides[0], "Coverage of A", call, err) ||
        !load(&sides[1], "Coverage of B", call, err))
        return false;
    nl_job_phase(call->job, "comparing", 0);
    struct nl_report *report = nl_diff_new(&sides[0].input, &sides[1].input, call->settings.section,
                                           &comparable, call->job, err);
    nl_progress_quiet(call->progress);
    if (!report)
        return false;
    bool done = show(call, output, sides, report, err);
    nl_report_free(report);
    call->status = comparable ? 0 : STATUS_INCOMPARABLE;
    return done;
}

static bool open_output(struct side sides[2], const struct nl_call *call, struct nl_output *output,
                        struct nl_err *err)
{
    const char *paths[] = {sides[0].words.paths[0], sides[1].words.paths[0]};
    return nl_output_open(output, call, paths, 2, err);
}

bool nl_cmd_diff(struct nl_call *call, struct nl_err *err)
{
    struct side sides[2] = {0};
    struct nl_output output;
    if (!check_section(call->settings.section, err))
        return false;
    if (!strcmp(call->argument[0], "-") && !strcmp(call->argument[1], "-"))
        return nl_fail(err, NL_USAGE, "the standard input can be one of the two; name a file");
    bool done = true;
    for (int i = 0; i < 2; i++) {
        done = nl_input_read(&sides[i].words, call->argument + i, 1, err) && done;
        sides[i].input.word = call->argument[i];
    }
    if (done && open_output(sides, call, &output, err)) {
        done = compare(sides, call, &output, err);
        done = nl_output_close(&output, call, done, err);
    } else {
        done = false;
    }
    for (int i = 0; i < 2; i++) {
        nl_profile_free(sides[i].profile);
        if (sides[i].trace)
            nl_trace_free(sides[i].trace);
        nl_input_release(&sides[i].words);
    }
    return done;
}

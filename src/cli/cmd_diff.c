/* diff: two profiles, loaded as by other commands, and what changed from
 * the first to the second. */
#include <stddef.h>

#include "base/mem.h"
#include "cli/capturenoise.h"
#include "cli/captures.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sections.h"
#include "compare/diff.h"
#include "pages/page.h"

#define STATUS_INCOMPARABLE 3

const struct nl_option nl_diff_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_ONE, NL_SETTING(section), "NAME",
     "only this table, such as attribution or counts", nl_diff_sections},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row and every empty table", NULL},
    NL_OPTIONS_END,
};

/* One of the two. */
struct side {
    char **words;
    size_t count;
    struct nl_captures captures;
    struct nl_profile *profile;
};

static bool load_side(struct side *side, const char *coverage, const struct nl_call *call,
                      struct nl_err *err)
{
    if (!nl_captures_load(&side->captures, side->words, side->count, call, err))
        return false;
    side->profile = nl_profile_new(side->captures.input.trace, &side->captures.input.window);
    side->profile->coverage->title = coverage;
    return true;
}

static bool show_diff(const struct nl_call *call, struct nl_output *output,
                      const struct side sides[2], struct nl_report *report, struct nl_err *err)
{
    bool csv = strcmp(output->view->name, "csv") == 0;
    struct nl_view_options options = {.section = call->settings.section ? call->settings.section
                                                 : csv                  ? "attribution"
                                                                        : NULL,
                                      .width = output->width,
                                      .color = output->color,
                                      .ascii = output->ascii,
                                      .all = call->settings.all,
                                      .rows = (size_t)call->settings.limit,
                                      .base = sides[0].profile};
    nl_report_cut(report, (size_t)call->settings.limit);
    if (output->view == &nl_view_html && !call->settings.section) {
        const char *title = nl_arena_format(&report->arena, "%s → %s",
                                            nl_page_title(sides[0].profile, &report->arena),
                                            nl_page_title(sides[1].profile, &report->arena));
        struct nl_page page = {.kind = "diff", .title = title, .command = call->line};
        const struct nl_trace *traces[] = {sides[0].captures.input.trace,
                                           sides[1].captures.input.trace};
        return nl_page_diff(output->stream, &page, traces, sides[1].profile, report, &options, err);
    }
    return output->view->render_report(output->stream, sides[1].profile, report, &options, err);
}

static bool compare_sides(struct side sides[2], struct nl_call *call, struct nl_output *output,
                          struct nl_err *err)
{
    bool comparable;
    struct nl_captures *both[] = {&sides[0].captures, &sides[1].captures};
    nl_capture_noise(both, 2, call);
    nl_job_phase(call->job, "comparing", 0);
    struct nl_report *report = nl_diff_new(&sides[0].captures.input, &sides[1].captures.input,
                                           call->settings.section, &comparable, call->job, err);
    nl_progress_quiet(call->progress);
    if (!report)
        return false;
    bool done = show_diff(call, output, sides, report, err);
    nl_report_free(report);
    call->status = comparable ? 0 : STATUS_INCOMPARABLE;
    return done;
}

/* Words before and after ":"; without one, two words. */
static bool divide(struct side sides[2], const struct nl_call *call, struct nl_err *err)
{
    int colon = -1, colons = 0;
    for (int i = 0; i < call->count; i++)
        if (strcmp(call->argument[i], ":") == 0) {
            colon = i;
            colons++;
        }
    if (colons > 1 || colon == 0 || (colons && colon == call->count - 1))
        return nl_fail(err, NL_USAGE, "put one : between the captures of A and those of B");
    if (!colons && call->count != 2)
        return nl_fail(err, NL_USAGE,
                       "%d profiles: put : between the captures of A and those of B, as in "
                       "`neurolens diff A1,A2 : B1,B2`",
                       call->count);
    int first = colons ? colon : 1, second = colons ? colon + 1 : 1;
    sides[0].words = call->argument;
    sides[0].count = (size_t)first;
    sides[1].words = call->argument + second;
    sides[1].count = (size_t)(call->count - second);
    return true;
}

static bool reads_input_twice(const struct nl_call *call)
{
    int count = 0;
    for (int i = 0; i < call->count; i++)
        count += strcmp(call->argument[i], "-") == 0;
    return count > 1;
}

/* Every file that is read, for -o. */
static bool open_output(const struct nl_call *call, struct nl_output *output, struct nl_err *err)
{
    struct nl_arena arena;
    const char **paths = nl_alloc(((size_t)call->count + 1) * sizeof *paths * NL_MAX_CAPTURES);
    size_t count = 0;
    nl_arena_init(&arena);
    for (int i = 0; i < call->count; i++) {
        char **parts;
        size_t n = nl_captures_split(&arena, call->argument[i], &parts);
        for (size_t k = 0; k < n && k < NL_MAX_CAPTURES; k++)
            paths[count++] = parts[k];
    }
    bool done = nl_output_open(output, call, paths, count, err);
    nl_free(paths);
    nl_arena_free(&arena);
    return done;
}

static bool diff_run(struct nl_call *call, struct nl_err *err)
{
    struct side sides[2] = {0};
    struct nl_output output;
    if (!nl_section_check("a diff", nl_diff_sections, call->settings.section, err) ||
        !divide(sides, call, err))
        return false;
    if (reads_input_twice(call))
        return nl_fail(err, NL_USAGE, "only one of the two can be standard input; name a file");
    bool done = open_output(call, &output, err);
    if (done) {
        done = load_side(&sides[0], "Coverage of A", call, err) &&
               load_side(&sides[1], "Coverage of B", call, err) &&
               compare_sides(sides, call, &output, err);
        done = nl_output_close(&output, call, done, err);
    }
    for (int i = 0; i < 2; i++) {
        nl_profile_free(sides[i].profile);
        nl_captures_release(&sides[i].captures);
    }
    return done;
}

const struct nl_command nl_command_diff = {
    .name = "diff",
    .group = "Compare",
    .summary = "what changed between two profiles, and how certain that is",
    .usage = "A[,A…] [:] B[,B…]",
    .least = 2,
    .most = -1,
    .tables = NL_TABLES(nl_diff_options, nl_profile_options, nl_common_options),
    .help =
        "Says what is faster or slower in B than in A, by how much, how certain that is, why, and\n"
        "what to do. It compares steady steps if both have them, else the time from first to last\n"
        "GPU operation, else sums. The change is split into kernels, communication, copies and "
        "idle\n"
        "time; the parts add up to it exactly. Captures of the same program differ by a percent "
        "or\n"
        "more, so give several per side, joined by commas or as tag:NAME, tag:NAME~5 (the newest "
        "5)\n"
        "or branch:NAME~5; the verdict then accounts for that noise. Exits with 3 if A and B "
        "cannot\n"
        "be compared. The colon is needed for more than two arguments.",
    .examples = "neurolens diff before.json.gz after.json.gz\n"
                "neurolens diff a1.json,a2.json,a3.json : b1.json,b2.json,b3.json\n"
                "neurolens diff tag:main~5 : @~2,@~1,@\n"
                "neurolens diff 'run.sqlite[step=10:20]' 'run.sqlite[step=30:40]'\n"
                "neurolens diff a.json b.json --format csv",
    .run = diff_run,
};

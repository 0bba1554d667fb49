/* rank: one workload on several backends, GPUs or settings. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/capturenoise.h"
#include "cli/captures.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sections.h"
#include "compare/rank.h"

struct rank_options {
    struct nl_texts prices; /* NAME=USD */
};

static const struct rank_options *rank_own(const struct nl_call *call)
{
    return call->own;
}

#define STATUS_INCOMPARABLE 3

static const struct nl_option rank_options[] = {
    {"price", 0, NL_OPTION_LIST, NL_OWN(rank_options, prices), "NAME=USD",
     "price per hour of a candidate, or of each device whose name contains NAME", NULL},
    {"section", 0, NL_OPTION_TEXT, NL_SETTING(section), "NAME",
     "only this table, such as modules or cost", nl_rank_sections},
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row and every empty table", NULL},
    NL_OPTIONS_END,
};

static bool show_ranking(const struct nl_call *call, struct nl_output *output,
                         struct nl_report *report, struct nl_err *err)
{
    bool csv = strcmp(output->view->name, "csv") == 0;
    const char *table = call->settings.section ? call->settings.section : "rank";
    struct nl_view_options options = {.section = csv ? table : NULL,
                                      .width = output->width,
                                      .color = output->color,
                                      .all = call->settings.all,
                                      .rows = (size_t)call->settings.limit};
    nl_report_cut(report, (size_t)call->settings.limit);
    return output->view->render_report(output->stream, NULL, report, &options, err);
}

/* "H100=2.5": the name is copied, so that it ends there. */
static bool read_price(struct nl_rank_price *price, const char *text, struct nl_arena *arena,
                       struct nl_err *err)
{
    const char *cut = strrchr(text, '=');
    char *end = NULL;
    double value = cut ? strtod(cut + 1, &end) : -1;
    if (!cut || cut == text || end == cut + 1 || *end || !isfinite(value) || value < 0)
        return nl_fail(err, NL_USAGE,
                       "--price '%s': expected NAME=USD, such as H100=2.49 (USD for an hour)",
                       text);
    price->name = nl_arena_text(arena, text, (size_t)(cut - text));
    price->usd_per_hour = value;
    return true;
}

/* `arena` has what the options point to. */
static bool read_options(struct nl_rank_options *options, const struct nl_call *call,
                         struct nl_arena *arena, struct nl_err *err)
{
    const struct nl_texts *texts = &rank_own(call)->prices;
    struct nl_rank_price *prices = nl_arena_alloc(arena, (texts->count + 1) * sizeof *prices);
    *options = (struct nl_rank_options){prices, texts->count, call->settings.section};
    for (size_t i = 0; i < texts->count; i++)
        if (!read_price(&prices[i], texts->items[i], arena, err))
            return false;
    return nl_section_check("a ranking", nl_rank_sections, call->settings.section, err);
}

static bool rank(struct nl_captures *sides, struct nl_call *call, struct nl_output *output,
                 const struct nl_rank_options *options, struct nl_err *err)
{
    struct nl_diff_input inputs[NL_MAX_RANK];
    struct nl_captures *all[NL_MAX_RANK];
    bool comparable;
    for (int i = 0; i < call->count; i++) {
        all[i] = &sides[i];
        if (!nl_captures_load(&sides[i], call->argument + i, 1, call, err))
            return false;
    }
    nl_capture_noise(all, (size_t)call->count, call);
    for (int i = 0; i < call->count; i++)
        inputs[i] = sides[i].input;
    nl_job_phase(call->job, "comparing", 0);
    struct nl_report *report =
        nl_rank_new(inputs, (size_t)call->count, options, &comparable, call->job, err);
    nl_progress_quiet(call->progress);
    if (!report)
        return false;
    bool done = show_ranking(call, output, report, err);
    nl_report_free(report);
    call->status = comparable ? 0 : STATUS_INCOMPARABLE;
    return done;
}

static bool rank_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_captures sides[NL_MAX_RANK] = {0};
    struct nl_rank_options options;
    struct nl_output output;
    struct nl_arena arena;
    if (call->count > NL_MAX_RANK)
        return nl_fail(err, NL_USAGE, "at most %d candidates at once", NL_MAX_RANK);
    nl_arena_init(&arena);
    bool done = read_options(&options, call, &arena, err) &&
                nl_output_open(&output, call, (const char *const *)call->argument,
                               (size_t)call->count, err);
    if (done) {
        done = rank(sides, call, &output, &options, err);
        done = nl_output_close(&output, call, done, err);
    }
    for (int i = 0; i < call->count; i++)
        nl_captures_release(&sides[i]);
    nl_arena_free(&arena);
    return done;
}

const struct nl_command nl_command_rank = {
    .name = "rank",
    .group = "Compare",
    .summary = "compare backends, GPUs or settings on one workload",
    .usage = "A[,A…] B[,B…] …",
    .least = 2,
    .most = -1,
    NL_DEFAULTS(rank_options, 0),
    .tables = NL_TABLES(rank_options, nl_profile_options, nl_common_options),
    .help =
        "Orders the candidates by their typical step (or their total time if not all have steps),\n"
        "and says how much longer each takes than the fastest (with an interval from its "
        "captures),\n"
        "which are tied, in which operators, modules and ranges each is fastest and through which\n"
        "kernels, what a step costs, and what to choose. Each argument is a candidate; join "
        "several\n"
        "captures of one with commas. Energy comes from power readings in the recording, prices "
        "from\n"
        "--price (per hour of a candidate, or of each device with that name). Exits with 3 if the\n"
        "candidates did not do the same work.",
    .examples = "neurolens rank onnxruntime.json tensorrt.json torch.json\n"
                "neurolens rank a100_1.json,a100_2.json h100_1.json,h100_2.json\n"
                "neurolens rank a100.json h100.json --price A100=1.29 --price H100=2.49\n"
                "neurolens rank torch.json tensorrt.json --section modules --all\n"
                "neurolens rank tag:fp16~5 tag:fp8~5 --format csv",
    .run = rank_run,
};

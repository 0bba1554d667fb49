/* rank: one workload on several backends, GPUs or settings. */
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "cli/captures.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "compare/rank.h"

#define STATUS_INCOMPARABLE 3
#define TARGET(member)      offsetof(struct nl_settings, member)

const struct nl_option nl_rank_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows in each table", NULL},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "every row and every empty table", NULL},
    {.name = NULL},
};

static bool show(const struct nl_call *call, struct nl_output *output, struct nl_report *report,
                 struct nl_err *err)
{
    bool csv = strcmp(output->view->name, "csv") == 0;
    struct nl_view_options options = {.section = csv ? "rank" : NULL,
                                      .width = output->width,
                                      .color = output->color,
                                      .all = call->settings.all,
                                      .rows = (size_t)call->settings.limit};
    nl_report_cut(report, (size_t)call->settings.limit);
    return output->view->render_report(output->stream, NULL, report, &options, err);
}

static bool rank(struct nl_captures *sides, struct nl_call *call, struct nl_output *output,
                 struct nl_err *err)
{
    struct nl_diff_input inputs[NL_RANK_MOST];
    bool comparable;
    for (int i = 0; i < call->count; i++) {
        if (!nl_captures_load(&sides[i], call->argument + i, 1, call, err))
            return false;
        inputs[i] = sides[i].input;
    }
    nl_job_phase(call->job, "comparing", 0);
    struct nl_report *report =
        nl_rank_new(inputs, (size_t)call->count, &comparable, call->job, err);
    nl_progress_quiet(call->progress);
    if (!report)
        return false;
    bool done = show(call, output, report, err);
    nl_report_free(report);
    call->status = comparable ? 0 : STATUS_INCOMPARABLE;
    return done;
}

bool nl_cmd_rank(struct nl_call *call, struct nl_err *err)
{
    struct nl_captures sides[NL_RANK_MOST] = {0};
    struct nl_output output;
    if (call->count > NL_RANK_MOST)
        return nl_fail(err, NL_USAGE, "at most %d candidates at once", NL_RANK_MOST);
    if (!nl_output_open(&output, call, (const char *const *)call->argument, (size_t)call->count,
                        err))
        return false;
    bool done = rank(sides, call, &output, err);
    done = nl_output_close(&output, call, done, err);
    for (int i = 0; i < call->count; i++)
        nl_captures_release(&sides[i]);
    return done;
}

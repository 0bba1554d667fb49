/* See gatenoise.h. */
#include "compare/gatenoise.h"

#include <math.h>

#include "base/mem.h"
#include "compare/diffinner.h"
#include "compare/metricvalue.h"
#include "compare/moments.h"
#include "compare/statdist.h"
#include "compare/diffparts.h"
#include "compare/diffteam.h"
#include "compare/diffunit.h"

bool nl_gate_has_steps(const struct nl_diff_input *input)
{
    struct diff_side side;
    bool all = true;
    diff_team_open(&side, input);
    for (size_t i = 0; i < diff_capture_count(&side); i++)
        all = all && diff_has_steady_steps(&diff_captures(&side)[i]);
    diff_side_release(&side);
    return all;
}

static void estimate_typical(struct nl_gate_typical *typical, const double *logs)
{
    double n = (double)typical->captures, mean = nl_sample_mean(logs, typical->captures);
    typical->ns = exp(mean);
    if (typical->captures < 2)
        return;
    typical->sd = sqrt(nl_sample_variance(logs, typical->captures, mean));
    double half = nl_student_quantile(0.025, n - 1) * typical->sd / sqrt(n);
    typical->low = exp(mean - half);
    typical->high = exp(mean + half);
}

/* The other programs' share is found as a diff finds it: of the side compared with itself. */
static void measure_kept_share(struct diff_side *side, const struct nl_diff_input *input,
                               struct nl_gate_typical *typical)
{
    struct diff_side again;
    struct diff_parts parts = {0};
    diff_team_open(&again, input);
    if (!diff_sides_allow(side, &again, DIFF_BY_STEP) &&
        diff_sides_allow(side, &again, DIFF_BY_HOST) &&
        diff_side_measure(side, DIFF_BY_HOST, &parts))
        typical->kept = diff_kept_share(side);
    diff_parts_release(&parts);
    diff_side_release(&again);
}

struct nl_gate_typical nl_gate_typical_of(const struct nl_diff_input *input)
{
    static const struct nl_metric step = {.source = NL_METRIC_STEP, .which = 50},
                                  whole = {.source = NL_METRIC_TIME, .which = 0};
    bool steps = nl_gate_has_steps(input);
    struct diff_side side;
    struct nl_gate_typical typical = {
        steps ? "step.p50" : "run.duration", 0, NAN, NAN, NAN, NAN, NAN};
    diff_team_open(&side, input);
    if (steps)
        measure_kept_share(&side, input, &typical);
    typical.captures = diff_capture_count(&side);
    double *logs = nl_alloc((typical.captures + 1) * sizeof *logs);
    for (size_t i = 0; i < typical.captures; i++)
        logs[i] = log(nl_metric_of(steps ? &step : &whole, &diff_captures(&side)[i], NULL).value);
    estimate_typical(&typical, logs);
    nl_free(logs);
    diff_side_release(&side);
    return typical;
}

double nl_gate_noise(const struct nl_diff_input *input)
{
    struct nl_gate_typical typical = nl_gate_typical_of(input);
    return strcmp(typical.metric, "step.p50") == 0 ? typical.sd : NAN;
}

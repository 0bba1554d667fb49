/* See gatenoise.h. */
#include "compare/gatenoise.h"

#include <math.h>

#include "compare/diffinner.h"
#include "compare/metricvalue.h"

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

double nl_gate_noise(const struct nl_diff_input *input)
{
    static const struct nl_metric step = {.source = NL_METRIC_STEP, .which = 50};
    struct diff_side side;
    double sum = 0, squares = 0;
    diff_team_open(&side, input);
    size_t count = diff_capture_count(&side);
    for (size_t i = 0; i < count; i++) {
        double value = log(nl_metric_of(&step, &diff_captures(&side)[i], NULL).value);
        sum += value;
        squares += value * value;
    }
    diff_side_release(&side);
    double n = (double)count;
    return count > 1 ? sqrt(fmax(0, (squares - sum * sum / n) / (n - 1))) : NAN;
}

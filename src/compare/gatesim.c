/* The gate on captures made up with a known truth, and a rules file to begin with. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/gate.h"
#include "compare/gatejudge.h"
#include "tables/resultcells.h"

#define TRIALS 2000

const char nl_gate_template[] =
    "# Rules of `neurolens check`: what stops a merge. docs/check.md explains all of it.\n"
    "rules:\n"
    "  # Against the baseline: a sign means a change. The typical step may take 3 % longer; what "
    "is\n"
    "  # caught for sure with 3 captures a side is about 5 %.\n"
    "  - step.p50 > +3%\n"
    "  # Counts are the same each time and are compared exactly.\n"
    "  # - kernels.count > +0\n"
    "  # - syncs.count > +0\n"
    "  # Memory, with a floor under which nothing fails.\n"
    "  # - fail_on: memory.peak > +5%\n"
    "  #   floor: 64MiB\n"
    "  # One operator, and a name for the report.\n"
    "  # - metric: op[\"aten::mm\"].p95\n"
    "  #   name: matrix products\n"
    "  # Budgets need no baseline.\n"
    "  # - step.p95 > 120ms\n"
    "  # - mfu < 40%\n"
    "  # - exposed_comm.share > 5%\n"
    "\n"
    "# Facts that may differ between baseline and new captures; others make the verdict\n"
    "# \"cannot compare\" (exit 3).\n"
    "allow: []\n"
    "\n"
    "# When captures vary too much to decide: warn (exit 3), fail (exit 1) or pass (exit 0).\n"
    "on_inconclusive: warn\n"
    "\n"
    "# Of metrics without a limit: 2 % with 3 captures a side, 5 % with fewer, unless it stands "
    "here.\n"
    "# tolerance: 2%\n";

/* ---- random numbers ---- */

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state) /* Box and Muller */
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

#define SIM_LIST(C, P)                                                                             \
    C(P, change_share, "true change", CHANGE_SHARE)                                                \
    C(P, trials, NULL, COUNT)                                                                      \
    C(P, fail_share, "fails", SHARE)                                                               \
    C(P, pass_share, "passes", SHARE)                                                              \
    C(P, inconclusive_share, "inconclusive", SHARE)
NL_TABLE_COLUMNS(columns, SIM, SIM_LIST);

static void simulate(struct nl_result *result, double change, double sd,
                     const struct nl_gate_values *v, double tolerance, const struct nl_noise *noise)
{
    size_t seen[NL_GATE_UNKNOWN + 1] = {0};
    uint64_t state = 0x9e3779b97f4a7c15u;
    struct nl_rule rule = {.op = NL_RULE_MORE,
                           .relative = true,
                           .percent = true,
                           .bare = true,
                           .floor = NAN,
                           .metric = {.class = NL_METRIC_timed, .meaning = NL_MEANS_NS}};
    for (int trial = 0; trial < TRIALS; trial++) {
        for (size_t i = 0; i < v->base_count; i++)
            v->base[i] = (struct nl_metric_value){1e8 * exp(sd * normal(&state)), 0, NULL, 0};
        for (size_t i = 0; i < v->changed_count; i++)
            v->changed[i] =
                (struct nl_metric_value){1e8 * (1 + change) * exp(sd * normal(&state)), 0, NULL, 0};
        seen[nl_gate_judge(&rule, v, tolerance, noise).status]++;
    }
    struct nl_cell *cells = nl_result_row(result);
    cells[SIM_change_share] = nl_cell_f64(change);
    cells[SIM_trials] = nl_cell_count(TRIALS);
    cells[SIM_fail_share] = nl_cell_f64((double)seen[NL_GATE_FAIL] / TRIALS);
    cells[SIM_pass_share] = nl_cell_f64((double)seen[NL_GATE_PASS] / TRIALS);
    cells[SIM_inconclusive_share] = nl_cell_f64((double)seen[NL_GATE_INCONCLUSIVE] / TRIALS);
}

struct nl_result *nl_gate_simulate(double sd, size_t base_count, size_t changed_count,
                                   double tolerance, const struct nl_noise *noise)
{
    static const double changes[] = {0, 0.02, 0.03, 0.05, 0.10};
    struct nl_result *result = NL_ANSWER_NEW("self_test", "What the gate says, simulated", columns);
    struct nl_gate_values v = {.base_count = base_count, .changed_count = changed_count};
    v.base = nl_alloc((base_count + 1) * sizeof *v.base);
    v.changed = nl_alloc((changed_count + 1) * sizeof *v.changed);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        simulate(result, changes[i], sd, &v, tolerance, noise);
    nl_free(v.base);
    nl_free(v.changed);
    return result;
}

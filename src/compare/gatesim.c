/* The gate on captures made up with a known truth. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "compare/gate.h"
#include "compare/gatejudge.h"
#include "tables/resultcells.h"

#define TRIALS 2000

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

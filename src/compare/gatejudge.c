/* See gatejudge.h. */
#include "compare/gatejudge.h"

#include <math.h>
#include <stdint.h>

#include "base/mem.h"

#define FLOOR_SHARE 0.005 /* of shares that no floor was given for */

const char *nl_gate_status_text(enum nl_gate_status status)
{
    static const char *const texts[] = {[NL_GATE_PASS] = "pass",
                                        [NL_GATE_FAIL] = "fail",
                                        [NL_GATE_INCONCLUSIVE] = "inconclusive",
                                        [NL_GATE_UNKNOWN] = "unknown"};
    return texts[status];
}

static double mean_of(const struct nl_metric_value *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i].value;
    return count ? sum / (double)count : NAN;
}

static bool breaks(enum nl_rule_op op, double value, double limit)
{
    switch (op) {
    case NL_RULE_MORE: return value > limit;
    case NL_RULE_AT_LEAST: return value >= limit;
    case NL_RULE_LESS: return value < limit;
    case NL_RULE_AT_MOST: return value <= limit;
    case NL_RULE_OTHER: return value != limit;
    }
    return false;
}

static bool all_positive(const struct nl_metric_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i].value > 0))
            return false;
    return count > 0;
}

/* The noise of captures, if `known`, covers an error that a capture's steps do not give. */
static struct nl_value *logs_of(const struct nl_metric_value *values, size_t count, bool known)
{
    struct nl_value *logs = nl_alloc((count + 1) * sizeof *logs);
    for (size_t i = 0; i < count; i++)
        logs[i] = (struct nl_value){log(values[i].value),
                                    isnan(values[i].se) && known ? 0 : values[i].se};
    return logs;
}

static double default_limit(const struct nl_rule *rule, const struct nl_gate_values *v,
                            double tolerance)
{
    bool few = v->base_count < 3 || v->changed_count < 3;
    double size = !isnan(tolerance) ? tolerance : few ? NL_TOLERANCE_FEW : NL_TOLERANCE_MANY;
    if (rule->metric.class == NL_METRIC_exact)
        size = 0;
    return rule->metric.less_is_worse ? -size : size;
}

static double floor_of(const struct nl_rule *rule)
{
    if (!isnan(rule->floor))
        return rule->floor;
    return rule->metric.meaning == NL_MEANS_SHARE ? FLOOR_SHARE : 0;
}

/* Of a change over the limit, which then is none that matters. */
static bool under_floor(const struct nl_rule *rule, struct nl_gate_answer *answer)
{
    double floor = floor_of(rule);
    if (!(fabs(answer->changed - answer->base) < floor))
        return false;
    answer->floor = floor;
    return true;
}

/* As a logarithm, what is to be ruled out: NL_GATE_RESOLVED × the limit `over`, or the floor where
 * that is more. `less`: a decrease, which cannot be of all there is: INFINITY. */
static double to_rule_out(const struct nl_rule *rule, const struct nl_gate_answer *answer,
                          double over, bool less)
{
    double share = NL_GATE_RESOLVED * floor_of(rule) / answer->base;
    double floor = !less ? log1p(share) : share < 1 ? -log1p(-share) : INFINITY;
    double most = fmax(NL_GATE_RESOLVED * over, floor);
    return fmax(most, log1p(NL_MIN_GATE));
}

/* By the distance of the captures and its certainty. */
static void judge_apart(struct nl_gate_answer *answer, const struct nl_rule *rule,
                        const struct nl_gate_values *v, const struct nl_apart *apart)
{
    double limit = rule->percent ? log1p(answer->limit)
                                 : log1p(answer->limit / answer->base); /* a change in its unit */
    bool less = rule->op == NL_RULE_LESS || rule->op == NL_RULE_AT_MOST;
    double sign = less ? -1 : 1;
    struct nl_apart towards = *apart; /* mirrored, so that worse is up */
    towards.shift *= sign;
    double over = sign * limit;
    double tail = nl_apart_tail(apart, NL_GATE_TAIL);
    double sure = nl_apart_above(&towards, tail);
    double most = towards.shift + (apart->high - apart->shift);
    double ruled = to_rule_out(rule, answer, over, less);
    bool beyond = towards.shift > over && !under_floor(rule, answer);
    if (beyond && sure > 0)
        answer->status = NL_GATE_FAIL;
    else if (beyond || most > ruled)
        answer->status = NL_GATE_INCONCLUSIVE;
    if (answer->status == NL_GATE_INCONCLUSIVE) {
        answer->why = beyond ? "over the limit, but captures vary too much to be sure"
                             : "captures vary too much to rule out a change that matters";
        /* What they must show: the change that was seen from none, or what is ruled out from it. */
        answer->more = nl_captures_needed(apart, v->base_count, v->changed_count,
                                          beyond ? towards.shift : ruled - towards.shift,
                                          beyond ? tail : 0.025);
    }
}

/* Whether steps show how much it varies: not of the whole recording. */
static bool by_steps(const struct nl_metric *metric)
{
    return metric->source != NL_METRIC_TIME || metric->which != 0;
}

/* What is known beforehand of how captures of a metric differ: of one a side, that its steps
 * vary more than steps do. */
static struct nl_noise noise_of(const struct nl_gate_values *v, const struct nl_noise *known)
{
    struct nl_noise noise = known ? *known : (struct nl_noise){0};
    double wider = 1;
    for (size_t i = 0; i < v->base_count; i++)
        wider = v->base[i].wider > wider ? v->base[i].wider : wider;
    for (size_t i = 0; i < v->changed_count; i++)
        wider = v->changed[i].wider > wider ? v->changed[i].wider : wider;
    if (v->base_count + v->changed_count > 2 || !(wider > 1))
        return noise;
    noise.df = noise.sd > 0 ? noise.df : NL_NOISE_DF_ONE;
    noise.sd = wider * (noise.sd > 0 ? noise.sd : NL_NOISE_SINGLE);
    return noise;
}

/* A timed metric against the baseline, as a ratio. One measurement a side shows nothing of how much
 * it varies: as in diff, that decides nothing, unless nothing differs. */
static void judge_ratio(struct nl_gate_answer *answer, const struct nl_rule *rule,
                        const struct nl_gate_values *v, const struct nl_noise *noise)
{
    bool known = noise && noise->sd > 0;
    struct nl_value *a = logs_of(v->base, v->base_count, known);
    struct nl_value *b = logs_of(v->changed, v->changed_count, known);
    struct nl_noise own = noise_of(v, noise);
    struct nl_apart apart = nl_apart_of(a, v->base_count, b, v->changed_count, &own);
    nl_free(a);
    nl_free(b);
    answer->ratio = exp(apart.shift);
    answer->low = exp(apart.low);
    answer->high = exp(apart.high);
    if (!isnan(apart.low)) {
        judge_apart(answer, rule, v, &apart);
    } else if (answer->changed != answer->base) {
        answer->status = NL_GATE_INCONCLUSIVE;
        answer->why = by_steps(&rule->metric)
                          ? "one measurement per side: its noise is unknown; record 3 captures per "
                            "side, or at least 4 steady steps"
                          : "one measurement per side: its noise is unknown; record 3 captures per "
                            "side";
    }
}

/* Against the baseline without statistics. */
static void judge_exact(struct nl_gate_answer *answer, const struct nl_rule *rule)
{
    double change = answer->changed - answer->base;
    double limit = rule->percent ? answer->limit * answer->base : answer->limit;
    answer->ratio = answer->changed / answer->base;
    if (!isfinite(answer->ratio))
        answer->ratio = NAN;
    if (breaks(rule->op, change, limit) && !under_floor(rule, answer))
        answer->status = NL_GATE_FAIL;
}

/* A limit of the new captures alone. */
static void judge_budget(struct nl_gate_answer *answer, const struct nl_rule *rule,
                         const struct nl_gate_values *v, const struct nl_noise *noise)
{
    bool beyond = breaks(rule->op, answer->changed, answer->limit);
    bool less = rule->op == NL_RULE_LESS || rule->op == NL_RULE_AT_MOST;
    if (!beyond)
        return;
    answer->status = NL_GATE_FAIL;
    if (rule->metric.class != NL_METRIC_timed || rule->op == NL_RULE_OTHER ||
        !all_positive(v->changed, v->changed_count) || !(answer->limit > 0))
        return;
    struct nl_value limit = {log(answer->limit), 0};
    struct nl_value *b = logs_of(v->changed, v->changed_count, true);
    struct nl_noise own = noise_of(v, noise);
    struct nl_apart apart = nl_apart_of(&limit, 1, b, v->changed_count, &own);
    nl_free(b);
    apart.shift *= less ? -1 : 1;
    if (nl_apart_above(&apart, nl_apart_tail(&apart, NL_GATE_TAIL)) > 0)
        return;
    answer->status = NL_GATE_INCONCLUSIVE;
    answer->why = "over the budget, but by less than captures vary";
}

static const char *missing_in(const struct nl_metric_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i].value))
            return values[i].missing ? values[i].missing : "not recorded";
    return NULL;
}

struct nl_gate_answer nl_gate_judge(const struct nl_rule *rule, const struct nl_gate_values *v,
                                    double tolerance, const struct nl_noise *noise)
{
    struct nl_gate_answer answer = {.status = NL_GATE_PASS,
                                    .base = mean_of(v->base, v->base_count),
                                    .changed = mean_of(v->changed, v->changed_count),
                                    .ratio = NAN,
                                    .low = NAN,
                                    .high = NAN,
                                    .more = SIZE_MAX};
    answer.limit = rule->bare ? default_limit(rule, v, tolerance) : rule->value;
    answer.why = missing_in(v->changed, v->changed_count);
    if (!answer.why && rule->relative)
        answer.why = v->base_count ? missing_in(v->base, v->base_count)
                                   : "no baseline was given; name one with --baseline";
    if (answer.why) {
        answer.status = NL_GATE_UNKNOWN;
        return answer;
    }
    if (!rule->relative)
        judge_budget(&answer, rule, v, noise);
    else if (rule->metric.class == NL_METRIC_timed && rule->op != NL_RULE_OTHER &&
             all_positive(v->base, v->base_count) && all_positive(v->changed, v->changed_count))
        judge_ratio(&answer, rule, v, noise);
    else
        judge_exact(&answer, rule);
    return answer;
}

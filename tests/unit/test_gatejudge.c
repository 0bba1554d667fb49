/*
 * One rule judged (compare/gatejudge.h): counts and levels at their limits exactly, floors,
 * budgets, what is missing; times that are surely apart, surely not, and too few.
 */
#include "check.h"

#include "compare/gatejudge.h"

#define MOST 3

static const struct {
    const char *rule;
    double base[MOST],
        changed[MOST];       /* up to the first 0 behind another value; one 0 alone is a value */
    double floor, tolerance; /* 0: none is given */
    enum nl_gate_status status;
    double limit;
} cases[] = {
    {"kernels.count > +0", {10}, {10}, 0, 0, NL_GATE_PASS, 0},
    {"kernels.count > +0", {10}, {11}, 0, 0, NL_GATE_FAIL, 0},
    {"kernels.count > +0", {10}, {9}, 0, 0, NL_GATE_PASS, 0},
    {"kernels.count >= +1", {10}, {11}, 0, 0, NL_GATE_FAIL, 1},
    {"kernels.count >= +1", {10}, {10}, 0, 0, NL_GATE_PASS, 1},
    {"kernels.count > +1", {10}, {11}, 0, 0, NL_GATE_PASS, 1},
    {"kernels.count < -1", {10}, {9}, 0, 0, NL_GATE_PASS, -1},
    {"kernels.count < -1", {10}, {8}, 0, 0, NL_GATE_FAIL, -1},
    {"kernels.count <= -1", {10}, {9}, 0, 0, NL_GATE_FAIL, -1},
    {"kernels.count <= -1", {10}, {10}, 0, 0, NL_GATE_PASS, -1},
    {"kernels.count != +0", {10}, {10}, 0, 0, NL_GATE_PASS, 0},
    {"kernels.count != +0", {10}, {9}, 0, 0, NL_GATE_FAIL, 0},
    {"kernels.count > +50%", {10}, {15}, 0, 0, NL_GATE_PASS, 0.5},
    {"kernels.count > +50%", {10}, {16}, 0, 0, NL_GATE_FAIL, 0.5},
    {"kernels.count", {10}, {11}, 0, 0, NL_GATE_FAIL, 0},
    {"kernels.count", {10}, {9}, 0, 0, NL_GATE_PASS, 0},
    {"kernels.count", {10}, {11}, 0, 0.5, NL_GATE_FAIL, 0}, /* exact: no tolerance */
    {"step.count", {10}, {9}, 0, 0, NL_GATE_FAIL, 0},
    {"step.count", {10}, {11}, 0, 0, NL_GATE_PASS, 0},
    {"kernels.count > +0", {10, 12}, {11, 11}, 0, 0, NL_GATE_PASS, 0}, /* by their means */
    {"kernels.count > +0", {10, 12}, {11, 13}, 0, 0, NL_GATE_FAIL, 0},
    /* the default tolerance: 2 % with three captures a side, else 5 % */
    {"memory.peak", {100}, {105}, 0, 0, NL_GATE_PASS, 0.05},
    {"memory.peak", {100}, {106}, 0, 0, NL_GATE_FAIL, 0.05},
    {"memory.peak", {100, 100, 100}, {105, 105}, 0, 0, NL_GATE_PASS, 0.05},
    {"memory.peak", {100, 100}, {105, 105, 105}, 0, 0, NL_GATE_PASS, 0.05},
    {"memory.peak", {100, 100, 100}, {102, 102, 102}, 0, 0, NL_GATE_PASS, 0.02},
    {"memory.peak", {100, 100, 100}, {103, 103, 103}, 0, 0, NL_GATE_FAIL, 0.02},
    {"memory.peak", {100}, {150}, 0, 0.5, NL_GATE_PASS, 0.5},
    {"memory.peak", {100}, {151}, 0, 0.5, NL_GATE_FAIL, 0.5},
    /* a change that is smaller than its floor never fails */
    {"kernels.count > +0", {10}, {12}, 3, 0, NL_GATE_PASS, 0},
    {"kernels.count > +0", {10}, {13}, 3, 0, NL_GATE_FAIL, 0},
    {"kernels.count < -0", {10}, {8}, 3, 0, NL_GATE_PASS, 0},
    {"kernels.count < -0", {10}, {7}, 3, 0, NL_GATE_FAIL, 0},
    {"idle.share > +0", {0}, {0.00499}, 0, 0, NL_GATE_PASS, 0}, /* of shares half a percent */
    {"idle.share > +0", {0}, {0.005}, 0, 0, NL_GATE_FAIL, 0},
    {"idle.share > +0", {0}, {0.005}, 0.01, 0, NL_GATE_PASS, 0},
    /* budgets */
    {"kernels.count > 10", {0}, {10}, 0, 0, NL_GATE_PASS, 10},
    {"kernels.count > 10", {0}, {11}, 0, 0, NL_GATE_FAIL, 10},
    {"kernels.count >= 10", {0}, {10}, 0, 0, NL_GATE_FAIL, 10},
    {"kernels.count < 10", {0}, {10}, 0, 0, NL_GATE_PASS, 10},
    {"kernels.count <= 10", {0}, {10}, 0, 0, NL_GATE_FAIL, 10},
    {"kernels.count != 10", {0}, {10}, 0, 0, NL_GATE_PASS, 10},
    {"kernels.count != 10", {0}, {9}, 0, 0, NL_GATE_FAIL, 10},
    {"step.p50 > 10us", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_FAIL, 10000},
    {"step.p50 > 20us", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_PASS, 20000},
    {"step.p50 > 19990ns", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_INCONCLUSIVE, 19990},
    {"step.p50 < 20010ns", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_INCONCLUSIVE, 20010},
    {"step.p50 < 40us", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_FAIL, 40000},
    {"step.p50 != 40us", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_FAIL, 40000},
    {"step.p50 > 0", {0}, {20000, 20100, 19900}, 0, 0, NL_GATE_FAIL, 0},
    /* times */
    {"step.p50 > +3%", {1000, 1001, 999}, {1100, 1101, 1099}, 0, 0, NL_GATE_FAIL, 0.03},
    {"step.p50 > +30%", {1000, 1001, 999}, {1100, 1101, 1099}, 0, 0, NL_GATE_PASS, 0.3},
    {"step.p50 > +3%", {1000, 1001, 999}, {1000, 1001, 999}, 0, 0, NL_GATE_PASS, 0.03},
    {"step.p50 > +3%", {1000, 1001, 999}, {900, 901, 899}, 0, 0, NL_GATE_PASS, 0.03},
    {"step.p50 < -3%", {1000, 1001, 999}, {900, 901, 899}, 0, 0, NL_GATE_FAIL, -0.03},
    {"step.p50 < -30%", {1000, 1001, 999}, {900, 901, 899}, 0, 0, NL_GATE_PASS, -0.3},
    {"step.p50 > +3%", {1000, 1400, 700}, {1100, 1500, 800}, 0, 0, NL_GATE_INCONCLUSIVE, 0.03},
    {"step.p50 > +3%", {1000, 1400, 700}, {1000, 1400, 700}, 0, 0, NL_GATE_INCONCLUSIVE, 0.03},
    {"step.p50 > +50ns", {1000, 1001, 999}, {1100, 1101, 1099}, 0, 0, NL_GATE_FAIL, 50},
    {"step.p50 > +150ns", {1000, 1001, 999}, {1100, 1101, 1099}, 0, 0, NL_GATE_PASS, 150},
    {"step.p50 > +3%", {1000, 1001, 999}, {1050, 1051, 1049}, 51, 0, NL_GATE_PASS, 0.03},
    {"step.p50 > +3%", {1000, 1001, 999}, {1050, 1051, 1049}, 49, 0, NL_GATE_FAIL, 0.03},
    /* under the floor, and a change of 2.5 times that, or the limit where it is
     * more, is ruled out or not */
    {"step.p50 > +3%", {1000, 1001, 999}, {1200, 1201, 1199}, 300, 0, NL_GATE_PASS, 0.03},
    {"step.p50 > +3%", {1000, 1001, 999}, {1200, 1201, 1199}, 201, 0, NL_GATE_PASS, 0.03},
    {"step.p50 > +3%", {1000, 1001, 999}, {1200, 1201, 1199}, 199, 0, NL_GATE_FAIL, 0.03},
    {"step.p50 > +3%", {1000, 1400, 700}, {1200, 1680, 840}, 300, 0, NL_GATE_INCONCLUSIVE, 0.03},
    {"step.p50 > +3%", {1000, 1400, 700}, {1200, 1680, 840}, 3000, 0, NL_GATE_PASS, 0.03},
    {"step.p50 < -3%", {1000, 1001, 999}, {800, 801, 799}, 300, 0, NL_GATE_PASS, -0.03},
    {"step.p50 < -3%", {1000, 1400, 700}, {800, 1120, 560}, 210, 0, NL_GATE_INCONCLUSIVE, -0.03},
    {"step.p50 < -3%", {1000, 1400, 700}, {800, 1120, 560}, 900, 0, NL_GATE_PASS, -0.03},
    {"step.p50 < -3%", {1000, 1400, 700}, {800, 1120, 560}, 2000, 0, NL_GATE_PASS, -0.03},
    {"step.p50 > +3%", {1000}, {1000}, 0, 0, NL_GATE_PASS, 0.03},
    {"step.p50 > +3%", {1000}, {1100}, 0, 0, NL_GATE_INCONCLUSIVE, 0.03},
    {"step.p50", {1000, 1001, 999}, {1040, 1041, 1039}, 0, 0, NL_GATE_FAIL, 0.02},
    {"step.p50", {1000, 1001, 999}, {1040, 1041, 1039}, 0, 0.1, NL_GATE_PASS, 0.1},
    {"mfu", {0.500, 0.501, 0.499}, {0.450, 0.451, 0.449}, 0, 0, NL_GATE_FAIL, -0.02},
    {"mfu", {0.500, 0.501, 0.499}, {0.550, 0.551, 0.549}, 0, 0, NL_GATE_PASS, -0.02},
};

static size_t fill(struct nl_metric_value *to, const double *from)
{
    size_t count = 1;
    while (count < MOST && from[count] > 0)
        count++;
    for (size_t i = 0; i < count; i++)
        to[i] = (struct nl_metric_value){.value = from[i], .se = NAN, .wider = 1};
    return count;
}

static void each_rule(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_rules rules;
        struct nl_err err;
        struct nl_metric_value base[MOST], changed[MOST];
        nl_err_clear(&err);
        nl_rules_init(&rules);
        REQUIRE(nl_rules_add(&rules, cases[i].rule, &err));
        struct nl_rule *rule = &rules.items[0];
        if (cases[i].floor > 0)
            rule->floor = cases[i].floor;
        struct nl_gate_values values = {base, changed, fill(base, cases[i].base),
                                        fill(changed, cases[i].changed)};
        if (!rule->relative)
            values.base_count = 0; /* a budget needs none */
        struct nl_gate_answer answer =
            nl_gate_judge(rule, &values, cases[i].tolerance > 0 ? cases[i].tolerance : NAN, NULL);
        char label[120];
        snprintf(label, sizeof label, "%zu: %s: %g to %g", i, cases[i].rule, cases[i].base[0],
                 cases[i].changed[0]);
        check_case(label);
        CHECK_INT(answer.status, cases[i].status);
        CHECK(fabs(answer.limit - cases[i].limit) < 1e-12);
        CHECK_INT(answer.why != NULL, answer.status == NL_GATE_INCONCLUSIVE);
        CHECK(!(answer.floor > 0) || answer.floor == (cases[i].floor > 0 ? cases[i].floor : 0.005));
        nl_rules_release(&rules);
    }
}

static void what_is_missing(void)
{
    struct nl_rules rules;
    struct nl_err err;
    struct nl_metric_value known = {.value = 5, .se = NAN, .wider = 1},
                           unknown = {.value = NAN, .se = NAN, .wider = 1},
                           told = {.value = NAN, .se = NAN, .wider = 1, .missing = "no steps"};
    const struct {
        const char *rule;
        struct nl_metric_value base, changed;
        size_t base_count;
        const char *why;
    } lacks[] = {
        {"kernels.count > +0", known, unknown, 1, "not recorded"},
        {"kernels.count > +0", unknown, known, 1, "not recorded"},
        {"kernels.count > +0", told, known, 1, "no steps"},
        {"kernels.count > +0", known, told, 1, "no steps"},
        {"kernels.count > +0", unknown, told, 1, "no steps"},
        {"kernels.count > +0", known, known, 0, "no baseline was given; name one with --baseline"},
        {"kernels.count > 9", unknown, known, 1, NULL},
        {"kernels.count > 9", known, known, 0, NULL},
        {"kernels.count > 9", known, told, 1, "no steps"},
    };
    nl_err_clear(&err);
    for (size_t i = 0; i < CHECK_LENGTH(lacks); i++) {
        nl_rules_init(&rules);
        REQUIRE(nl_rules_add(&rules, lacks[i].rule, &err));
        struct nl_metric_value base = lacks[i].base, changed = lacks[i].changed;
        struct nl_gate_values values = {&base, &changed, lacks[i].base_count, 1};
        struct nl_gate_answer answer = nl_gate_judge(&rules.items[0], &values, NAN, NULL);
        check_case(lacks[i].why ? lacks[i].why : "nothing");
        CHECK_INT(answer.status, lacks[i].why ? NL_GATE_UNKNOWN : NL_GATE_PASS);
        CHECK((answer.why == NULL) == (lacks[i].why == NULL));
        if (answer.why && lacks[i].why)
            CHECK_TEXT(answer.why, lacks[i].why);
        nl_rules_release(&rules);
    }
}

CHECK_MAIN("gatejudge", {"each rule", each_rule}, {"what is missing", what_is_missing})

/* One rule: a metric, a comparison, a number with its unit. */
#include "compare/rules.h"

#include <math.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/units.h"
#include "compare/rulesread.h"

void nl_rules_init(struct nl_rules *rules)
{
    *rules = (struct nl_rules){.tolerance = NAN};
    nl_arena_init(&rules->arena);
}

void nl_rules_release(struct nl_rules *rules)
{
    nl_free(rules->items);
    nl_arena_free(&rules->arena);
}

static void skip_blanks(const char *text, size_t *at)
{
    while (text[*at] == ' ' || text[*at] == '\t')
        ++*at;
}

static bool take_op(const char *text, size_t *at, enum nl_rule_op *op, struct nl_err *err)
{
    static const struct {
        const char *word;
        enum nl_rule_op op;
    } ops[] = {{">=", NL_RULE_AT_LEAST},
               {"<=", NL_RULE_AT_MOST},
               {"!=", NL_RULE_OTHER},
               {">", NL_RULE_MORE},
               {"<", NL_RULE_LESS}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strncmp(text + *at, ops[i].word, strlen(ops[i].word)) == 0) {
            *op = ops[i].op;
            *at += strlen(ops[i].word);
            return true;
        }
    return nl_fail(err, NL_USAGE, "expected >, >=, <, <= or != after the metric");
}

/* A number with a unit that fits the metric. */
static bool in_unit(struct nl_rule *rule, struct nl_str text, double *value)
{
    int64_t ns;
    uint64_t bytes;
    char *end;
    char copy[64];
    if (text.len >= sizeof copy || !text.len)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (copy[text.len - 1] == '%') {
        copy[text.len - 1] = '\0';
        *value = strtod(copy, &end) / 100;
        while (*end == ' ')
            end++;
        rule->percent = rule->relative;
        return !*end && (rule->relative || rule->metric.meaning == NL_MEANS_SHARE);
    }
    double plain = strtod(copy, &end);
    if (!*end) { /* 5 of a share would be 500 % */
        *value = plain;
        bool share = rule->metric.meaning == NL_MEANS_SHARE;
        return share ? plain <= 1 : rule->metric.meaning != NL_MEANS_NS || plain == 0;
    }
    if (rule->metric.meaning == NL_MEANS_NS && nl_parse_ns(text, &ns)) {
        *value = (double)ns;
        return true;
    }
    if (rule->metric.meaning == NL_MEANS_BYTES && nl_parse_bytes(text, &bytes)) {
        *value = (double)bytes;
        return true;
    }
    return false;
}

static bool no_number(const struct nl_rule *rule, struct nl_err *err)
{
    if (rule->metric.source == NL_METRIC_TABLE && rule->metric.meaning == NL_MEANS_NUMBER)
        return nl_fail(err, NL_USAGE,
                       "expected a number without a unit, such as 37, +0 or +5%%: '%s' is no "
                       "column of times (p50, "
                       "p95, min, max, mean, total, or a name that ends in _ns)",
                       rule->metric.column);
    const char *such = rule->metric.meaning == NL_MEANS_NS      ? "120ms, +3% or +50us"
                       : rule->metric.meaning == NL_MEANS_BYTES ? "8GiB, +5% or +200MiB"
                       : rule->metric.meaning == NL_MEANS_SHARE ? "40%, 0.4 or +5%"
                                                                : "37, +0 or +5%";
    return nl_fail(err, NL_USAGE, "expected a number such as %s after the comparison", such);
}

static bool take_value(struct nl_rule *rule, const char *text, size_t *at, struct nl_err *err)
{
    char sign = text[*at] == '+' || text[*at] == '-' ? text[*at] : 0;
    size_t from = *at + (sign != 0);
    size_t end = strlen(text);
    while (end > from && nl_is_space(text[end - 1]))
        end--;
    rule->relative = sign != 0;
    if (!nl_is_digit(text[from]) && text[from] != '.')
        return no_number(rule, err);
    if (!in_unit(rule, (struct nl_str){text + from, end - from}, &rule->value) ||
        !isfinite(rule->value))
        return no_number(rule, err);
    if (sign == '-')
        rule->value = -rule->value;
    *at = end;
    return true;
}

bool nl_rule_parse(struct nl_rules *rules, const char *text, size_t *at, struct nl_rule *rule,
                   bool bare, struct nl_err *err)
{
    *rule = (struct nl_rule){.floor = NAN};
    if (!nl_metric_parse(text, at, &rule->metric, &rules->arena, err))
        return false;
    rule->text = nl_arena_text(&rules->arena, text, strlen(text));
    skip_blanks(text, at);
    if (!text[*at] && bare) {
        rule->bare = rule->relative = rule->percent = true;
        rule->op = rule->metric.less_is_worse ? NL_RULE_LESS : NL_RULE_MORE;
        rule->value = NAN;
        return true;
    }
    if (!take_op(text, at, &rule->op, err))
        return false;
    skip_blanks(text, at);
    return take_value(rule, text, at, err);
}

bool nl_rule_floor(struct nl_rule *rule, const char *text, struct nl_err *err)
{
    struct nl_rule copy = *rule;
    copy.relative = false;
    if (in_unit(&copy, nl_str(text), &rule->floor) && rule->floor >= 0)
        return true;
    rule->floor = NAN;
    return no_number(rule, err);
}

bool nl_rules_put(struct nl_rules *rules, const struct nl_rule *rule, struct nl_err *err)
{
    if (rules->count == NL_MAX_RULES)
        return nl_fail(err, NL_USAGE, "more than %d rules", NL_MAX_RULES);
    nl_grow(&rules->items, &rules->cap, rules->count + 1);
    rules->items[rules->count++] = *rule;
    return true;
}

bool nl_rules_add(struct nl_rules *rules, const char *text, struct nl_err *err)
{
    struct nl_rule rule;
    struct nl_err wrong = {0};
    size_t at = 0;
    if (nl_rule_parse(rules, text, &at, &rule, true, &wrong))
        return nl_rules_put(rules, &rule, err);
    return nl_fail(err, NL_USAGE, "rule '%.100s', column %zu: %s", text, at + 1, wrong.text);
}

bool nl_rules_default(struct nl_rules *rules, bool has_steps, struct nl_err *err)
{
    if (!has_steps)
        return nl_rules_add(rules, "time.mean", err);
    return nl_rules_add(rules, "step.p50", err);
}

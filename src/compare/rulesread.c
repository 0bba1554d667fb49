/*
 * Rules files, event by event of libyaml: a document is one mapping of `rules` (a list of rules as
 * texts, or mappings of `metric` or `fail_on`, `floor`, `name`), `allow` (a list of facts),
 * `on_inconclusive` and `tolerance`. Aliases are refused, so nothing grows.
 */
#include "compare/rulesread.h"
#include "compare/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/mem.h"

const char nl_rules_template[] =
    "# Rules of `neurolens check`: what stops a merge. docs/check.md explains all of it.\n"
    "rules:\n"
    "  # Against the baseline: a sign means a change. The typical step may take 3 % longer; what "
    "is\n"
    "  # caught for sure with 3 captures per side is about 5 %.\n"
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
    "# Of metrics without a limit: 2 % with 3 captures per side, 5 % with fewer, unless it stands "
    "here.\n"
    "# tolerance: 2%\n";

#define MAX_FILE ((size_t)1 << 20)
#define MAX_KEY  64

enum place { TOP, IN_RULES, IN_RULE, IN_ALLOW, OUTSIDE };

struct reader {
    struct nl_rules *rules;
    enum place place;
    char key[MAX_KEY]; /* whose value comes next; "" = a key comes */
    struct nl_rule rule;
    bool has_rule;
    const char *floor; /* of the rule, until the metric is known */
    size_t floor_line, floor_column;
    bool ended;
    const char *text; /* the file */
    size_t size;
    struct nl_err *err;
};

static bool refuse_at(struct reader *r, size_t line, size_t column, const char *why)
{
    return nl_fail(r->err, NL_USAGE, "line %zu, column %zu: %s", line + 1, column + 1, why);
}

static bool refuse_event(struct reader *r, const yaml_event_t *event, const char *why)
{
    return refuse_at(r, event->start_mark.line, event->start_mark.column, why);
}

static const char *scalar_text(const yaml_event_t *event)
{
    return (const char *)event->data.scalar.value;
}

/* The column of an offset within a scalar: quotes stand before it. */
static size_t column_in(const yaml_event_t *event, size_t at)
{
    bool quoted = event->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                  event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return event->start_mark.column + at + quoted;
}

static bool take_rule(struct reader *r, const yaml_event_t *event, bool bare)
{
    struct nl_err wrong = {0};
    size_t at = 0;
    if (strlen(scalar_text(event)) != event->data.scalar.length)
        return refuse_event(r, event, "expected a rule, found a NUL in it");
    if (nl_rule_parse(r->rules, scalar_text(event), &at, &r->rule, bare, &wrong))
        return r->has_rule = true;
    return refuse_at(r, event->start_mark.line, column_in(event, at), wrong.text);
}

static bool end_rule(struct reader *r, const yaml_event_t *event)
{
    struct nl_err wrong = {0};
    if (!r->has_rule)
        return refuse_event(r, event, "expected metric: or fail_on: in this rule");
    if (r->floor && !nl_rule_floor(&r->rule, r->floor, &wrong))
        return refuse_at(r, r->floor_line, r->floor_column,
                         "expected a number in the metric's unit, such as floor: 50us");
    r->has_rule = false;
    r->floor = NULL;
    return nl_rules_put(r->rules, &r->rule, r->err);
}

/* ---- values ---- */

static bool take_choice(struct reader *r, const yaml_event_t *event)
{
    static const char *const words[] = {"warn", "fail", "pass"};
    for (int i = 0; i < 3; i++)
        if (strcmp(scalar_text(event), words[i]) == 0) {
            r->rules->on_inconclusive = (enum nl_inconclusive)i;
            return true;
        }
    return refuse_event(r, event, "expected warn, fail or pass");
}

static bool take_tolerance(struct reader *r, const yaml_event_t *event)
{
    char *end;
    double value = strtod(scalar_text(event), &end);
    while (*end == ' ')
        end++;
    if (strcmp(end, "%") != 0 || !(value >= 0 && value < 1000))
        return refuse_event(r, event, "expected a share such as 2%");
    r->rules->tolerance = value / 100;
    return true;
}

static bool take_allowed(struct reader *r, const yaml_event_t *event)
{
    struct nl_err wrong = {0};
    return nl_rules_allow(r->rules, scalar_text(event), &wrong) ||
           refuse_event(r, event, wrong.text);
}

static bool take_value(struct reader *r, const yaml_event_t *event)
{
    char key[MAX_KEY];
    memcpy(key, r->key, sizeof key);
    r->key[0] = '\0';
    if (strcmp(key, "metric") == 0 || strcmp(key, "fail_on") == 0)
        return r->has_rule ? refuse_event(r, event, "expected one metric: or fail_on: in a rule")
                           : take_rule(r, event, strcmp(key, "metric") == 0);
    if (strcmp(key, "floor") == 0) {
        r->floor = nl_arena_text(&r->rules->arena, scalar_text(event), event->data.scalar.length);
        r->floor_line = event->start_mark.line;
        r->floor_column = event->start_mark.column;
        return true;
    }
    if (strcmp(key, "name") == 0) {
        r->rule.name =
            nl_arena_text(&r->rules->arena, scalar_text(event), event->data.scalar.length);
        return r->has_rule || refuse_event(r, event, "expected name: after metric: or fail_on:");
    }
    if (strcmp(key, "on_inconclusive") == 0)
        return take_choice(r, event);
    if (strcmp(key, "tolerance") == 0)
        return take_tolerance(r, event);
    return refuse_event(r, event,
                        strcmp(key, "rules") == 0 ? "expected a list of rules, each after a -"
                                                  : "expected a list in brackets");
}

static bool take_key(struct reader *r, const yaml_event_t *event)
{
    static const char *const top[] = {"rules", "allow", "on_inconclusive", "tolerance", NULL};
    static const char *const inner[] = {"metric", "fail_on", "floor", "name", NULL};
    const char *const *keys = r->place == TOP ? top : inner;
    for (size_t i = 0; keys[i]; i++)
        if (strcmp(keys[i], scalar_text(event)) == 0) {
            memcpy(r->key, keys[i], strlen(keys[i]) + 1);
            return true;
        }
    return refuse_event(r, event,
                        r->place == TOP ? "expected rules, allow, on_inconclusive or tolerance"
                                        : "expected metric, fail_on, floor or name");
}

static bool take_scalar(struct reader *r, const yaml_event_t *event)
{
    switch (r->place) {
    case TOP:
    case IN_RULE: return r->key[0] ? take_value(r, event) : take_key(r, event);
    case IN_RULES: return take_rule(r, event, true) && end_rule(r, event);
    case IN_ALLOW: return take_allowed(r, event);
    case OUTSIDE: /* a document of comments alone is one empty scalar */
        return !event->data.scalar.length || refuse_event(r, event, "expected rules:");
    }
    return false;
}

/* ---- nesting ---- */

static bool open_list(struct reader *r, const yaml_event_t *event)
{
    bool rules = strcmp(r->key, "rules") == 0, allow = strcmp(r->key, "allow") == 0;
    if (r->place != TOP || !(rules || allow))
        return refuse_event(r, event, "expected no list here");
    r->place = rules ? IN_RULES : IN_ALLOW;
    r->key[0] = '\0';
    return true;
}

static bool open_mapping(struct reader *r, const yaml_event_t *event)
{
    if (r->place == OUTSIDE && !r->ended) {
        r->place = TOP;
        return true;
    }
    if (r->place != IN_RULES)
        return refuse_event(r, event, "expected no mapping here");
    r->place = IN_RULE;
    return true;
}

static bool close_mapping(struct reader *r, const yaml_event_t *event)
{
    if (r->place == IN_RULE) {
        r->place = IN_RULES;
        return end_rule(r, event);
    }
    r->place = OUTSIDE;
    r->ended = true;
    return true;
}

static bool take_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return !r->ended || refuse_event(r, event, "expected one document only");
    case YAML_MAPPING_START_EVENT: return open_mapping(r, event);
    case YAML_MAPPING_END_EVENT: return close_mapping(r, event);
    case YAML_SEQUENCE_START_EVENT: return open_list(r, event);
    case YAML_SEQUENCE_END_EVENT: r->place = TOP; return true;
    case YAML_SCALAR_EVENT: return take_scalar(r, event);
    case YAML_ALIAS_EVENT: return refuse_event(r, event, "expected a value; aliases are not read");
    default: return true;
    }
}

/* A tab where the line's indentation is. */
static bool has_tab(const struct reader *r, size_t line)
{
    const char *at = r->text, *end = r->text + r->size;
    for (size_t i = 0; at && i < line; i++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : NULL;
    }
    while (at && at < end && *at == ' ')
        at++;
    return at && at < end && *at == '\t';
}

/* What the library says, and what was expected there. */
static bool no_yaml(struct reader *r, const yaml_parser_t *parser)
{
    size_t line = parser->problem_mark.line, column = parser->problem_mark.column;
    char why[160];
    if (has_tab(r, line))
        return refuse_at(r, line, column, "expected spaces; YAML takes no tab in front of a line");
    (void)snprintf(why, sizeof why, "expected YAML: %s",
                   parser->problem ? parser->problem : "the text cannot be read");
    return refuse_at(r, line, column, why);
}

static bool read_events(struct reader *r, yaml_parser_t *parser)
{
    bool done = true, more = true;
    while (done && more) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return no_yaml(r, parser);
        done = take_event(r, &event);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return done;
}

bool nl_rules_read(struct nl_rules *rules, const char *text, size_t size, struct nl_err *err)
{
    yaml_parser_t parser;
    struct reader r = {.rules = rules, .place = OUTSIDE, .text = text, .size = size, .err = err};
    if (size > MAX_FILE)
        return nl_fail(err, NL_LIMIT, "a rules file has at most 1 MiB");
    if (!yaml_parser_initialize(&parser))
        return nl_fail(err, NL_MEMORY, "no memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    bool done = read_events(&r, &parser);
    yaml_parser_delete(&parser);
    if (done && !r.ended)
        return nl_fail(err, NL_USAGE,
                       "line 1, column 1: expected rules:, allow:, on_inconclusive: or tolerance:; "
                       "`neurolens check init` writes a file with rules");
    return done;
}

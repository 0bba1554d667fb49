/* findingsjson — findings as the JSON of the command line's contract: see findings.h. */
#include <math.h>

#include "view/celltext.h"
#include "view/findings.h"

#define LINE_BYTES ((size_t)1 << 16)

static void put_i64(struct nl_json *json, const char *key, int64_t value)
{
    nl_json_put_i64(json, key, value, value != INT64_MIN);
}

static void put_evidence(struct nl_json *json, const struct nl_evidence *evidence)
{
    nl_json_open(json, '{');
    nl_json_put_text(json, "metric", evidence->metric);
    nl_json_key(json, "value");
    if (nl_findings_is_whole(evidence->meaning) && fabs(evidence->value) < 0x1p63)
        nl_json_i64(json, (int64_t)evidence->value);
    else
        nl_json_f64(json, evidence->value);
    nl_json_put_text(json, "threshold", evidence->threshold);
    nl_json_put_text(json, "says", evidence->says);
    nl_json_put_text(json, "query", evidence->query);
    nl_json_key(json, "examples");
    nl_json_open(json, '[');
    for (size_t i = 0; i < evidence->example_count; i++) {
        const struct nl_example *example = &evidence->examples[i];
        nl_json_open(json, '{');
        nl_json_put_text(json, "lane", example->lane);
        put_i64(json, "start_ns", example->start_ns);
        put_i64(json, "dur_ns", example->dur_ns);
        nl_json_put_text(json, "name", example->name);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
    nl_json_close(json, '}');
}

static void put_command(struct nl_json *json, const char *key, const char *text,
                        const struct nl_view_options *options)
{
    struct nl_buf line;
    nl_buf_init(&line, LINE_BYTES);
    nl_findings_command(&line, text, options);
    nl_json_put_text(json, key, line.ptr);
    nl_buf_release(&line);
}

static void put_check(struct nl_json *json, const struct nl_finding *finding,
                      const struct nl_view_options *options)
{
    struct nl_buf line;
    nl_buf_init(&line, LINE_BYTES);
    nl_json_put_text(json, "check", nl_findings_check(&line, finding, options) ? line.ptr : NULL);
    nl_buf_release(&line);
}

static void put_scope(struct nl_json *json, const struct nl_finding *finding)
{
    nl_json_key(json, "scope");
    nl_json_open(json, '{');
    put_i64(json, "rank", finding->rank);
    put_i64(json, "gpu", finding->device);
    nl_json_key(json, "steps");
    if (finding->steps[0] == INT64_MIN) {
        nl_json_null(json);
    } else {
        nl_json_open(json, '[');
        nl_json_i64(json, finding->steps[0]);
        nl_json_i64(json, finding->steps[1]);
        nl_json_close(json, ']');
    }
    put_i64(json, "devices", (int64_t)finding->devices);
    put_i64(json, "of_devices", (int64_t)finding->of_devices);
    nl_json_close(json, '}');
}

/* Up to `most`, or up to NULL. */
static void put_texts(struct nl_json *json, const char *key, const char *const *texts, size_t most)
{
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (size_t i = 0; i < most && texts[i]; i++)
        nl_json_text(json, texts[i]);
    nl_json_close(json, ']');
}

static void put_finding(struct nl_json *json, const struct nl_finding *finding,
                        const struct nl_view_options *options)
{
    nl_json_open(json, '{');
    nl_json_put_text(json, "id", finding->id);
    nl_json_put_text(json, "cause", finding->cause);
    nl_json_put_text(json, "title", finding->title);
    nl_json_put_text(json, "severity", nl_severity_name(finding->severity));
    nl_json_put_f64(json, "confidence", finding->confidence, true);
    put_i64(json, "cost_ns", finding->cost_ns);
    nl_json_put_f64(json, "cost_share", finding->cost_share, true);
    put_i64(json, "net_cost_ns", finding->net_cost_ns);
    put_i64(json, "net_saving_ns", finding->net_saving_ns);
    put_i64(json, "alone_ns", finding->alone_ns);
    put_i64(json, "claims_ns", finding->claims_ns);
    nl_json_put_text(json, "culprit", finding->culprit);
    put_texts(json, "also", finding->also, NL_FINDING_ALSO);
    put_texts(json, "alternatives", finding->alternatives, NL_FINDING_ALTERNATIVES);
    nl_json_put_text(json, "explained_by", finding->explained_by);
    nl_json_key(json, "saving_ns");
    nl_json_open(json, '[');
    nl_json_i64(json, finding->saving_ns[0]);
    nl_json_i64(json, finding->saving_ns[1]);
    nl_json_close(json, ']');
    put_scope(json, finding);
    nl_json_key(json, "evidence");
    nl_json_open(json, '[');
    for (size_t i = 0; i < finding->evidence_count; i++)
        put_evidence(json, &finding->evidence[i]);
    nl_json_close(json, ']');
    put_check(json, finding, options);
    nl_json_put_text(json, "not_this_if", finding->not_this_if);
    nl_json_key(json, "suggestions");
    nl_json_open(json, '[');
    for (const struct nl_suggestion *it = finding->suggestions; it && it->action; it++) {
        nl_json_open(json, '{');
        put_command(json, "do", it->action, options);
        nl_json_put_text(json, "why", it->why);
        put_command(json, "verify", it->verify, options);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
    nl_json_key(json, "needs");
    nl_json_open(json, '[');
    for (size_t i = 0; i < finding->need_count; i++) {
        nl_json_open(json, '{');
        nl_json_put_text(json, "missing", finding->needs[i].missing);
        nl_json_put_text(json, "why", finding->needs[i].why);
        nl_json_put_text(json, "record", finding->needs[i].record);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
    nl_json_close(json, '}');
}

void nl_findings_json(struct nl_json *json, const struct nl_findings *findings,
                      const struct nl_view_options *options)
{
    nl_json_key(json, "findings");
    nl_json_open(json, '[');
    for (size_t i = 0; i < findings->count; i++)
        put_finding(json, &findings->items[i], options);
    nl_json_close(json, ']');
    nl_json_key(json, "abstained");
    nl_json_open(json, '[');
    for (size_t i = 0; i < findings->abstained_count; i++) {
        nl_json_open(json, '{');
        nl_json_put_text(json, "cause", findings->abstained[i].cause);
        nl_json_put_text(json, "reason", findings->abstained[i].reason);
        nl_json_put_text(json, "record", findings->abstained[i].record);
        nl_json_close(json, '}');
    }
    nl_json_close(json, ']');
}

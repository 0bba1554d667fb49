/*
 * Thresholds from both sides. Each row of edges*.def is a made-up profile with one number in it: with the one a cause is silent,
 * with the next it speaks; and where it becomes critical. The numbers are worked out by hand from docs/findings.md.
 */
#include "check.h"
#include "edgesall.h"
#include "findings/scene.h"
#include "tables/memo.h"

static const struct nl_cause *cause_of(const char *id)
{
    static const struct nl_cause *const causes[] = {
#define NL_CAUSE(name, level, title) &nl_cause_##name,
#include "findings/causes.def"
    };
    for (size_t i = 0; i < CHECK_LENGTH(causes); i++)
        if (!strcmp(causes[i]->id, id))
            return causes[i];
    return NULL;
}

enum said { SILENT, SAID, CRITICAL, WRONG };

static enum said ask_scenes(const struct nl_cause *cause, const struct nl_scenes *scenes)
{
    enum said said = SILENT;
    for (size_t i = 0; i < scenes->count; i++) {
        struct nl_finding finding = {.cause = cause->id};
        nl_intervals_init(&finding.where);
        if (cause->evaluate(&scenes->items[i], &finding) == NL_CAUSE_FOUND && said != CRITICAL)
            said = finding.severity == NL_SEVERITY_CRITICAL ? CRITICAL : SAID;
        nl_intervals_release(&finding.where);
    }
    return said;
}

/* What the row's cause says of its profile with that x. */
static enum said ask(size_t row, int64_t x)
{
    struct nl_arena arena;
    struct nl_scenes devices, hosts = {0};
    const struct nl_cause *cause = cause_of(edges[row].cause);
    struct nl_trace *trace = edge_build(row, x);
    if (!trace || !cause)
        return WRONG;
    struct nl_analyze_options options = {0};
    options.memo = nl_memo_new(trace, &options.window);
    nl_arena_init(&arena);
    nl_scenes_init(&devices, trace, &options, &arena, 1);
    if (!devices.count)
        nl_scenes_init_cpu(&hosts, trace, &options, &arena);
    enum said said = ask_scenes(cause, devices.count ? &devices : &hosts);
    nl_scenes_release(&devices);
    nl_scenes_release(&hosts);
    nl_memo_free(options.memo);
    nl_arena_free(&arena);
    nl_trace_free(trace);
    return said;
}

static void begins_where_it_says(void)
{
    for (size_t i = 0; i < EDGES; i++) {
        char label[200];
        snprintf(label, sizeof label, "%s: %s, %s", edges[i].cause, edges[i].what, edges[i].arg);
        check_case(label);
        CHECK_INT(ask(i, edges[i].silent), SILENT);
        enum said said = ask(i, edges[i].said);
        CHECK(said == SAID || said == CRITICAL);
        if (!edges[i].critical)
            continue;
        enum said warning = ask(i, edges[i].warning);
        CHECK(warning == SAID || (warning == SILENT && edges[i].warning == edges[i].silent));
        CHECK_INT(ask(i, edges[i].critical), CRITICAL);
    }
}

CHECK_MAIN("edges", {"causes begin where their thresholds are", begins_where_it_says})

/*
 * surer — what to record next so that a finding is surer: rows of surer.def whose need the profile
 * does not meet, with the option of the tool that wrote it.
 */
#include "findings/recordadvice.h"
#include "findings/surer.h"

static const struct {
    const char *cause;
    struct nl_need need;
    const char *why;
} rows[] = {
#define NL_SURER(cause, table, column, why) {cause, {table, column}, why},
#include "findings/surer.def"
};

/* Steps may be known without having been marked. */
static bool is_known(const struct nl_finding *finding, const struct nl_need *need,
                     const struct nl_trace *trace)
{
    if (need->table == NL_T_step && finding->steps[0] != NL_NULL_I64)
        return true;
    return nl_need_is_met(need, trace);
}

void nl_finding_surer(struct nl_finding *finding, const struct nl_trace *trace,
                      struct nl_arena *arena)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct nl_need *need = &rows[i].need;
        bool applies = !strcmp(rows[i].cause, finding->cause) ||
                       (!strcmp(rows[i].cause, "any") && !finding->validity);
        if (!applies || finding->need_count == NL_FINDING_NEEDS || is_known(finding, need, trace))
            continue;
        const char *record = nl_advice_record(trace, need), *table = nl_tables[need->table].sql;
        if (!record)
            continue;
        finding->needs[finding->need_count++] = (struct nl_finding_need){
            .missing = need->column ? nl_arena_format(arena, "%s.%s", table, need->column) : table,
            .why = rows[i].why,
            .record = record};
    }
}

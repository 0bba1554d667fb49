/* The table function detected_steps: iterations however they are known (stepfind.h). */
#include <string.h>

#include "account/devicesteps.h"
#include "base/mem.h"
#include "timeline/stepfind.h"
#include "sql/tablecells.h"

/* Bits of the method named by an argument; all without one; 0 and a message when there is none. */
static unsigned methods_of(struct nl_tf_call *call, sqlite3_value *value)
{
    if (!nl_argument_given(value))
        return (1u << NL_STEP_METHODS) - 1;
    const char *text = (const char *)sqlite3_value_text(value);
    for (unsigned method = 0; text && method < NL_STEP_METHODS; method++)
        if (!strcmp(text, nl_step_method_text(method)))
            return 1u << method;
    sqlite3_snprintf(sizeof call->message, call->message,
                     "\"%s\" is not a way to find steps: use marked, ranges or launches",
                     text ? text : "");
    return 0;
}

static bool open_steps(struct nl_tf_call *call, sqlite3_value **args)
{
    unsigned methods = methods_of(call, args[0]);
    if (!methods)
        return false;
    struct nl_found_steps *found = nl_alloc(sizeof *found);
    nl_steps_find_by(call->db->trace, methods, found);
    nl_steps_as_run(call->db->trace, found);
    call->state = found;
    call->rows = found->count;
    return true;
}

static void close_steps(struct nl_tf_call *call)
{
    nl_steps_release(call->state);
    nl_free(call->state);
}

static const struct nl_step_group *group_of(const struct nl_found_steps *found, size_t row)
{
    const struct nl_step_group *group = found->groups;
    while (row >= group->first + group->count)
        group++;
    return group;
}

#define STEP_COLUMNS(C, P)                                                                         \
    C(P, rank, "INTEGER", "rank, NULL where not known")                                            \
    C(P, index, "INTEGER", "number as marked; else 0, 1, …")                                       \
    C(P, ts, "INTEGER NS", "start, where the devices ran the step")                                \
    C(P, dur, "INTEGER NS", "duration")                                                            \
    C(P, name, "TEXT", "name of the mark, or of the kernel it begins with")                        \
    C(P, phase, "TEXT",                                                                            \
      "steady, warm-up, compile or last (of launches: ends with its last kernel)")                 \
    C(P, method, "TEXT", "marked, ranges or launches")                                             \
    C(P, confidence, "REAL", "how sure that these are the iterations, 0 to 1")                     \
    C(P, pattern, "TEXT", "what the texts of the ranges have in common")                           \
    C(P, marked_ts, "INTEGER NS", "start as the CPU marked it")                                    \
    C(P, marked_dur, "INTEGER NS", "duration as the CPU marked it")
NL_TF_COLUMNS(step_columns, STEP, STEP_COLUMNS);

static void step_column(const struct nl_tf_call *call, size_t row, int column,
                        sqlite3_context *context)
{
    const struct nl_found_steps *found = call->state;
    const struct nl_found_step *step = &found->items[row];
    const struct nl_step_group *group = group_of(found, row);
    switch (column) {
    case STEP_rank: nl_show_int(context, group->rank); break;
    case STEP_index: nl_show_int(context, step->index); break;
    case STEP_ts: nl_show_int(context, step->start - call->db->origin); break;
    case STEP_dur: nl_show_int(context, step->end - step->start); break;
    case STEP_name: nl_show_name(context, call, step->name); break;
    case STEP_phase: nl_show_text(context, nl_step_phase_text(step->phase)); break;
    case STEP_method: nl_show_text(context, nl_step_method_text(group->method)); break;
    case STEP_confidence: nl_show_real(context, group->confidence); break;
    case STEP_pattern: nl_show_text(context, group->pattern); break;
    case STEP_marked_ts: nl_show_int(context, step->marked_start - call->db->origin); break;
    default: nl_show_int(context, step->marked_end - step->marked_start); break;
    }
}

const struct nl_table_function nl_tf_detected_steps = {
    .name = "detected_steps",
    .signature = "detected_steps(only_method)",
    .doc = "Iterations per rank: as marked (table steps), else from ranges whose text looks like "
           "an iteration, else from the repeating launch sequence. ts and dur are when the devices "
           "ran them. Warm-up and compile steps are included, with their phase. docs/steps.md has "
           "the rules.",
    .example = "SELECT rank, avg(dur) FROM detected_steps WHERE phase = 'steady' GROUP BY rank",
    .columns = step_columns,
    .arguments =
        (const struct nl_tf_column[]){{"only_method", "TEXT", "look in this way only"}, {0}},
    .listed = true,
    .open = open_steps,
    .column = step_column,
    .close = close_steps};

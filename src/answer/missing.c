/*
 * missing — what this profile cannot show because it was not recorded, and how to record it. The
 * needs of the analyses say what is missing, recordadvice.h how to record it.
 */
#include "findings/recordadvice.h"
#include "tables/resultcells.h"

#include <string.h>

#define COLUMNS(C)                                                                                 \
    C(missing, NULL, TEXT)                                                                         \
    C(answers, "cannot tell", TEXT)                                                                \
    C(format, "read as", TEXT)                                                                     \
    C(record, "record it with", TEXT)
NL_COLUMNS(COLUMNS);

/* Whether the trace has any work on a device: without it, only the CPU side can be missing. */
static bool is_device_table(enum nl_table_id table)
{
    return table == NL_T_copy || table == NL_T_api || table == NL_T_sync || table == NL_T_counter;
}

/* Whether ranges in which kernels of graph replays were captured hold what
 * the host's table does not. */
static bool is_captured(const struct nl_trace *trace, enum nl_table_id table)
{
    static const struct {
        enum nl_table_id table;
        enum nl_kind kind;
    } kinds[] = {{NL_T_op, NL_KIND_OP}, {NL_T_layer, NL_KIND_LAYER}, {NL_T_python, NL_KIND_PYTHON}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && trace->captured.rows; i++)
        if (kinds[i].table == table)
            return memchr(trace->captured.kind, kinds[i].kind, trace->captured.rows) != NULL;
    return false;
}

/* Names of the analyses whose first unmet need this is, joined by commas; NULL when none. */
static const char *unanswered(struct nl_result *result, const struct nl_trace *trace,
                              const struct nl_advice *advice)
{
    const char *names = NULL;
    for (size_t i = 0; nl_analyses[i]; i++) {
        const struct nl_need *need = nl_analysis_lacks(nl_analyses[i], trace);
        if (!need || need->table != advice->need.table)
            continue;
        const char *column = advice->need.column;
        if (need->column ? !column || strcmp(need->column, column) != 0 : column != NULL)
            continue;
        names = names ? nl_arena_format(&result->arena, "%s, %s", names, nl_analyses[i]->name)
                      : nl_analyses[i]->name;
    }
    return names;
}

/* The format is already among the rows for this advice. */
static bool is_said(const struct nl_result *result, size_t first_row, struct nl_str format)
{
    for (size_t row = first_row; row < result->rows; row++)
        if (nl_str_eq(nl_result_cell(result, row, AT_format)->text, format))
            return true;
    return false;
}

static void add_advice(struct nl_result *result, const struct nl_trace *trace,
                       const struct nl_advice *advice)
{
    const char *names = unanswered(result, trace, advice);
    size_t first_row = result->rows;
    if (!names)
        return;
    for (uint32_t source = 0; source < trace->source.rows; source++) {
        struct nl_str format = nl_trace_name(trace, trace->source.format[source]);
        if (!nl_advice_is_for(advice, format) || is_said(result, first_row, format))
            continue;
        const char *table = nl_tables[advice->need.table].sql;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_missing] =
            nl_cell_static(advice->need.column ? nl_arena_format(&result->arena, "%s.%s", table,
                                                                 advice->need.column)
                                               : table);
        cells[AT_answers] = nl_cell_static(names);
        cells[AT_format] = nl_cell_text(result, format);
        cells[AT_record] = nl_cell_static(advice->record);
    }
}

static struct nl_result *missing_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("missing", NULL, columns);
    bool device = nl_has_device_work(trace);
    for (size_t i = 0; nl_advices[i].formats; i++)
        if ((device || !is_device_table(nl_advices[i].need.table)) &&
            !is_captured(trace, nl_advices[i].need.table))
            add_advice(result, trace, &nl_advices[i]);
    return result;
}

const struct nl_analysis nl_analysis_missing = {
    .name = "missing",
    .key = "missing",
    .title = "Not recorded, and how to record it",
    .run = missing_run,
    .doc = "Tables (or columns) that are empty although an analysis needs them, the analyses that "
           "cannot answer without them, and the option of the recording tool that fills them.",
};

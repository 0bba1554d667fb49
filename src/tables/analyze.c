/*
 * analyze — the list of analyses, and what is common to running them.
 */
#include "tables/analyses.h"

#include "base/wide.h"
#include "tables/memo.h"

const struct nl_analysis *const nl_analyses[] = {
#define NL_ANALYSIS(name) &nl_analysis_##name,
#include "tables/analyses.def"
#undef NL_ANALYSIS
    NULL};

const struct nl_analysis *nl_analysis_find(const char *name)
{
    for (size_t i = 0; nl_analyses[i]; i++)
        if (!strcmp(nl_analyses[i]->name, name) || !strcmp(nl_analyses[i]->key, name))
            return nl_analyses[i];
    return NULL;
}

/* Whether any of a column's values is not its type's "unknown"; looked at in blocks, so that a
 * column with known values costs nothing and one without as little as reading it. */
#define BLOCK 4096u
#define FIND_KNOWN(name, type, is_known)                                                           \
    NL_WIDE static bool name(const type *values, uint32_t rows)                                    \
    {                                                                                              \
        unsigned known = 0;                                                                        \
        for (uint32_t from = 0; !known && from < rows; from += BLOCK) {                            \
            uint32_t end = rows - from < BLOCK ? rows : from + BLOCK;                              \
            for (uint32_t i = from; i < end; i++)                                                  \
                known |= is_known;                                                                 \
        }                                                                                          \
        return known;                                                                              \
    }

FIND_KNOWN(any_i64, int64_t, values[i] != NL_NULL_I64)
FIND_KNOWN(any_u64, uint64_t, values[i] != NL_NULL_U64)
FIND_KNOWN(any_f64, double, values[i] == values[i])
FIND_KNOWN(any_u32, uint32_t, values[i] != NL_NULL_U32)
FIND_KNOWN(any_name, uint32_t, values[i] != NL_NO_NAME)
FIND_KNOWN(any_u16, uint16_t, values[i] != 0)
FIND_KNOWN(any_u8, uint8_t, values[i] != 0)

static bool any_known(const void *array, const struct nl_column_def *column, uint32_t rows)
{
    switch (column->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: return any_i64(array, rows);
    case NL_TYPE_U64: return any_u64(array, rows);
    case NL_TYPE_F64: return any_f64(array, rows);
    case NL_TYPE_U32:
    case NL_TYPE_REF: return any_u32(array, rows);
    case NL_TYPE_NAME: return any_name(array, rows);
    case NL_TYPE_U16: return any_u16(array, rows);
    case NL_TYPE_U8:
    case NL_TYPE_ENUM: return any_u8(array, rows);
    }
    return false;
}

bool nl_need_is_met(const struct nl_need *need, const struct nl_trace *trace)
{
    uint32_t rows = nl_trace_rows(trace, need->table);
    if (!rows || !need->column)
        return rows != 0;
    const struct nl_column_def *column = nl_table_column(need->table, need->column);
    if (!column || column->hop != NL_HOP_NONE)
        NL_BUG("an analysis needs a column that schema.def does not store");
    return any_known(nl_trace_column(trace, column), column, rows);
}

const struct nl_need *nl_analysis_lacks(const struct nl_analysis *analysis,
                                        const struct nl_trace *trace)
{
    if (analysis->instead && nl_need_is_met(analysis->instead, trace))
        return NULL;
    for (unsigned i = 0; i < analysis->need_count; i++)
        if (!nl_need_is_met(&analysis->needs[i], trace))
            return &analysis->needs[i];
    return NULL;
}

struct nl_result *nl_analysis_run(const struct nl_analysis *analysis, const struct nl_trace *trace,
                                  const struct nl_analyze_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    if (nl_job_cancelled(job)) {
        nl_fail(err, NL_INTERRUPTED, "stopped before %s", analysis->name);
        return NULL;
    }
    struct nl_analyze_options with_memo = *options;
    struct nl_memo *own = options->memo ? NULL : nl_memo_new(trace, &options->window);
    if (own)
        with_memo.memo = own;
    struct nl_result *result = analysis->run(trace, &with_memo, job, err);
    nl_memo_free(own);
    if (!result)
        return NULL;
    result->name = analysis->key;
    result->title = result->title ? result->title : analysis->title;
    nl_analysis_cut(result, options->limit);
    return result;
}

void nl_analysis_cut(struct nl_result *result, size_t limit)
{
    if (!limit || result->rows <= limit)
        return;
    const char *cut =
        nl_arena_format(&result->arena, "the first %zu of %zu rows", limit, result->rows);
    result->note =
        result->note ? nl_arena_format(&result->arena, "%s; %s", cut, result->note) : cut;
    result->rows = limit;
    result->truncated = true;
}

void nl_analyze_document(struct nl_buf *out)
{
    for (size_t i = 0; nl_analyses[i]; i++) {
        const struct nl_analysis *analysis = nl_analyses[i];
        nl_buf_format(out, "%s### `%s`\n\n**%s.**", i ? "\n" : "", analysis->name, analysis->title);
        for (unsigned n = 0; n < analysis->need_count; n++) {
            const struct nl_need *need = &analysis->needs[n];
            nl_buf_format(out, "%s`%s%s%s`", n ? ", " : " Needs ", nl_tables[need->table].sql,
                          need->column ? "." : "", need->column ? need->column : "");
        }
        if (analysis->instead)
            nl_buf_format(out, " or `%s`", nl_tables[analysis->instead->table].sql);
        nl_buf_format(out, "%s\n\n%s\n", analysis->need_count ? "." : "", analysis->doc);
    }
}

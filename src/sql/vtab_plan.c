/*
 * xBestIndex: which constraints and which order are taken over, and what that costs.
 *
 * Everything that vtab_filter.c can test is taken. `omit` (SQLite need not check again) is set when
 * our answer is SQLite's in every case; the exceptions are text columns compared with something
 * that may not be text at run time, and real columns. A comparison with a constant costs one scan;
 * with a value that only run time knows (a join, a correlated subquery) the sorted index of
 * vtab_lookup.c is asked for.
 */
#include <string.h>

#include "sql/vtab.h"

static int op_of(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return NL_OP_EQ;
    case SQLITE_INDEX_CONSTRAINT_LT: return NL_OP_LT;
    case SQLITE_INDEX_CONSTRAINT_LE: return NL_OP_LE;
    case SQLITE_INDEX_CONSTRAINT_GT: return NL_OP_GT;
    case SQLITE_INDEX_CONSTRAINT_GE: return NL_OP_GE;
    case SQLITE_INDEX_CONSTRAINT_IS: return NL_OP_IS;
    case SQLITE_INDEX_CONSTRAINT_ISNULL: return NL_OP_NULL;
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL: return NL_OP_NOT_NULL;
    case SQLITE_INDEX_CONSTRAINT_GLOB: return NL_OP_GLOB;
    case SQLITE_INDEX_CONSTRAINT_LIKE: return NL_OP_LIKE;
    default: return 0;
    }
}

static bool is_equality(int op)
{
    return op == NL_OP_EQ || op == NL_OP_IS;
}

static bool is_range(int op)
{
    return op == NL_OP_LT || op == NL_OP_LE || op == NL_OP_GT || op == NL_OP_GE;
}

static bool is_text(const struct nl_vcolumn *column)
{
    return column->shown == NL_SHOWN_NAME || column->shown == NL_SHOWN_ENUM;
}

/* The constraint's constant, NULL when only run time knows it. */
static sqlite3_value *constant(sqlite3_index_info *info, int i)
{
    sqlite3_value *value = NULL;
#if NL_SQLITE_338
    if (sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK)
        return NULL;
#else
    (void)info;
    (void)i;
#endif
    return value;
}

/* How many different values a column may have, roughly. */
static double distinct(const struct nl_vtab *vtab, const struct nl_vcolumn *column)
{
    const struct nl_trace *trace = vtab->db->trace;
    double rows = vtab->rows + 1.0, stored, values;
    if (!column->def)
        return rows;
    stored = nl_trace_rows(trace, column->def->storage) + 1.0;
    switch (column->def->type) {
    case NL_TYPE_U8:
    case NL_TYPE_U16:
    case NL_TYPE_U32: values = 64; break;
    case NL_TYPE_ENUM: values = nl_enum_count(column->def->enumeration); break;
    case NL_TYPE_NAME: values = trace->names.count / 4 + 1.0; break;
    case NL_TYPE_REF: values = nl_trace_rows(trace, column->def->target) + 1.0; break;
    default: values = rows;
    }
    values = values < stored ? values : stored;
    return values < rows ? values : rows;
}

static double share(const struct nl_vtab *vtab, const struct nl_vcolumn *column, int op)
{
    double one = 1.0 / distinct(vtab, column);
    switch (op) {
    case NL_OP_EQ:
    case NL_OP_IS: return one;
    case NL_OP_IN: return one * 4 < 1 ? one * 4 : 1;
    case NL_OP_NOT_NULL: return 0.9;
    case NL_OP_NULL:
    case NL_OP_GLOB:
    case NL_OP_LIKE: return 0.1;
    default: return 0.3;
    }
}

struct choice {
    char text[3 * NL_MAX_TERMS + 3 * NL_MAX_ORDER + 8];
    size_t len;
    unsigned terms;
    double share;
    bool unique; /* id = value */
    int lookup;  /* column to look up, with its number of distinct values */
    bool lookup_equal;
    double lookup_distinct;
};

static void put_plan_term(struct choice *choice, char letter, unsigned column)
{
    choice->text[choice->len++] = letter;
    choice->text[choice->len++] = (char)('a' + column / 26);
    choice->text[choice->len++] = (char)('a' + column % 26);
}

static bool is_null_test(int op)
{
    return op == NL_OP_NULL || op == NL_OP_NOT_NULL;
}

/* The operator as taken over, 0 when the constraint is left to SQLite. */
static int taken_op(sqlite3_index_info *info, int i, const struct nl_vcolumn *column)
{
    int op = op_of(info->aConstraint[i].op);
    bool compares_text = is_text(column) && (is_equality(op) || is_range(op));
    if (op == 0 || !info->aConstraint[i].usable)
        return 0;
    if (column->shown == NL_SHOWN_TEXT && !is_null_test(op))
        return 0;
    if ((op == NL_OP_GLOB || op == NL_OP_LIKE) && !is_text(column))
        return 0;
    if (compares_text && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
        return 0;
#if NL_SQLITE_338
    if (op == NL_OP_EQ && column->shown != NL_SHOWN_REAL && sqlite3_vtab_in(info, i, 1))
        return NL_OP_IN;
#endif
    return op;
}

/* Whether our test is exactly SQLite's. */
static bool exact(sqlite3_index_info *info, int i, const struct nl_vcolumn *column, int op)
{
    if (is_null_test(op) || op == NL_OP_IN)
        return true;
    if (column->shown == NL_SHOWN_INTEGER)
        return true;
    if (op == NL_OP_LIKE) /* omitted, SQLite 3.40 tests it after a LEFT JOIN's row of NULLs */
        return false;
    sqlite3_value *value = constant(info, i);
    return is_text(column) && value && sqlite3_value_type(value) == SQLITE_TEXT;
}

static void consider_lookup(struct choice *choice, const struct nl_vtab *vtab, unsigned number,
                            int op)
{
    const struct nl_vcolumn *column = &vtab->columns[number];
    bool equal = is_equality(op);
    if (column->shown == NL_SHOWN_REAL || !column->def)
        return;
    if (!equal && !(is_range(op) && column->shown == NL_SHOWN_INTEGER))
        return;
    double values = distinct(vtab, column);
    if (choice->lookup >= 0 && choice->lookup_equal >= equal &&
        (choice->lookup_equal > equal || choice->lookup_distinct >= values))
        return;
    choice->lookup = (int)number;
    choice->lookup_equal = equal;
    choice->lookup_distinct = values;
}

static void take_constraints(struct nl_vtab *vtab, sqlite3_index_info *info, struct choice *choice)
{
    for (int i = 0; i < info->nConstraint && choice->terms < NL_MAX_TERMS; i++) {
        int number = info->aConstraint[i].iColumn;
        unsigned at = number < 0 ? vtab->column_count : (unsigned)number;
        const struct nl_vcolumn *column = &vtab->columns[at];
        int op = taken_op(info, i, column);
        if (!op)
            continue;
        put_plan_term(choice, (char)op, at);
        info->aConstraintUsage[i].argvIndex = (int)++choice->terms;
        info->aConstraintUsage[i].omit = exact(info, i, column, op);
        choice->share *= share(vtab, column, op);
        if (op == NL_OP_EQ && !column->def)
            choice->unique = true;
        if (!constant(info, i))
            consider_lookup(choice, vtab, at, op);
    }
}

/* Sorting the rows found needs memory; within the budget it is far cheaper than SQLite's. */
static bool order_fits(const struct nl_vtab *vtab)
{
    const struct nl_job *job = vtab->db->job;
    uint64_t need = (uint64_t)vtab->rows * (2 * sizeof(struct nl_keyed) + sizeof(uint32_t));
    return !job || !job->memory_bytes || need < job->memory_bytes / 2;
}

/* Terms that are ours to sort by: not too many, and none that only SQLite can compare. */
static bool can_order(const struct nl_vtab *vtab, const sqlite3_index_info *info)
{
    if (info->nOrderBy <= 0 || info->nOrderBy > NL_MAX_ORDER)
        return false;
    for (int i = 0; i < info->nOrderBy; i++)
        if (info->aOrderBy[i].iColumn >= 0 &&
            vtab->columns[info->aOrderBy[i].iColumn].shown == NL_SHOWN_TEXT)
            return false;
    return true;
}

static void take_order(struct nl_vtab *vtab, sqlite3_index_info *info, struct choice *choice)
{
    if (!can_order(vtab, info))
        return;
        /* DISTINCT alone needs equal rows together, in any order. For GROUP BY SQLite says the
         * same although it leaves an ORDER BY of the same columns out (1; so does 3.40), so
         * there the order is kept. */
#if NL_SQLITE_338
    bool grouping = sqlite3_vtab_distinct(info) == 2;
#else
    bool grouping = false;
#endif
    int first = info->aOrderBy[0].iColumn;
    unsigned leading = first < 0 ? vtab->column_count : (unsigned)first;
    if (info->nOrderBy == 1 && !info->aOrderBy[0].desc && choice->lookup < 0 &&
        nl_vcolumn_ascending(vtab, &vtab->columns[leading])) {
        info->orderByConsumed = 1; /* in stored order */
        return;
    }
    if (!order_fits(vtab))
        return;
    choice->text[choice->len++] = '|';
    for (int i = 0; i < info->nOrderBy; i++) {
        int number = info->aOrderBy[i].iColumn;
        put_plan_term(choice,
                      grouping                 ? 'g'
                      : info->aOrderBy[i].desc ? 'd'
                                               : 'a',
                      number < 0 ? vtab->column_count : (unsigned)number);
    }
    info->orderByConsumed = 1;
}

int nl_plan_best(struct nl_vtab *vtab, sqlite3_index_info *info)
{
    struct choice choice = {.share = 1, .lookup = -1};
    take_constraints(vtab, info, &choice);
    take_order(vtab, info, &choice);
    double rows = vtab->rows, found = choice.unique ? 1 : rows * choice.share;
    double cost = choice.terms ? rows * 0.05 + found : rows;
    if (choice.unique) {
        cost = 2;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    } else if (choice.lookup >= 0) {
        put_plan_term(&choice, '@', (unsigned)choice.lookup);
        cost = 20 + (choice.lookup_equal ? rows / choice.lookup_distinct : rows * 0.1);
    }
    info->estimatedRows = found < 1 ? 1 : (sqlite3_int64)found;
    info->estimatedCost = cost + 1 + (info->orderByConsumed ? found * 0.1 : 0);
    info->idxNum = (int)(info->colUsed & INT32_MAX);
    choice.text[choice.len] = '\0';
    info->idxStr = sqlite3_mprintf("%s", choice.text);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static unsigned column_at(const char *text)
{
    return (unsigned)(text[0] - 'a') * 26 + (unsigned)(text[1] - 'a');
}

void nl_plan_read(struct nl_plan *plan, const char *text)
{
    plan->term_count = plan->order_count = 0;
    plan->lookup = -1;
    bool order = false;
    while (*text) {
        if (*text == '|') {
            order = true;
            text++;
            continue;
        }
        if (*text == '@') {
            plan->lookup = (int)column_at(text + 1);
        } else if (order) {
            plan->order[plan->order_count].direction = *text;
            plan->order[plan->order_count++].column = column_at(text + 1);
        } else {
            plan->terms[plan->term_count].op = (enum nl_op) * text;
            plan->terms[plan->term_count++].column = column_at(text + 1);
        }
        text += 3;
    }
}

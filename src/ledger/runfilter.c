/*
 * Filters become conditions on run numbers, each answered from a separate index.
 */
#define _GNU_SOURCE
#include "ledger/runfilter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define MAX_SQL         NL_FILTER_SQL
#define MAX_LISTED_ROWS 2000  /* up to this many matching rows, always list them */
#define MIN_WALKED_ROWS 30000 /* rows over which listing costs more than walking the runs */

/* In the order in which they are looked for: longer ones first. */
enum op { OP_NOT, OP_LEAST, OP_MOST, OP_EQUAL, OP_MORE, OP_LESS, OP_CONTAINS };
static const struct {
    const char *text, *sql;
    enum op op;
} ops[] = {
    {"!=", "<>", OP_NOT}, {">=", ">=", OP_LEAST}, {"<=", "<=", OP_MOST},    {"=", "=", OP_EQUAL},
    {">", ">", OP_MORE},  {"<", "<", OP_LESS},    {"~", NULL, OP_CONTAINS},
};
#define OPS (sizeof ops / sizeof ops[0])

/* Beyond the ceiling the filter is refused when all of it was read (add_filter). */
static void bind_value(struct nl_runfilter *filter, struct nl_filter_value value)
{
    if (filter->value_count < NL_FILTER_VALUES)
        filter->values[filter->value_count] = value;
    filter->value_count++;
}

static void bind_text(struct nl_runfilter *filter, const char *text)
{
    bind_value(filter, (struct nl_filter_value){.type = NL_CELL_TEXT, .text = text});
}

static bool has_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static bool is_equality(size_t op)
{
    return ops[op].op == OP_EQUAL || ops[op].op == OP_NOT;
}

/* "a|b": the alternatives one by one. NULL at the end. */
static const char *next_alternative(struct nl_runfilter *filter, const char **rest)
{
    const char *at = *rest;
    if (!at)
        return NULL;
    size_t len = strcspn(at, "|");
    *rest = at[len] ? at + len + 1 : NULL;
    return nl_arena_text(&filter->arena, at, len);
}

/* "column OP ?" for a text. */
static void one_text(struct nl_runfilter *filter, struct nl_buf *where, const char *column,
                     size_t op, const char *text)
{
    if (ops[op].op == OP_CONTAINS)
        nl_buf_format(where, "instr(lower(%s), lower(?)) > 0", column);
    else if (is_equality(op) && has_pattern(text))
        nl_buf_format(where, "lower(%s) %sGLOB lower(?)", column,
                      ops[op].op == OP_NOT ? "NOT " : "");
    else
        nl_buf_format(where, "%s %s ?", column, ops[op].sql);
    bind_text(filter, text);
}

/* Any of several, or none of them. */
static void text_condition(struct nl_runfilter *filter, struct nl_buf *where, const char *column,
                           size_t op, const char *text)
{
    const char *rest = text;
    if (!strchr(text, '|') || !(is_equality(op) || ops[op].op == OP_CONTAINS)) {
        one_text(filter, where, column, op, text);
        return;
    }
    for (const char *one = next_alternative(filter, &rest), *glue = "("; one;
         one = next_alternative(filter, &rest), glue = ops[op].op == OP_NOT ? " AND " : " OR ") {
        nl_buf_text(where, glue);
        one_text(filter, where, column, op, one);
    }
    nl_buf_char(where, ')');
}

static bool read_number(const struct nl_field *field, const char *text,
                        struct nl_filter_value *value)
{
    bool is_whole;
    *value = (struct nl_filter_value){.type = NL_CELL_I64};
    if (!nl_runfield_number(field, text, &value->f64, &value->i64, &is_whole))
        return false;
    if (!is_whole)
        value->type = NL_CELL_F64;
    return true;
}

/* "low..high", both included; a day is one, too: from its first moment to its last. */
static bool read_range(struct nl_runfilter *filter, const struct nl_field *field, const char *text,
                       struct nl_filter_value ends[2])
{
    const char *dots = strstr(text, "..");
    const char *low = dots ? nl_arena_text(&filter->arena, text, (size_t)(dots - text)) : text;
    const char *high = dots ? dots + 2 : text;
    if (!dots && !nl_runfield_is_day(field, text))
        return false;
    if (!read_number(field, low, &ends[0]) || !read_number(field, high, &ends[1]))
        return false;
    if (nl_runfield_is_day(field, high))
        ends[1].i64 += NL_DAY_NS - 1;
    return true;
}

static bool one_number(struct nl_runfilter *filter, struct nl_buf *where,
                       const struct nl_field *field, const char *column, size_t op,
                       const char *text)
{
    struct nl_filter_value ends[2];
    if (is_equality(op) && read_range(filter, field, text, ends)) {
        nl_buf_format(where, "%s %sBETWEEN ? AND ?", column, ops[op].op == OP_NOT ? "NOT " : "");
        bind_value(filter, ends[0]);
        bind_value(filter, ends[1]);
        return true;
    }
    if (ops[op].op == OP_CONTAINS || !read_number(field, text, &ends[0]))
        return false;
    nl_buf_format(where, "%s %s ?", column, ops[op].sql);
    bind_value(filter, ends[0]);
    return true;
}

static bool number_condition(struct nl_runfilter *filter, struct nl_buf *where,
                             const struct nl_field *field, const char *column, size_t op,
                             const char *text)
{
    const char *rest = text;
    if (!strchr(text, '|') || !is_equality(op))
        return one_number(filter, where, field, column, op, text);
    for (const char *one = next_alternative(filter, &rest), *glue = "("; one;
         one = next_alternative(filter, &rest), glue = ops[op].op == OP_NOT ? " AND " : " OR ") {
        nl_buf_text(where, glue);
        if (!one_number(filter, where, field, column, op, one))
            return false;
    }
    nl_buf_char(where, ')');
    return true;
}

sqlite3_stmt *nl_runfilter_prepare(struct nl_runfilter *filter, const char *sql, size_t first,
                                   struct nl_err *err)
{
    sqlite3_stmt *rows = NULL;
    int code = sqlite3_prepare_v2(filter->ledger->db, sql, -1, &rows, NULL);
    if (code != SQLITE_OK) {
        nl_ledgerdb_fail(err, filter->ledger, code);
        return NULL;
    }
    for (size_t i = first; i < filter->value_count && i < NL_FILTER_VALUES; i++) {
        const struct nl_filter_value *value = &filter->values[i];
        int place = (int)(i - first) + 1;
        if (value->type == NL_CELL_I64)
            sqlite3_bind_int64(rows, place, value->i64);
        else if (value->type == NL_CELL_F64)
            sqlite3_bind_double(rows, place, value->f64);
        else
            sqlite3_bind_text(rows, place, value->text, -1, SQLITE_STATIC);
    }
    return rows;
}

/* How many rows of `table` the condition matches; counting stops at MIN_WALKED_ROWS. Its values are
 * those from `first` on. */
static bool count_matches(struct nl_runfilter *filter, const char *table,
                          const struct nl_buf *inner, size_t first, int64_t *count,
                          struct nl_err *err)
{
    struct nl_buf sql;
    nl_buf_init(&sql, MAX_SQL);
    nl_buf_format(&sql, "SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %d)", table,
                  inner->ptr, MIN_WALKED_ROWS);
    sqlite3_stmt *rows = nl_runfilter_prepare(filter, sql.ptr, first, err);
    nl_buf_release(&sql);
    if (!rows)
        return false;
    int code = sqlite3_step(rows);
    *count = code == SQLITE_ROW ? sqlite3_column_int64(rows, 0) : 0;
    sqlite3_finalize(rows);
    return code == SQLITE_ROW || nl_ledgerdb_fail(err, filter->ledger, code);
}

/* Remembers a condition on rows of `table` for the end, when it is known
 * which filter matches least. */
static bool add_inner(struct nl_runfilter *filter, const char *table, const struct nl_buf *inner,
                      size_t first, bool without, struct nl_err *err)
{
    struct nl_filter_inner *place = &filter->inners[filter->inner_count++];
    *place = (struct nl_filter_inner){.table = table,
                                      .sql = nl_arena_text(&filter->arena, inner->ptr, inner->len),
                                      .without = without,
                                      .mark = filter->where.len};
    return count_matches(filter, table, inner, first, &place->count, err);
}

/* A fact: by its number when such facts are numbers, else by its text. */
static bool fact_condition(struct nl_runfilter *filter, const struct nl_field *field, size_t op,
                           const char *text, struct nl_err *err)
{
    struct nl_buf inner;
    size_t first = filter->value_count;
    int64_t numeric;
    if (!nl_ledgerdb_number(filter->ledger, &numeric, 0, err,
                            "SELECT count(*) FROM (SELECT 1 FROM facts WHERE key = ?1 AND number "
                            "IS NOT NULL LIMIT 1)",
                            "i", field->key))
        return false;
    nl_buf_init(&inner, MAX_SQL);
    nl_buf_format(&inner, "key = %" PRId64 " AND ", field->key);
    bool by_text = !numeric || ops[op].op == OP_CONTAINS || has_pattern(text);
    bool done = true;
    if (by_text)
        text_condition(filter, &inner, "text", op, text);
    else if (!number_condition(filter, &inner, field, "number", op, text))
        done = nl_fail(err, NL_USAGE, "%s: '%s' is not a number with that unit", field->name, text);
    done = done && add_inner(filter, "facts", &inner, first, false, err);
    nl_buf_release(&inner);
    return done;
}

/* Runs with a row of that text in a separate table; "!=" are those without. */
static bool set_condition(struct nl_runfilter *filter, const char *table, const char *column,
                          size_t op, const char *text, struct nl_err *err)
{
    struct nl_buf inner;
    size_t first = filter->value_count;
    bool without = ops[op].op == OP_NOT;
    nl_buf_init(&inner, MAX_SQL);
    text_condition(filter, &inner, column, without ? OP_EQUAL : op, text);
    bool done = add_inner(filter, table, &inner, first, without, err);
    nl_buf_release(&inner);
    return done;
}

static bool condition(struct nl_runfilter *filter, const struct nl_field *field, size_t op,
                      const char *text, struct nl_err *err)
{
    struct nl_buf *where = &filter->where;
    switch (field->kind) {
    case NL_FIELD_ID:
        if (ops[op].op == OP_EQUAL || ops[op].op == OP_NOT)
            text = nl_runfield_id(text, &filter->arena);
        text_condition(filter, where, "r.id", op, text);
        return true;
    case NL_FIELD_NAME: text_condition(filter, where, "r.name", op, text); return true;
    case NL_FIELD_TAG: return set_condition(filter, "tags", "tag", op, text, err);
    case NL_FIELD_FINDING: return set_condition(filter, "findings", "cause", op, text, err);
    case NL_FIELD_ANOMALY: return set_condition(filter, "anomalies", "metric", op, text, err);
    case NL_FIELD_FACT: return fact_condition(filter, field, op, text, err);
    case NL_FIELD_ADDED:
        return number_condition(filter, where, field, "r.added_ns", op, text) ||
               nl_fail(
                   err, NL_USAGE,
                   "added: '%s' is not a date such as today, -7d, 2026-11-20 or 2026-11-20T09:05",
                   text);
    }
    NL_BUG("field of an unknown kind");
}

static bool add_filter(struct nl_runfilter *filter, const char *word, struct nl_err *err)
{
    struct nl_field field;
    bool known;
    size_t at = strcspn(word, "!=<>~"), op = 0;
    while (op < OPS && strncmp(word + at, ops[op].text, strlen(ops[op].text)) != 0)
        op++;
    if (op == OPS || at == 0)
        return nl_fail(err, NL_USAGE,
                       "'%s' is not a filter; write key=value, or key>value in quotes", word);
    char *name = nl_arena_text(&filter->arena, word, at);
    const char *value = word + at + strlen(ops[op].text);
    if (!nl_runfield_find(filter->ledger, name, &field, &known, &filter->arena, err))
        return false;
    nl_buf_text(&filter->where, " AND ");
    if (known)
        return condition(filter, &field, op, value, err) &&
               (filter->value_count <= NL_FILTER_VALUES ||
                nl_fail(err, NL_USAGE, "more than %d values in filters", NL_FILTER_VALUES));
    nl_buf_text(&filter->where, "0");
    return true;
}

static void put_inner(struct nl_buf *where, const struct nl_filter_inner *inner, bool as_list)
{
    const char *negation = inner->without ? "NOT " : "";
    if (as_list)
        nl_buf_format(where, "r.run %sIN (SELECT run FROM %s WHERE %s)", negation, inner->table,
                      inner->sql);
    else
        nl_buf_format(where, "%sEXISTS (SELECT 1 FROM %s WHERE run = r.run AND %s)", negation,
                      inner->table, inner->sql);
}

/* The runs of the filter that matches least are listed and looked up; they are asked for the others
 * one by one. Filters that match few rows are cheap to list in any case. When all are broad, runs
 * are walked in their order, which ends early as only the first of them are wanted. */
static void place_inners(struct nl_runfilter *filter)
{
    struct nl_buf whole;
    size_t least = 0, at = 0;
    for (size_t i = 1; i < filter->inner_count; i++)
        if (!filter->inners[i].without && filter->inners[i].count < filter->inners[least].count)
            least = i;
    nl_buf_init(&whole, MAX_SQL);
    for (size_t i = 0; i < filter->inner_count; i++) {
        const struct nl_filter_inner *inner = &filter->inners[i];
        nl_buf_add(&whole, filter->where.ptr + at, inner->mark - at);
        at = inner->mark;
        put_inner(&whole, inner,
                  inner->count < MAX_LISTED_ROWS || (i == least && inner->count < MIN_WALKED_ROWS));
    }
    nl_buf_add(&whole, filter->where.ptr + at, filter->where.len - at);
    nl_buf_release(&filter->where);
    filter->where = whole;
}

void nl_runfilter_init(struct nl_runfilter *filter, struct nl_ledger *ledger)
{
    *filter = (struct nl_runfilter){.ledger = ledger};
    nl_arena_init(&filter->arena);
    nl_buf_init(&filter->where, MAX_SQL);
}

void nl_runfilter_release(struct nl_runfilter *filter)
{
    nl_buf_release(&filter->where);
    nl_arena_free(&filter->arena);
}

bool nl_runfilter_add(struct nl_runfilter *filter, const char *const *words, size_t count,
                      bool trash, struct nl_err *err)
{
    nl_buf_format(&filter->where, "r.removed_ns IS %sNULL", trash ? "NOT " : "");
    if (count > NL_MAX_FILTERS)
        return nl_fail(err, NL_USAGE, "more than %d filters", NL_MAX_FILTERS);
    for (size_t i = 0; i < count; i++)
        if (!add_filter(filter, words[i], err))
            return false;
    place_inners(filter);
    return true;
}

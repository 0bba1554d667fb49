/*
 * ls: filters become conditions on run numbers, each answered from an index of its own. Values of columns are looked up for
 * the rows that are shown, not for all.
 */
#define _GNU_SOURCE
#include "ledger/runlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ledger/runfield.h"
#include "ledger/runprint.h"

#define SQL_MAX     ((size_t)64 << 10)
#define FILTERS_MAX 32
#define COLUMNS_MAX 40
#define FEW         2000  /* rows that a filter matches and that are listed without a thought */
#define BROAD       30000 /* rows over which listing costs more than walking the runs */
#define COUNTED     10000 /* runs beyond the limit */

/* Shown when nothing else is asked for; columns that no run has a value for are left out of text. */
static const char first_columns[] = "id,added,name,tags";
static const char usual_columns[] =
    "workload.model,workload.precision,workload.batch_size,metrics.mean_step_ns,"
    "timeline.duration_ns,hardware.device_name,findings";

struct value {
    enum nl_cell_type type;
    int64_t i64;
    double f64;
    const char *text;
};

/* A condition on rows of another table than runs. */
struct inner {
    const char *table, *sql;
    bool without;  /* the run has no such row */
    size_t mark;   /* where it belongs in the whole */
    int64_t count; /* rows that match, at most BROAD */
};

struct list {
    struct nl_ledger *ledger;
    const struct nl_list_options *options;
    struct nl_buf where; /* conditions, "… AND …" */
    struct value values[FILTERS_MAX];
    size_t value_count;
    struct inner inners[FILTERS_MAX];
    size_t inner_count;
    struct nl_field columns[COLUMNS_MAX];
    bool column_known[COLUMNS_MAX];
    size_t column_count;
    struct nl_field sort;
    bool sorts, descends;
    struct nl_arena arena;
};

/* ---- filters ---- */

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

static void bind_value(struct list *list, struct value value)
{
    list->values[list->value_count++] = value;
}

static void bind_text(struct list *list, const char *text)
{
    bind_value(list, (struct value){.type = NL_CELL_TEXT, .text = text});
}

static bool has_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* "column OP ?" for a text. */
static void text_condition(struct list *list, struct nl_buf *where, const char *column, size_t op,
                           const char *text)
{
    bool equality = ops[op].op == OP_EQUAL || ops[op].op == OP_NOT;
    if (ops[op].op == OP_CONTAINS)
        nl_buf_format(where, "instr(lower(%s), lower(?)) > 0", column);
    else if (equality && has_pattern(text))
        nl_buf_format(where, "%s %sGLOB ?", column, ops[op].op == OP_NOT ? "NOT " : "");
    else
        nl_buf_format(where, "%s %s ?", column, ops[op].sql);
    bind_text(list, text);
}

static bool number_condition(struct list *list, struct nl_buf *where, const struct nl_field *field,
                             const char *column, size_t op, const char *text)
{
    struct value value = {.type = NL_CELL_I64};
    bool is_whole;
    if (ops[op].op == OP_CONTAINS ||
        !nl_runfield_number(field, text, &value.f64, &value.i64, &is_whole))
        return false;
    if (!is_whole)
        value.type = NL_CELL_F64;
    nl_buf_format(where, "%s %s ?", column, ops[op].sql);
    bind_value(list, value);
    return true;
}

/* Compiles a statement with the values from `first` on. */
static sqlite3_stmt *prepare(struct list *list, const char *sql, size_t first, struct nl_err *err)
{
    sqlite3_stmt *rows = NULL;
    int code = sqlite3_prepare_v2(list->ledger->db, sql, -1, &rows, NULL);
    if (code != SQLITE_OK) {
        nl_ledgerdb_fail(err, list->ledger, code);
        return NULL;
    }
    for (size_t i = first; i < list->value_count; i++) {
        const struct value *value = &list->values[i];
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

/* How many rows of `table` the condition matches; counting stops at BROAD. Its values are those from
 * `first` on. */
static bool count_matches(struct list *list, const char *table, const struct nl_buf *inner,
                          size_t first, int64_t *count, struct nl_err *err)
{
    struct nl_buf sql;
    nl_buf_init(&sql, SQL_MAX);
    nl_buf_format(&sql, "SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %d)", table,
                  inner->ptr, BROAD);
    sqlite3_stmt *rows = prepare(list, sql.ptr, first, err);
    nl_buf_release(&sql);
    if (!rows)
        return false;
    int code = sqlite3_step(rows);
    *count = code == SQLITE_ROW ? sqlite3_column_int64(rows, 0) : 0;
    sqlite3_finalize(rows);
    return code == SQLITE_ROW || nl_ledgerdb_fail(err, list->ledger, code);
}

/* Remembers a condition on rows of `table` for the end, when it is known which filter matches least. */
static bool add_inner(struct list *list, const char *table, const struct nl_buf *inner,
                      size_t first, bool without, struct nl_err *err)
{
    struct inner *place = &list->inners[list->inner_count++];
    *place = (struct inner){.table = table,
                            .sql = nl_arena_text(&list->arena, inner->ptr, inner->len),
                            .without = without,
                            .mark = list->where.len};
    return count_matches(list, table, inner, first, &place->count, err);
}

/* A fact: by its number when such facts are numbers, else by its text. */
static bool fact_condition(struct list *list, const struct nl_field *field, size_t op,
                           const char *text, struct nl_err *err)
{
    struct nl_buf inner;
    size_t first = list->value_count;
    int64_t numeric;
    if (!nl_ledgerdb_number(list->ledger, &numeric, 0, err,
                            "SELECT count(*) FROM (SELECT 1 FROM facts WHERE key = ?1 AND number "
                            "IS NOT NULL LIMIT 1)",
                            "i", field->key))
        return false;
    nl_buf_init(&inner, SQL_MAX);
    nl_buf_format(&inner, "key = %" PRId64 " AND ", field->key);
    bool by_text = !numeric || ops[op].op == OP_CONTAINS || has_pattern(text);
    bool done = true;
    if (by_text)
        text_condition(list, &inner, "text", op, text);
    else if (!number_condition(list, &inner, field, "number", op, text))
        done = nl_fail(err, NL_USAGE, "%s: '%s' is no number of its unit", field->name, text);
    done = done && add_inner(list, "facts", &inner, first, false, err);
    nl_buf_release(&inner);
    return done;
}

/* Runs with a row of that text in a table of their own; "!=" are those without. */
static bool set_condition(struct list *list, const char *table, const char *column, size_t op,
                          const char *text, struct nl_err *err)
{
    struct nl_buf inner;
    size_t first = list->value_count;
    bool without = ops[op].op == OP_NOT;
    nl_buf_init(&inner, SQL_MAX);
    text_condition(list, &inner, column, without ? OP_EQUAL : op, text);
    bool done = add_inner(list, table, &inner, first, without, err);
    nl_buf_release(&inner);
    return done;
}

static bool condition(struct list *list, const struct nl_field *field, size_t op, const char *text,
                      struct nl_err *err)
{
    struct nl_buf *where = &list->where;
    switch (field->kind) {
    case NL_FIELD_ID:
        if (ops[op].op == OP_EQUAL || ops[op].op == OP_NOT)
            text = nl_runfield_id(text, &list->arena);
        text_condition(list, where, "r.id", op, text);
        return true;
    case NL_FIELD_NAME: text_condition(list, where, "r.name", op, text); return true;
    case NL_FIELD_TAG: return set_condition(list, "tags", "tag", op, text, err);
    case NL_FIELD_FINDING: return set_condition(list, "findings", "cause", op, text, err);
    case NL_FIELD_FACT: return fact_condition(list, field, op, text, err);
    case NL_FIELD_ADDED:
        return number_condition(list, where, field, "r.added_ns", op, text) ||
               nl_fail(err, NL_USAGE,
                       "added: '%s' is no date such as 2026-11-20 or 2026-11-20T09:05", text);
    }
    NL_BUG("field of an unknown kind");
}

static bool add_filter(struct list *list, const char *filter, struct nl_err *err)
{
    struct nl_field field;
    bool known;
    size_t at = strcspn(filter, "!=<>~"), op = 0;
    while (op < OPS && strncmp(filter + at, ops[op].text, strlen(ops[op].text)) != 0)
        op++;
    if (op == OPS || at == 0)
        return nl_fail(err, NL_USAGE, "'%s' is no filter; write key=value, or key>value in quotes",
                       filter);
    char *name = nl_arena_text(&list->arena, filter, at);
    const char *value = filter + at + strlen(ops[op].text);
    if (!nl_runfield_find(list->ledger, name, &field, &known, &list->arena, err))
        return false;
    nl_buf_text(&list->where, " AND ");
    if (known)
        return condition(list, &field, op, value, err);
    nl_buf_text(&list->where, "0");
    return true;
}

static void put_inner(struct nl_buf *where, const struct inner *inner, bool as_list)
{
    const char *negation = inner->without ? "NOT " : "";
    if (as_list)
        nl_buf_format(where, "r.run %sIN (SELECT run FROM %s WHERE %s)", negation, inner->table,
                      inner->sql);
    else
        nl_buf_format(where, "%sEXISTS (SELECT 1 FROM %s WHERE run = r.run AND %s)", negation,
                      inner->table, inner->sql);
}

/* The runs of the filter that matches least are listed and looked up; they are asked for the others one
 * by one. Filters that match few rows are cheap to list in any case. When all are broad, runs are
 * walked in their order, which ends early as only the first of them are wanted. */
static void place_inners(struct list *list)
{
    struct nl_buf whole;
    size_t least = 0, at = 0;
    for (size_t i = 1; i < list->inner_count; i++)
        if (!list->inners[i].without && list->inners[i].count < list->inners[least].count)
            least = i;
    nl_buf_init(&whole, SQL_MAX);
    for (size_t i = 0; i < list->inner_count; i++) {
        const struct inner *inner = &list->inners[i];
        nl_buf_add(&whole, list->where.ptr + at, inner->mark - at);
        at = inner->mark;
        put_inner(&whole, inner, inner->count < FEW || (i == least && inner->count < BROAD));
    }
    nl_buf_add(&whole, list->where.ptr + at, list->where.len - at);
    nl_buf_release(&list->where);
    list->where = whole;
}

static bool add_filters(struct list *list, struct nl_err *err)
{
    nl_buf_format(&list->where, "r.removed_ns IS %sNULL", list->options->bin ? "NOT " : "");
    if (list->options->filter_count > FILTERS_MAX)
        return nl_fail(err, NL_USAGE, "more than %d filters", FILTERS_MAX);
    for (size_t i = 0; i < list->options->filter_count; i++)
        if (!add_filter(list, list->options->filters[i], err))
            return false;
    place_inners(list);
    return true;
}

/* ---- columns and order ---- */

static bool add_columns(struct list *list, const char *names, bool must_be, struct nl_err *err)
{
    while (*names) {
        size_t len = strcspn(names, ",");
        char *name = nl_arena_text(&list->arena, names, len);
        names += len + (names[len] == ',');
        if (!*name)
            continue;
        if (list->column_count == COLUMNS_MAX)
            return nl_fail(err, NL_USAGE, "more than %d columns", COLUMNS_MAX);
        struct nl_field *field = &list->columns[list->column_count];
        bool *known = &list->column_known[list->column_count];
        struct nl_err wrong;
        nl_err_clear(&wrong);
        if (!nl_runfield_find(list->ledger, name, field, known, &list->arena, &wrong)) {
            if (must_be || wrong.code != NL_USAGE) {
                *err = wrong;
                return false;
            }
            *known = false;
        }
        if (!*known)
            *field = (struct nl_field){.kind = NL_FIELD_FACT, .name = name};
        list->column_count++;
    }
    return true;
}

static bool choose_columns(struct list *list, struct nl_err *err)
{
    const char *asked = list->options->columns;
    if (asked && asked[0] != '+')
        return add_columns(list, asked, true, err);
    /* What was asked for stands before what there may be no room for. */
    return add_columns(list, first_columns, false, err) &&
           (!asked || add_columns(list, asked + 1, true, err)) &&
           add_columns(list, usual_columns, false, err);
}

static bool choose_order(struct list *list, struct nl_err *err)
{
    const char *name = list->options->sort;
    if (!name || !*name)
        return true;
    list->descends = *name == '-';
    return nl_runfield_find(list->ledger, name + list->descends, &list->sort, &list->sorts,
                            &list->arena, err);
}

static void add_order(struct list *list, struct nl_buf *sql)
{
    const char *way = list->descends ? "DESC" : "ASC";
    if (!list->sorts || list->sort.kind == NL_FIELD_ADDED)
        nl_buf_format(sql, " ORDER BY r.run %s", list->sorts ? way : "DESC");
    else if (list->sort.kind == NL_FIELD_FACT)
        nl_buf_format(sql,
                      " ORDER BY s.text IS NULL, s.number IS NULL, s.number %s, s.text %s, "
                      "r.run DESC",
                      way, way);
    else if (list->sort.kind == NL_FIELD_TAG || list->sort.kind == NL_FIELD_FINDING)
        nl_buf_format(sql,
                      " ORDER BY (SELECT count(*) FROM %s t WHERE t.run = r.run) %s, r.run DESC",
                      list->sort.kind == NL_FIELD_TAG ? "tags" : "findings", way);
    else
        nl_buf_format(sql, " ORDER BY r.%s %s", list->sort.name, way);
}

/* ---- rows ---- */

static struct nl_cell cell_of(struct nl_result *result, sqlite3_stmt *rows, int number, int text)
{
    struct nl_str value = {(const char *)sqlite3_column_text(rows, text),
                           (size_t)sqlite3_column_bytes(rows, text)};
    switch (sqlite3_column_type(rows, number)) {
    case SQLITE_INTEGER: return nl_cell_i64(sqlite3_column_int64(rows, number));
    case SQLITE_FLOAT: return nl_cell_f64(sqlite3_column_double(rows, number));
    default: return nl_cell_text(result, value);
    }
}

static bool fact_cell(struct list *list, struct nl_result *result, int64_t run,
                      const struct nl_field *field, struct nl_cell *cell, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(list->ledger, err,
                                         "SELECT number, text FROM facts "
                                         "WHERE run = ?1 AND key = ?2",
                                         "ii", run, field->key);
    if (rows && nl_ledgerdb_next(err, list->ledger, rows, &ok)) {
        *cell = cell_of(result, rows, 0, 1);
        sqlite3_reset(rows);
    }
    return rows && ok;
}

/* Tags, or causes of findings, joined. */
static bool set_cell(struct list *list, struct nl_result *result, int64_t run,
                     const struct nl_field *field, struct nl_cell *cell, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows =
        field->kind == NL_FIELD_TAG
            ? nl_ledgerdb_ask(list->ledger, err,
                              "SELECT group_concat(tag, ', ') FROM "
                              "(SELECT tag FROM tags WHERE run = ?1 ORDER BY tag)",
                              "i", run)
            : nl_ledgerdb_ask(list->ledger, err,
                              "SELECT group_concat(cause, ', ') FROM "
                              "(SELECT cause FROM findings WHERE run = ?1 ORDER BY ordinal)",
                              "i", run);
    if (rows && nl_ledgerdb_next(err, list->ledger, rows, &ok)) {
        *cell = cell_of(result, rows, 0, 0);
        sqlite3_reset(rows);
    }
    return rows && ok;
}

static bool id_cell(struct list *list, struct nl_result *result, const char *id,
                    struct nl_cell *cell, struct nl_err *err)
{
    char text[NL_RUNDOC_ID];
    bool done = true;
    if (list->options->short_texts)
        done = nl_ledger_short_id(list->ledger, id, text, err);
    *cell = nl_cell_text(result, nl_str(list->options->short_texts && done ? text : id));
    return done;
}

/* One row: run, id, name, added_ns. */
static bool add_row(struct list *list, struct nl_result *result, sqlite3_stmt *rows,
                    struct nl_err *err)
{
    char date[NL_DATE_TEXT];
    int64_t run = sqlite3_column_int64(rows, 0);
    struct nl_cell *cells = nl_result_row(result);
    for (size_t i = 0; i < list->column_count; i++) {
        const struct nl_field *field = &list->columns[i];
        bool done = true;
        switch (field->kind) {
        case NL_FIELD_ID:
            done =
                id_cell(list, result, (const char *)sqlite3_column_text(rows, 1), &cells[i], err);
            break;
        case NL_FIELD_NAME: cells[i] = cell_of(result, rows, 2, 2); break;
        case NL_FIELD_ADDED:
            nl_runfield_date(date, sqlite3_column_int64(rows, 3));
            if (list->options->short_texts)
                nl_runfield_short_date(date);
            cells[i] = nl_cell_text(result, nl_str(date));
            break;
        case NL_FIELD_TAG:
        case NL_FIELD_FINDING: done = set_cell(list, result, run, field, &cells[i], err); break;
        case NL_FIELD_FACT:
            if (list->column_known[i])
                done = fact_cell(list, result, run, field, &cells[i], err);
            break;
        }
        if (!done)
            return false;
    }
    return true;
}

static struct nl_result *start_result(const struct list *list)
{
    struct nl_result_column columns[COLUMNS_MAX] = {0};
    struct nl_result *result = nl_result_new("ls", "", columns, list->column_count);
    for (size_t i = 0; i < list->column_count; i++) {
        const struct nl_field *field = &list->columns[i];
        const char *name = nl_arena_text(&result->arena, field->name, strlen(field->name));
        const char *dot = strrchr(name, '.');
        result->columns[i] = (struct nl_result_column){
            name, dot ? dot + 1 : NULL,
            field->kind == NL_FIELD_FACT ? field->meaning : NL_MEANS_TEXT};
    }
    return result;
}

/* Says how many more there are than the limit let through; counting stops when they are many. */
static bool count_rest(struct list *list, struct nl_result *result, struct nl_err *err)
{
    struct nl_buf sql;
    char count[NL_UNIT_TEXT];
    nl_buf_init(&sql, SQL_MAX);
    nl_buf_format(&sql, "SELECT count(*) FROM (SELECT 1 FROM runs r WHERE %s LIMIT %zu)",
                  list->where.ptr, result->rows + COUNTED + 1);
    sqlite3_stmt *rows = prepare(list, sql.ptr, 0, err);
    bool done = rows && sqlite3_step(rows) == SQLITE_ROW;
    uint64_t rest = done ? (uint64_t)sqlite3_column_int64(rows, 0) - result->rows : 0;
    sqlite3_finalize(rows);
    nl_buf_release(&sql);
    result->truncated = rest > 0;
    if (rest)
        result->note = nl_arena_format(
            &result->arena, "… %s%s more runs; --all or --limit N shows them",
            rest > COUNTED ? "over " : "", nl_format_count(count, rest > COUNTED ? COUNTED : rest));
    return done;
}

static bool fill(struct list *list, struct nl_result *result, struct nl_err *err)
{
    struct nl_buf sql;
    uint64_t limit = list->options->limit;
    nl_buf_init(&sql, SQL_MAX);
    nl_buf_text(&sql, "SELECT r.run, r.id, r.name, r.added_ns FROM runs r");
    if (list->sorts && list->sort.kind == NL_FIELD_FACT)
        nl_buf_format(&sql, " LEFT JOIN facts s ON s.run = r.run AND s.key = %" PRId64,
                      list->sort.key);
    nl_buf_format(&sql, " WHERE %s", list->where.ptr);
    add_order(list, &sql);
    if (limit)
        nl_buf_format(&sql, " LIMIT %llu", (unsigned long long)limit);
    sqlite3_stmt *rows = prepare(list, sql.ptr, 0, err);
    nl_buf_release(&sql);
    bool done = rows != NULL;
    int code = SQLITE_DONE;
    while (done && (code = sqlite3_step(rows)) == SQLITE_ROW)
        done = add_row(list, result, rows, err);
    if (done && code != SQLITE_DONE)
        done = nl_ledgerdb_fail(err, list->ledger, code);
    sqlite3_finalize(rows);
    return done && (!limit || result->rows < limit || count_rest(list, result, err));
}

static struct list *list_new(struct nl_ledger *ledger, const struct nl_list_options *options)
{
    struct list *list = nl_zalloc(sizeof *list);
    list->ledger = ledger;
    list->options = options;
    nl_arena_init(&list->arena);
    nl_buf_init(&list->where, SQL_MAX);
    return list;
}

static void list_free(struct list *list)
{
    nl_buf_release(&list->where);
    nl_arena_free(&list->arena);
    nl_free(list);
}

struct nl_result *nl_ledger_list(struct nl_ledger *ledger, const struct nl_list_options *options,
                                 struct nl_err *err)
{
    struct list *list = list_new(ledger, options);
    struct nl_result *result = NULL;
    if (add_filters(list, err) && choose_columns(list, err) && choose_order(list, err)) {
        result = start_result(list);
        if (!fill(list, result, err)) {
            nl_result_free(result);
            result = NULL;
        }
    }
    list_free(list);
    return result;
}

/* ---- fingerprints ---- */

static bool see_all(struct list *list, int64_t form, nl_ledger_print_see *see, void *context,
                    struct nl_err *err)
{
    struct nl_buf sql;
    nl_buf_init(&sql, SQL_MAX);
    nl_buf_format(&sql,
                  "SELECT r.run, r.id, f.items FROM runs r LEFT JOIN fingerprints f "
                  "ON f.run = r.run AND f.form = %" PRId64 " WHERE %s ORDER BY r.run DESC",
                  form, list->where.ptr);
    sqlite3_stmt *rows = prepare(list, sql.ptr, 0, err);
    nl_buf_release(&sql);
    bool done = rows != NULL;
    int code = SQLITE_DONE;
    while (done && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct nl_ledger_run run = {.run = sqlite3_column_int64(rows, 0)};
        snprintf(run.id, sizeof run.id, "%s", (const char *)sqlite3_column_text(rows, 1));
        const char *items = sqlite3_column_blob(rows, 2);
        struct nl_ledger_print_row row = {&run, {items, (size_t)sqlite3_column_bytes(rows, 2)}};
        done = see(context, &row, err);
    }
    if (done && code != SQLITE_DONE)
        done = nl_ledgerdb_fail(err, list->ledger, code);
    sqlite3_finalize(rows);
    return done;
}

bool nl_ledger_prints(struct nl_ledger *ledger, const char *const *filters, size_t count,
                      int64_t form, nl_ledger_print_see *see, void *context, struct nl_err *err)
{
    struct nl_list_options options = {.filters = filters, .filter_count = count};
    struct list *list = list_new(ledger, &options);
    bool done = add_filters(list, err) && see_all(list, form, see, context, err);
    list_free(list);
    return done;
}

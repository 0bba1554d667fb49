/*
 * ls: values of columns are looked up for the rows that are shown, not for all.
 */
#define _GNU_SOURCE
#include "ledger/runlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ledger/runfilter.h"
#include "ledger/runhistory.h"
#include "ledger/runfingerprint.h"

#define MAX_SQL          NL_FILTER_SQL
#define MAX_COLUMNS      40
#define MAX_COUNTED_RUNS 10000 /* runs beyond the limit */

/* Shown when nothing else is asked for; columns that no run has a value for
 * are left out of text. */
static const char first_columns[] = "id,added,name,tags";
static const char usual_columns[] =
    "workload.model,workload.precision,workload.batch_size,metrics.mean_step_ns,"
    "anomalies,timeline.duration_ns,hardware.device_name,findings";

struct list {
    struct nl_ledger *ledger;
    const struct nl_list_options *options;
    struct nl_runfilter filter;
    struct nl_field columns[MAX_COLUMNS];
    bool column_known[MAX_COLUMNS];
    size_t column_count;
    struct nl_field sort;
    bool sorts, descends;
    struct nl_arena arena;
};

/* ---- columns and order ---- */

static bool add_columns(struct list *list, const char *names, bool must_be, struct nl_err *err)
{
    while (*names) {
        size_t len = strcspn(names, ",");
        char *name = nl_arena_text(&list->arena, names, len);
        names += len + (names[len] == ',');
        if (!*name)
            continue;
        if (list->column_count == MAX_COLUMNS)
            return nl_fail(err, NL_USAGE, "more than %d columns", MAX_COLUMNS);
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
    else if (list->sort.kind == NL_FIELD_TAG || list->sort.kind == NL_FIELD_FINDING ||
             list->sort.kind == NL_FIELD_ANOMALY)
        nl_buf_format(sql,
                      " ORDER BY (SELECT count(*) FROM %s t WHERE t.run = r.run) %s, r.run DESC",
                      list->sort.kind == NL_FIELD_TAG       ? "tags"
                      : list->sort.kind == NL_FIELD_FINDING ? "findings"
                                                            : "anomalies",
                      way);
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
static bool joined_cell(struct list *list, struct nl_result *result, int64_t run,
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

/* "mean_step_ns +21 %, 2 more"; "none"; NULL where a history is too short to know. */
static bool anomaly_cell(struct list *list, struct nl_result *result, int64_t run,
                         struct nl_cell *cell, struct nl_err *err)
{
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        list->ledger, err,
        "SELECT CASE WHEN h.runs >= ?2 THEN coalesce((SELECT metric || "
        "coalesce(printf(' %+.0f %%', 100 * change_share), '') FROM anomalies a WHERE a.run = ?1 "
        "AND ordinal = 0), 'none') || coalesce((SELECT ', ' || (count(*) - 1) || ' more' FROM "
        "anomalies a WHERE a.run = ?1 HAVING count(*) > 1), '') END FROM histories h WHERE h.run "
        "= ?1",
        "ii", run, (int64_t)NL_MIN_HISTORY);
    if (rows && nl_ledgerdb_next(err, list->ledger, rows, &ok)) {
        if (sqlite3_column_type(rows, 0) != SQLITE_NULL)
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
static bool add_run_row(struct list *list, struct nl_result *result, sqlite3_stmt *rows,
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
        case NL_FIELD_FINDING: done = joined_cell(list, result, run, field, &cells[i], err); break;
        case NL_FIELD_ANOMALY: done = anomaly_cell(list, result, run, &cells[i], err); break;
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
    struct nl_result_column columns[MAX_COLUMNS] = {0};
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
    nl_buf_init(&sql, MAX_SQL);
    nl_buf_format(&sql, "SELECT count(*) FROM (SELECT 1 FROM runs r WHERE %s LIMIT %zu)",
                  list->filter.where.ptr, result->rows + MAX_COUNTED_RUNS + 1);
    sqlite3_stmt *rows = nl_runfilter_prepare(&list->filter, sql.ptr, 0, err);
    bool done = rows && sqlite3_step(rows) == SQLITE_ROW;
    uint64_t rest = done ? (uint64_t)sqlite3_column_int64(rows, 0) - result->rows : 0;
    sqlite3_finalize(rows);
    nl_buf_release(&sql);
    result->truncated = rest > 0;
    if (rest)
        result->note = nl_arena_format(
            &result->arena, "… %s%s more runs; --all or --limit N shows them",
            rest > MAX_COUNTED_RUNS ? "over " : "",
            nl_format_count(count, rest > MAX_COUNTED_RUNS ? MAX_COUNTED_RUNS : rest));
    return done;
}

static bool add_run_rows(struct list *list, struct nl_result *result, struct nl_err *err)
{
    struct nl_buf sql;
    uint64_t limit = list->options->limit;
    nl_buf_init(&sql, MAX_SQL);
    nl_buf_text(&sql, "SELECT r.run, r.id, r.name, r.added_ns FROM runs r");
    if (list->sorts && list->sort.kind == NL_FIELD_FACT)
        nl_buf_format(&sql, " LEFT JOIN facts s ON s.run = r.run AND s.key = %" PRId64,
                      list->sort.key);
    nl_buf_format(&sql, " WHERE %s", list->filter.where.ptr);
    add_order(list, &sql);
    if (limit)
        nl_buf_format(&sql, " LIMIT %llu", (unsigned long long)limit);
    sqlite3_stmt *rows = nl_runfilter_prepare(&list->filter, sql.ptr, 0, err);
    nl_buf_release(&sql);
    bool done = rows != NULL;
    int code = SQLITE_DONE;
    while (done && (code = sqlite3_step(rows)) == SQLITE_ROW)
        done = add_run_row(list, result, rows, err);
    if (done && code != SQLITE_DONE)
        done = nl_ledgerdb_fail(err, list->ledger, code);
    sqlite3_finalize(rows);
    return done && (!limit || result->rows < limit || count_rest(list, result, err));
}

static bool add_filters(struct list *list, struct nl_err *err)
{
    return nl_runfilter_add(&list->filter, list->options->filters, list->options->filter_count,
                            list->options->trash, err);
}

static struct list *list_new(struct nl_ledger *ledger, const struct nl_list_options *options)
{
    struct list *list = nl_zalloc(sizeof *list);
    list->ledger = ledger;
    list->options = options;
    nl_arena_init(&list->arena);
    nl_runfilter_init(&list->filter, ledger);
    return list;
}

static void list_free(struct list *list)
{
    nl_runfilter_release(&list->filter);
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
        if (!add_run_rows(list, result, err)) {
            nl_result_free(result);
            result = NULL;
        }
    }
    list_free(list);
    return result;
}

/* ---- fingerprints ---- */

static bool see_all(struct list *list, int64_t form, nl_ledger_fingerprint_see *see, void *context,
                    struct nl_err *err)
{
    struct nl_buf sql;
    nl_buf_init(&sql, MAX_SQL);
    nl_buf_format(&sql,
                  "SELECT r.run, r.id, f.items FROM runs r LEFT JOIN fingerprints f "
                  "ON f.run = r.run AND f.form = %" PRId64 " WHERE %s ORDER BY r.run DESC",
                  form, list->filter.where.ptr);
    sqlite3_stmt *rows = nl_runfilter_prepare(&list->filter, sql.ptr, 0, err);
    nl_buf_release(&sql);
    bool done = rows != NULL;
    int code = SQLITE_DONE;
    while (done && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        struct nl_ledger_run run = {.run = sqlite3_column_int64(rows, 0)};
        snprintf(run.id, sizeof run.id, "%s", (const char *)sqlite3_column_text(rows, 1));
        const char *items = sqlite3_column_blob(rows, 2);
        struct nl_ledger_fingerprint_row row = {&run,
                                                {items, (size_t)sqlite3_column_bytes(rows, 2)}};
        done = see(context, &row, err);
    }
    if (done && code != SQLITE_DONE)
        done = nl_ledgerdb_fail(err, list->ledger, code);
    sqlite3_finalize(rows);
    return done;
}

bool nl_ledger_fingerprints(struct nl_ledger *ledger, const char *const *filters, size_t count,
                            int64_t form, nl_ledger_fingerprint_see *see, void *context,
                            struct nl_err *err)
{
    struct nl_list_options options = {.filters = filters, .filter_count = count};
    struct list *list = list_new(ledger, &options);
    bool done = add_filters(list, err) && see_all(list, form, see, context, err);
    list_free(list);
    return done;
}

/* The SQLite module: a cursor walks a range of rows, an index's answer, or rows put in order. */
#include "sql/vtab.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"

#define WORTH_SEARCHING 4096 /* binary-search ascending columns with at least this many rows */
#define PREFETCH_ROWS   24   /* rows */
#define CHECK_EVERY     64   /* blocks without a hit between two looks at the clock */

struct cursor {
    sqlite3_vtab_cursor base;
    const char *plan_text; /* the idxStr that `plan` was read from */
    struct nl_plan plan;
    struct nl_filter filters[NL_MAX_TERMS]; /* one per term; kept, for what they cache */
    bool active[NL_MAX_TERMS];
    uint32_t next, last;          /* rows still to be scanned, or ... */
    const struct nl_keyed *found; /* ... what an index gave */
    size_t found_count;
    const uint32_t *rows; /* rows at hand; NULL: rows are `at` .. `count` themselves */
    size_t at, count;
    unsigned used;     /* bit per column that the statement reads (first 31) */
    uint32_t *ordered; /* all rows, when the plan has an order */
    size_t ordered_cap;
    uint32_t block[NL_BLOCK_ROWS];
};

static void declare(const struct nl_vtab *vtab, struct nl_buf *sql)
{
    nl_buf_text(sql, "CREATE TABLE t(");
    for (unsigned i = 0; i < vtab->column_count; i++) {
        const struct nl_column_def *def = vtab->columns[i].def;
        nl_buf_format(sql, "%s\"%s\" %s", i ? ", " : "", def ? def->name : "id",
                      def ? nl_column_sql_type(def) : "INTEGER");
    }
    nl_buf_char(sql, ')');
}

static int connect(sqlite3 *sqlite, void *module, int argc, const char *const *argv,
                   sqlite3_vtab **out, char **message)
{
    const struct nl_db_table *table = module;
    struct nl_vtab *vtab = nl_zalloc(sizeof *vtab);
    struct nl_buf sql;
    (void)argc;
    (void)argv;
    vtab->db = table->db;
    vtab->table = table->table;
    vtab->rows = nl_trace_rows(table->db->trace, table->table);
    nl_vcolumns_resolve(vtab);
    nl_buf_init(&sql, 1 << 16);
    declare(vtab, &sql);
    int rc = nl_db_declare(vtab->db, sql.ptr);
    nl_buf_release(&sql);
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(sqlite));
        nl_free(vtab->columns);
        nl_free(vtab);
        return rc;
    }
    sqlite3_vtab_config(sqlite, SQLITE_VTAB_INNOCUOUS);
    *out = &vtab->base;
    return SQLITE_OK;
}

/* Not the same function as connect: that would make the tables eponymous as well. */
static int create(sqlite3 *sqlite, void *module, int argc, const char *const *argv,
                  sqlite3_vtab **out, char **message)
{
    return connect(sqlite, module, argc, argv, out, message);
}

static int disconnect(sqlite3_vtab *base)
{
    struct nl_vtab *vtab = (struct nl_vtab *)base;
    for (unsigned i = 0; i <= vtab->column_count; i++)
        nl_index_free(vtab->columns[i].index);
    nl_free(vtab->columns);
    nl_free(vtab);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    return nl_plan_best((struct nl_vtab *)vtab, info);
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    struct cursor *cursor = nl_zalloc(sizeof *cursor);
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    for (unsigned i = 0; i < NL_MAX_TERMS; i++)
        nl_filter_release(&cursor->filters[i]);
    nl_free(cursor->ordered);
    nl_free(cursor);
    return SQLITE_OK;
}

/* Makes the tests of the terms; returns an SQLite code. */
static int set_filters(struct cursor *cursor, struct nl_vtab *vtab, sqlite3_value **argv)
{
    int code = SQLITE_OK;
    for (unsigned i = 0; i < cursor->plan.term_count && code == SQLITE_OK; i++)
        cursor->active[i] =
            nl_filter_set(vtab, &cursor->filters[i], &vtab->columns[cursor->plan.terms[i].column],
                          cursor->plan.terms[i].op, argv[i], &code);
    return code;
}

/* Rows by the plan's index; false when there is none (yet). */
static bool look_up_rows(struct cursor *cursor, struct nl_vtab *vtab)
{
    if (cursor->plan.lookup < 0)
        return false;
    struct nl_vcolumn *column = &vtab->columns[cursor->plan.lookup];
    uint64_t low = 0, high = UINT64_MAX;
    bool usable[NL_MAX_TERMS] = {false}, any = false;
    for (unsigned i = 0; i < cursor->plan.term_count; i++) {
        const struct nl_filter *filter = &cursor->filters[i];
        if (!cursor->active[i] || filter->column != column || filter->test != NL_TEST_RANGE ||
            filter->null_hop_passes)
            continue;
        low = filter->low > low ? filter->low : low;
        high = filter->high < high ? filter->high : high;
        usable[i] = any = true;
    }
    const struct nl_index *index = any ? nl_index_for(vtab, column) : NULL;
    if (!index)
        return false;
    for (unsigned i = 0; i < cursor->plan.term_count; i++)
        cursor->active[i] = cursor->active[i] && !usable[i];
    cursor->found_count = nl_index_range(index, low, high, &cursor->found);
    return true;
}

/* First row of [from, to) whose key is not below `key`, in an ascending column. */
static uint32_t lower_row(const struct nl_vcolumn *column, uint32_t from, uint32_t to, uint64_t key)
{
    uint64_t other = 0;
    return NL_FIRST(i, from, to, ((void)nl_vcolumn_key(column, i, &other), other >= key));
}

/* Rows that a range test on an ascending column leaves; the test is then done with. */
static void narrow(struct cursor *cursor, struct nl_vtab *vtab, unsigned term)
{
    const struct nl_filter *filter = &cursor->filters[term];
    struct nl_vcolumn *column = filter->column;
    if (filter->test == NL_TEST_NEVER && !filter->null_hop_passes)
        cursor->next = cursor->last = 0;
    if (filter->test != NL_TEST_RANGE || filter->null_hop_passes || column->hop_count)
        return;
    if (column->def && (vtab->rows < WORTH_SEARCHING || !nl_vcolumn_ascending(vtab, column)))
        return;
    cursor->next = lower_row(column, cursor->next, cursor->last, filter->low);
    if (filter->high != UINT64_MAX)
        cursor->last = lower_row(column, cursor->next, cursor->last, filter->high + 1);
    cursor->active[term] = false;
}

static size_t take_candidates(struct cursor *cursor)
{
    size_t count = 0;
    if (cursor->found) {
        while (count < NL_BLOCK_ROWS && cursor->found_count) {
            cursor->block[count++] = cursor->found++->row;
            cursor->found_count--;
        }
        return count;
    }
    while (count < NL_BLOCK_ROWS && cursor->next < cursor->last)
        cursor->block[count++] = cursor->next++;
    return count;
}

/* Next block with a passing row into cursor->block; 0 rows at the end. */
static int fill_block(struct cursor *cursor, size_t *count)
{
    struct nl_vtab *vtab = (struct nl_vtab *)cursor->base.pVtab;
    for (unsigned tries = 1; (*count = take_candidates(cursor)) > 0; tries++) {
        for (unsigned i = 0; i < cursor->plan.term_count && *count; i++)
            if (cursor->active[i])
                *count = nl_filter_rows(&cursor->filters[i], cursor->block, *count);
        if (*count)
            return SQLITE_OK;
        if (tries % CHECK_EVERY == 0 && nl_db_must_stop(vtab->db))
            return SQLITE_INTERRUPT;
    }
    return SQLITE_OK;
}

static int put_in_order(struct cursor *cursor, struct nl_vtab *vtab)
{
    size_t all = 0, count;
    for (;;) {
        int rc = fill_block(cursor, &count);
        if (rc != SQLITE_OK)
            return rc;
        if (count == 0)
            break;
        nl_grow(&cursor->ordered, &cursor->ordered_cap, all + count);
        memcpy(cursor->ordered + all, cursor->block, count * sizeof *cursor->block);
        all += count;
    }
    nl_order_rows(vtab, &cursor->plan, cursor->ordered, all);
    cursor->rows = cursor->ordered;
    cursor->at = 0;
    cursor->count = all;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                  sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    struct nl_vtab *vtab = (struct nl_vtab *)base->pVtab;
    (void)argc;
    cursor->used = (unsigned)number;
    if (cursor->plan_text != text)
        nl_plan_read(&cursor->plan, text);
    cursor->plan_text = text;
    cursor->found = NULL;
    cursor->next = 0;
    cursor->last = vtab->rows;
    cursor->at = cursor->count = 0;
    int rc = set_filters(cursor, vtab, argv);
    if (rc != SQLITE_OK)
        return rc;
    bool looked_up = look_up_rows(cursor, vtab), tests = false;
    for (unsigned i = 0; i < cursor->plan.term_count; i++) {
        if (cursor->active[i] && !looked_up)
            narrow(cursor, vtab, i);
        tests = tests || cursor->active[i];
    }
    if (cursor->plan.order_count)
        return put_in_order(cursor, vtab);
    if (!looked_up && !tests) {
        cursor->rows = NULL;
        cursor->at = cursor->next;
        cursor->count = cursor->last;
        cursor->next = cursor->last;
        return SQLITE_OK;
    }
    cursor->rows = cursor->block;
    return fill_block(cursor, &cursor->count);
}

/* Rows in order may be anywhere in memory: those to come are fetched meanwhile. Always inline,
 * since GCC drops calls of functions that only prefetch. */
__attribute__((always_inline)) static inline void look_ahead(const struct cursor *cursor)
{
    const struct nl_vtab *vtab = (const struct nl_vtab *)cursor->base.pVtab;
    uint32_t row = cursor->rows[cursor->at + PREFETCH_ROWS];
    for (unsigned used = cursor->used; used; used &= used - 1) {
        unsigned number = (unsigned)__builtin_ctz(used);
        if (number < vtab->column_count)
            nl_vcolumn_prefetch(&vtab->columns[number], row);
    }
}

static int next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    if (cursor->rows && cursor->rows == cursor->ordered &&
        cursor->at + PREFETCH_ROWS < cursor->count)
        look_ahead(cursor);
    if (++cursor->at < cursor->count || cursor->rows != cursor->block)
        return SQLITE_OK;
    cursor->at = 0;
    return fill_block(cursor, &cursor->count);
}

static int eof(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;
    return cursor->at >= cursor->count;
}

static uint32_t current(const struct cursor *cursor)
{
    return cursor->rows ? cursor->rows[cursor->at] : (uint32_t)cursor->at;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    const struct nl_vtab *vtab = (const struct nl_vtab *)base->pVtab;
    nl_vcolumn_show(vtab, &vtab->columns[number], current((const struct cursor *)base), context);
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = current((const struct cursor *)base);
    return SQLITE_OK;
}

int nl_vtab_register(struct nl_db *db)
{
    static const sqlite3_module module = {.xCreate = create,
                                          .xConnect = connect,
                                          .xBestIndex = best_index,
                                          .xDisconnect = disconnect,
                                          .xDestroy = disconnect,
                                          .xOpen = open_cursor,
                                          .xClose = close_cursor,
                                          .xFilter = filter,
                                          .xNext = next,
                                          .xEof = eof,
                                          .xColumn = column,
                                          .xRowid = rowid};
    for (unsigned i = 0; i < NL_TABLE_COUNT; i++) {
        db->tables[i] = (struct nl_db_table){db, (enum nl_table_id)i};
        int rc =
            sqlite3_create_module_v2(db->sqlite, nl_tables[i].sql, &module, &db->tables[i], NULL);
        if (rc != SQLITE_OK)
            return rc;
    }
    return SQLITE_OK;
}

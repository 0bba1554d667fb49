/*
 * Opening a database and reading its tables. The table of tables (sqlite_schema) is read like any
 * other; its CREATE TABLE texts are given to SQLite's own parser in an empty in-memory database,
 * which then gives names, affinities and the rowid column. That way a file with a torn end, which
 * SQLite itself refuses, still gives what it holds.
 */
#include "ingest/lib/dbfile.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/str.h"
#include "ingest/lib/dbspool.h"

#define MAX_TABLES 8192

/* ---- SQLite's side ---- */

/* A schema text of a foreign file may define, but not compute or reach out. */
static int only_definitions(void *context, int action, const char *a, const char *b, const char *c,
                            const char *d)
{
    (void)context, (void)a, (void)b, (void)c, (void)d;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION:
    case SQLITE_ATTACH:
    case SQLITE_CREATE_VTABLE: return SQLITE_DENY;
    default: return SQLITE_OK;
    }
}

static char *file_uri(struct nl_arena *arena, const char *path, const char *options)
{
    struct nl_buf buf;
    nl_buf_init(&buf, 65536);
    nl_buf_text(&buf, "file:");
    for (const char *at = path; *at; at++) {
        if (strchr("%?#", *at))
            nl_buf_format(&buf, "%%%02X", (unsigned char)*at);
        else
            nl_buf_char(&buf, *at);
    }
    nl_buf_text(&buf, options);
    char *uri = nl_arena_text(arena, buf.ptr, buf.len);
    nl_buf_release(&buf);
    return uri;
}

/* The connection for tables whose pages are not read directly. */
static bool connect(struct dbfile *db, struct nl_err *err)
{
    if (db->sql)
        return true;
    /* `immutable` keeps SQLite from looking for locks and journals; a private copy has its own. */
    const char *uri = db->copy ? file_uri(&db->arena, db->copy, "?mode=rw")
                               : file_uri(&db->arena, db->path, "?immutable=1&mode=ro");
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX |
                (db->copy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    if (sqlite3_open_v2(uri, &db->sql, flags, NULL) != SQLITE_OK) {
        nl_err_at(err, db->path, -1);
        (void)nl_fail(err, NL_FORMAT, "SQLite cannot open it: %s", sqlite3_errmsg(db->sql));
        sqlite3_close(db->sql);
        db->sql = NULL;
        return false;
    }
    /* writable_schema makes SQLite go on where a file is shorter than its header says. */
    sqlite3_exec(db->sql,
                 "PRAGMA writable_schema=ON; PRAGMA query_only=ON; PRAGMA trusted_schema=OFF;"
                 "PRAGMA cell_size_check=ON",
                 NULL, NULL, NULL);
    return true;
}

static bool has_real_affinity(const char *type)
{
    struct nl_str text = nl_str(type);
    static const char *const before[] = {"INT", "CHAR", "CLOB", "TEXT", "BLOB"};
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
        if (nl_str_find_nocase(text, before[i]) >= 0)
            return false;
    return nl_str_find_nocase(text, "REAL") >= 0 || nl_str_find_nocase(text, "FLOA") >= 0 ||
           nl_str_find_nocase(text, "DOUB") >= 0;
}

/* True if the primary key has a separate index: it is then not the rowid. */
static bool has_key_index(struct dbfile *db, const char *name)
{
    bool found = false;
    sqlite3_stmt *stmt = NULL;
    char *text = sqlite3_mprintf("PRAGMA index_list(%Q)", name);
    if (text && sqlite3_prepare_v2(db->parser, text, -1, &stmt, NULL) == SQLITE_OK)
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *origin = (const char *)sqlite3_column_text(stmt, 3);
            found = found || (origin && strcmp(origin, "pk") == 0);
        }
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    return found;
}

/* Fills the table's columns from PRAGMA table_xinfo: cid, name, type, notnull, default, pk, hidden.
 * Defaults and generated columns are not in the record: such tables are left to SQLite. */
static void read_columns(struct dbfile *db, struct dbfile_table *table, sqlite3_stmt *stmt)
{
    size_t cap = 0;
    struct dbfile_column *columns = NULL;
    unsigned keys = 0, key = 0;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        const char *type = (const char *)sqlite3_column_text(stmt, 2);
        if (!name)
            continue;
        nl_grow(&columns, &cap, table->column_count + 1);
        struct dbfile_column *column = &columns[table->column_count];
        column->name = nl_arena_text(&db->arena, name, strlen(name));
        column->stored = (int)table->column_count;
        column->real = type && has_real_affinity(type);
        if (sqlite3_column_type(stmt, 4) != SQLITE_NULL || sqlite3_column_int(stmt, 6) != 0)
            table->fast = false;
        if (sqlite3_column_int(stmt, 5) > 0) {
            keys += type && strcasecmp(type, "INTEGER") == 0 ? 1 : 2;
            key = table->column_count;
        }
        table->column_count++;
    }
    if (keys == 1 && !has_key_index(db, table->name))
        columns[key].stored = -1;
    size_t bytes = table->column_count * sizeof *columns;
    if (bytes > 0)
        table->columns = memcpy(nl_arena_alloc(&db->arena, bytes), columns, bytes);
    nl_free(columns);
}

static void parse_table(struct dbfile *db, struct dbfile_table *table)
{
    sqlite3_stmt *stmt = NULL;
    bool made = sqlite3_prepare_v2(db->parser, table->sql, -1, &stmt, NULL) == SQLITE_OK &&
                sqlite3_step(stmt) == SQLITE_DONE;
    sqlite3_finalize(stmt);
    stmt = NULL;
    char *text = sqlite3_mprintf("PRAGMA table_xinfo(%Q)", table->name);
    if (made && text && sqlite3_prepare_v2(db->parser, text, -1, &stmt, NULL) == SQLITE_OK)
        read_columns(db, table, stmt);
    sqlite3_finalize(stmt);
    sqlite3_free(text);
}

static uint64_t count_rows(struct dbfile *db, const char *name)
{
    uint64_t rows = 0;
    sqlite3_stmt *stmt = NULL;
    char *text = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", name);
    if (text && sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        rows = (uint64_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    return rows;
}

/* ---- Tables ---- */

/* Columns of sqlite_schema. */
enum { SCHEMA_TYPE, SCHEMA_NAME, SCHEMA_ROOT, SCHEMA_SQL, SCHEMA_CELLS };
static const char *const schema_columns[SCHEMA_CELLS] = {"type", "name", "rootpage", "sql"};

static char *cell_text(struct dbfile *db, const struct sqlitepages_cell *cell)
{
    if (cell->type != SQLITEPAGES_TEXT || memchr(cell->bytes, 0, cell->len))
        return NULL;
    return nl_arena_text(&db->arena, (const char *)cell->bytes, cell->len);
}

static void keep_table(void *context, const struct sqlitepages_cell *cells)
{
    struct dbfile *db = context;
    const struct sqlitepages_cell *type = &cells[SCHEMA_TYPE], *root = &cells[SCHEMA_ROOT];
    if (type->type != SQLITEPAGES_TEXT || type->len != 5 || memcmp(type->bytes, "table", 5) != 0 ||
        root->type != SQLITEPAGES_INTEGER || root->integer < 1 || root->integer > UINT32_MAX ||
        db->count >= MAX_TABLES)
        return;
    struct dbfile_table table = {.name = cell_text(db, &cells[SCHEMA_NAME]),
                                 .sql = cell_text(db, &cells[SCHEMA_SQL]),
                                 .root = (uint32_t)root->integer};
    if (!table.name || !table.sql || strncasecmp(table.name, "sqlite_", 7) == 0 ||
        strncasecmp(table.sql, "CREATE TABLE", 12) != 0)
        return;
    nl_grow(&db->tables, &db->cap, db->count + 1);
    db->tables[db->count++] = table;
}

/* Lists the tables; what sqlite_schema looks like is the same in every database. */
static void read_schema(struct dbfile *db)
{
    static const struct dbfile_column layout[] = {
        {"type", 0, false}, {"name", 1, false}, {"rootpage", 3, false}, {"sql", 4, false}};
    struct dbfile_table schema = {.name = "sqlite_master",
                                  .root = 1,
                                  .columns = layout,
                                  .column_count = 4,
                                  .parsed = true,
                                  .fast = db->fast};
    if (db->fast)
        sqlitepages_leaves(&db->pages, 1, db->seen, &schema.leaves, &db->damage);
    struct dbfile_reader reader;
    dbfile_reader_init(&reader, db, &schema, schema_columns, SCHEMA_CELLS);
    struct sqlitepages_scratch *scratch = nl_zalloc(sizeof *scratch);
    dbfile_reader_all(&reader, scratch, keep_table, db, &db->damage);
    sqlitepages_scratch_release(scratch);
    nl_free(scratch);
    sqlitepages_leaves_release(&schema.leaves);
}

/* Decides how to read a table and finds its pages. */
static void prepare_table(struct dbfile *db, struct dbfile_table *table)
{
    table->parsed = true;
    table->fast = db->fast;
    parse_table(db, table);
    if (table->column_count == 0)
        return;
    if (table->column_count > SQLITEPAGES_COLUMNS)
        table->fast = false;
    if (table->fast && table->root <= db->pages.count &&
        !sqlitepages_is_table(&db->pages, table->root))
        table->fast = false;
    if (table->fast) {
        sqlitepages_leaves(&db->pages, table->root, db->seen, &table->leaves, &db->damage);
        table->rows += table->leaves.rows;
    } else if (connect(db, NULL)) {
        table->rows = count_rows(db, table->name);
    }
}

struct dbfile_table *dbfile_find(struct dbfile *db, const char *name)
{
    for (size_t i = 0; i < db->count; i++) {
        struct dbfile_table *table = &db->tables[i];
        if (strcasecmp(table->name, name) != 0)
            continue;
        if (!table->parsed)
            prepare_table(db, table);
        return table->column_count > 0 ? table : NULL;
    }
    return NULL;
}

const struct dbfile_column *dbfile_table_column(const struct dbfile_table *table, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, "|");
        for (unsigned i = 0; i < table->column_count; i++)
            if (strncasecmp(table->columns[i].name, names, len) == 0 &&
                table->columns[i].name[len] == 0)
                return &table->columns[i];
        names += len;
        names += *names == '|';
    }
    return NULL;
}

/* ---- Opening ---- */

static bool has_content(struct nl_arena *arena, const char *path, const char *suffix)
{
    struct stat info;
    return stat(nl_arena_format(arena, "%s%s", path, suffix), &info) == 0 && info.st_size > 0;
}

/* A database with unfinished business is recovered in a private copy. */
static bool copy_if_hot(struct dbfile *db, struct nl_err *err)
{
    if (!has_content(&db->arena, db->path, "-journal") &&
        !has_content(&db->arena, db->path, "-wal"))
        return true;
    db->fast = false;
    static const char *const parts[] = {"", "-journal", "-wal"};
    if (!dbspool_folder(&db->folder, err))
        return false;
    db->copy = nl_arena_format(&db->arena, "%s/copy.sqlite", db->folder);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (*parts[i] && !has_content(&db->arena, db->path, parts[i]))
            continue;
        if (!dbspool_file(nl_arena_format(&db->arena, "%s%s", db->path, parts[i]),
                          nl_arena_format(&db->arena, "%s%s", db->copy, parts[i]), err))
            return false;
    }
    return true;
}

static bool open_pages(struct dbfile *db, enum dbfile_way way, struct nl_err *err)
{
    if (!nl_map_open(&db->map, db->path, err))
        return false;
    nl_err_at(err, db->path, 0);
    if (db->map.size == 0)
        return nl_fail(err, NL_FORMAT, "the file is empty");
    const char *why = NULL;
    db->fast = sqlitepages_open(&db->pages, db->map.bytes, db->map.size, &why);
    if (!db->fast && (db->map.size < 100 || memcmp(db->map.bytes, "SQLite format 3", 16) != 0))
        return nl_fail(err, NL_FORMAT, "%s", why);
    if (db->fast)
        db->seen = sqlitepages_seen_new(&db->pages);
    if (way == DBFILE_STEP)
        db->fast = false;
    return copy_if_hot(db, err);
}

bool dbfile_open(struct dbfile *db, const char *path, enum dbfile_way way, struct nl_err *err)
{
    *db = (struct dbfile){0};
    nl_arena_init(&db->arena);
    db->path = nl_arena_text(&db->arena, path, strlen(path));
    if (!open_pages(db, way, err) || (!db->fast && !connect(db, err))) {
        dbfile_close(db);
        return false;
    }
    if (sqlite3_open_v2(":memory:", &db->parser, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
                        NULL) == SQLITE_OK)
        sqlite3_set_authorizer(db->parser, only_definitions, NULL);
    read_schema(db);
    if (db->count > 0)
        return true;
    nl_err_at(err, path, db->damage.what ? (int64_t)db->damage.offset : 0);
    (void)nl_fail(err, NL_FORMAT, "the database has no readable table%s%s",
                  db->damage.what ? ": " : "", db->damage.what ? db->damage.what : "");
    dbfile_close(db);
    return false;
}

void dbfile_close(struct dbfile *db)
{
    for (size_t i = 0; i < db->count; i++)
        sqlitepages_leaves_release(&db->tables[i].leaves);
    nl_free(db->tables);
    sqlite3_close(db->sql);
    sqlite3_close(db->parser);
    if (db->folder)
        dbspool_remove(db->folder);
    nl_free(db->seen);
    nl_map_close(&db->map);
    nl_arena_free(&db->arena);
    *db = (struct dbfile){0};
}

/* ---- Readers ---- */

void dbfile_reader_init(struct dbfile_reader *reader, struct dbfile *db, struct dbfile_table *table,
                        const char *const *names, unsigned count)
{
    reader->db = db;
    reader->table = table;
    struct sqlitepages_plan *plan = &reader->plan;
    *plan = (struct sqlitepages_plan){.cells = count, .rowid_cell = -1};
    memset(plan->cell, SQLITEPAGES_SKIP, sizeof plan->cell);
    for (unsigned i = 0; i < count; i++) {
        const struct dbfile_column *column = dbfile_table_column(table, names[i]);
        reader->columns[i] = column;
        if (!column || column->stored >= SQLITEPAGES_COLUMNS)
            continue;
        if (column->stored < 0) {
            plan->rowid_cell = (int)i;
            continue;
        }
        plan->cell[column->stored] = (uint8_t)i;
        plan->real[column->stored] = column->real;
        if (plan->columns <= (unsigned)column->stored)
            plan->columns = (unsigned)column->stored + 1;
    }
}

struct dbfile_reader *dbfile_reader_new(struct dbfile *db, struct dbfile_table *table,
                                        const char *const *names)
{
    struct dbfile_reader *reader = nl_zalloc(sizeof *reader);
    unsigned count = 0;
    while (names[count])
        count++;
    dbfile_reader_init(reader, db, table, names, count);
    return reader;
}

void dbfile_reader_leaves(const struct dbfile_reader *reader, size_t first, size_t count,
                          struct sqlitepages_scratch *scratch, sqlitepages_row_fn *row,
                          void *context, struct sqlitepages_damage *damage)
{
    /* Cells of missing columns are never written by the pages' reader. */
    memset(scratch->cells, 0, reader->plan.cells * sizeof *scratch->cells);
    const uint32_t *leaves = reader->table->leaves.page;
    for (size_t i = first; i < first + count; i++) {
        if (i + 1 < first + count)
            sqlitepages_prefetch(&reader->db->pages, leaves[i + 1]);
        sqlitepages_read(&reader->db->pages, leaves[i], &reader->plan, scratch, row, context,
                         damage);
    }
}

static struct sqlitepages_cell step_cell(sqlite3_stmt *stmt, int column)
{
    struct sqlitepages_cell cell = {.type = SQLITEPAGES_NULL};
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        cell.type = SQLITEPAGES_INTEGER;
        cell.integer = sqlite3_column_int64(stmt, column);
        break;
    case SQLITE_FLOAT:
        cell.type = SQLITEPAGES_REAL;
        cell.real = sqlite3_column_double(stmt, column);
        break;
    case SQLITE_TEXT:
        cell.type = SQLITEPAGES_TEXT;
        cell.bytes = sqlite3_column_text(stmt, column);
        cell.len = (uint32_t)sqlite3_column_bytes(stmt, column);
        break;
    case SQLITE_BLOB:
        cell.type = SQLITEPAGES_BLOB;
        cell.bytes = sqlite3_column_blob(stmt, column);
        cell.len = (uint32_t)sqlite3_column_bytes(stmt, column);
        break;
    default: break;
    }
    return cell;
}

/* SELECT of the wanted columns, NULL for missing ones, in rowid order (no extra index). */
static char *select_text(const struct dbfile_reader *reader)
{
    sqlite3_str *text = sqlite3_str_new(reader->db->sql);
    sqlite3_str_appendall(text, "SELECT ");
    for (unsigned i = 0; i < reader->plan.cells; i++) {
        const struct dbfile_column *column = reader->columns[i];
        if (column)
            sqlite3_str_appendf(text, "%s\"%w\"", i ? "," : "", column->name);
        else
            sqlite3_str_appendf(text, "%sNULL", i ? "," : "");
    }
    sqlite3_str_appendf(text, " FROM \"%w\" NOT INDEXED", reader->table->name);
    return sqlite3_str_finish(text);
}

static void step_all(const struct dbfile_reader *reader, struct sqlitepages_scratch *scratch,
                     sqlitepages_row_fn *row, void *context, struct sqlitepages_damage *damage)
{
    sqlite3_stmt *stmt = NULL;
    char *text = reader->db->sql ? select_text(reader) : NULL;
    int rc = SQLITE_ERROR;
    if (text)
        rc = sqlite3_prepare_v2(reader->db->sql, text, -1, &stmt, NULL);
    while (stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        for (unsigned i = 0; i < reader->plan.cells; i++)
            scratch->cells[i] = step_cell(stmt, (int)i);
        row(context, scratch->cells);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(text);
    if (rc == SQLITE_DONE)
        return;
    struct sqlitepages_damage met = {.pages = 1, .what = sqlite3_errstr(rc)};
    sqlitepages_damage_merge(damage, &met);
}

void dbfile_reader_all(const struct dbfile_reader *reader, struct sqlitepages_scratch *scratch,
                       sqlitepages_row_fn *row, void *context, struct sqlitepages_damage *damage)
{
    if (reader->table->fast)
        dbfile_reader_leaves(reader, 0, reader->table->leaves.count, scratch, row, context, damage);
    else
        step_all(reader, scratch, row, context, damage);
}
